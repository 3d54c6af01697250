"""`python -m docs.screenshots [FOLDER]`: keep pictures of the pages of the digits study, in docs/images or in a folder.

The study runs on four pretended GPUs. Two pictures are taken in the middle of it (the pool with its running trials, the
study's page in dark), the others when it has ended; so they show the same moments on every machine.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.browser import chromium, mark, waited
from benchmarks.dashboard import served
from selenium import webdriver

ROOT = Path(__file__).resolve().parent.parent
IMAGES = Path(__file__).with_name("images")
STUDY = "digits_mlp"
WIDTH = 1280
MIDDLE = 18
"""Trials, of 30, that have ended or stand paused at a rung when the pictures of the running study are taken: the next
ones run on all devices, and the charts have something to show."""

RUN_LIMIT_S = 900.0
FACTS = "fetch(`api/v1/studies/${arguments[0]}`).then(r => r.json()).then(arguments[1], () => arguments[1](null))"


class Camera:
    """A browser that is logged in, and the folder for its pictures."""

    def __init__(self, driver: webdriver.Chrome, address: str, folder: Path) -> None:
        self._driver = driver
        self._folder = folder
        self._base = address.split("/login")[0]
        driver.get(address)
        waited(driver, lambda d: d.current_url.endswith("/studies"))

    def facts(self) -> Any:
        """What the dashboard knows of the study; without "settled" before it exists."""
        return self._driver.execute_async_script(FACTS, STUDY) or {}

    def until_settled(self, trials: int) -> None:
        """Come back when so many trials have settled."""
        waited(self._driver, lambda d: self.facts().get("settled", 0) >= trials, RUN_LIMIT_S)

    def until_over(self) -> None:
        """Come back when the study is over."""
        waited(self._driver, lambda d: self.facts().get("over"), RUN_LIMIT_S)

    def take(self, page: str, name: str, height: int) -> None:
        """Keep a picture of the top `height` pixels of a page with charts, once it has drawn them all."""
        self._driver.set_window_size(WIDTH, height)
        self._driver.get(f"{self._base}/{page}")
        waited(self._driver, lambda d: mark(d, "drawn all") is not None)
        waited(self._driver, lambda d: d.find_element("id", "connection").text == "live")
        self._driver.save_screenshot(str(self._folder / f"{name}.png"))
        print(self._folder / f"{name}.png")

    def swap_theme(self) -> None:
        """From light to dark or back."""
        self._driver.find_element("id", "theme").click()


@contextmanager
def running(data: Path) -> Iterator[None]:
    """The digits study, running until it ends or the block does."""
    words = ["run", str(ROOT / "examples" / f"{STUDY}.py"), "--data", str(data), "--logical-gpus", "4", "--plain"]
    process = subprocess.Popen(
        [sys.executable, "-m", "shoal", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait(30)


def take_all(folder: Path) -> None:
    """Run the study and write all pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        data = Path(place)
        with served(data) as address, chromium(WIDTH) as driver, running(data):
            camera = Camera(driver, address, folder)
            camera.until_settled(MIDDLE)
            camera.take("pool", "pool", 1010)
            camera.swap_theme()
            camera.take(f"study?study={STUDY}", "study-dark", 1000)
            camera.swap_theme()
            if camera.facts()["over"]:
                raise RuntimeError(f"{STUDY} ended before its pictures were taken; take them before MIDDLE={MIDDLE}.")
            camera.until_over()
            camera.take(f"study?study={STUDY}", "study", 1500)
            best = camera.facts()["best"]["number"]
            camera.take(f"trial?study={STUDY}&number={best}", "trial", 1160)


def main() -> None:
    """Take the pictures."""
    take_all(Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES)


if __name__ == "__main__":
    main()
