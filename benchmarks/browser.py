"""A headless Chromium for measurements, with everything it would do on its own account switched off."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--hide-scrollbars",
)
POLL_S = 0.02


@contextmanager
def chromium(width: int = 1280, height: int = 900) -> Iterator[webdriver.Chrome]:
    """A fresh browser without a cache; its window in pixels."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = Options()
        options.binary_location = shutil.which("chromium") or ""
        for flag in (*FLAGS, f"--window-size={width},{height}", f"--user-data-dir={profile}"):
            options.add_argument(flag)
        driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        try:
            yield driver
        finally:
            driver.quit()


def waited(driver: webdriver.Chrome, ready: Callable[[webdriver.Chrome], object], limit_s: float = 120.0) -> None:
    """Come back when `ready(driver)` is true.

    Raises:
        selenium.common.TimeoutException: it was not within `limit_s` seconds.
    """
    WebDriverWait(driver, limit_s, poll_frequency=POLL_S).until(ready)


def mark(driver: webdriver.Chrome, name: str) -> float | None:
    """When the page set the mark `name`, in seconds since the navigation began; None before it did."""
    found = driver.execute_script("return performance.getEntriesByName(arguments[0])[0]?.startTime ?? null", name)
    return None if found is None else float(found) / 1000
