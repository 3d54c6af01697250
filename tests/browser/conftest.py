"""A real Chromium against a real `shoal dashboard`."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

ROOT = Path(__file__).resolve().parent.parent.parent
SCREENSHOTS = Path(__file__).with_name("screenshots")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--window-size=1400,1800"),
)
STUDY = """
import time
import shoal
from shoal.spaces import Categorical, Float, Space

space = Space(lr=Float(1e-3, 1.0, log=True), flag=Categorical([True, False]), odd=Categorical([(0, "a"), "<b>x</b>"]))

def train(trial):
    for epoch in trial.epochs(EPOCHS):
        time.sleep(PAUSE_S)
        trial.save(epoch)
        trial.report(score=epoch - abs(trial.config.lr - 0.1))

study = shoal.Study(space=space, train=train, maximize="score", trials=TRIALS, strategy="random", early_stopping=RULE)
"""


def pytest_runtest_setup(item: pytest.Item) -> None:
    missing = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    if missing:
        told = f"{' and '.join(missing)} missing: apt-get install chromium chromium-driver"
        if os.environ.get("CI"):
            pytest.fail(told)
        pytest.skip(told)


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with a finished study of 12 trials."""
    folder = tmp_path_factory.mktemp("browser")
    run_study(folder, "finished", trials=12, pause_s=0.0).wait(120)
    return folder / "data"


def run_study(
    folder: Path, name: str, *, trials: int, pause_s: float, epochs: int = 9, rule: str = "shoal.ASHA(max_epochs=9)"
) -> subprocess.Popen[bytes]:
    """`shoal run` of a small study in `folder`, in the background."""
    source = STUDY
    for word, value in (("TRIALS", trials), ("PAUSE_S", pause_s), ("EPOCHS", epochs), ("RULE", rule)):
        source = source.replace(word, str(value))
    (folder / f"{name}.py").write_text(source, encoding="utf-8")
    words = [sys.executable, "-m", "shoal", "run", f"{name}.py", "--data", "data", "--plain"]
    return subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.fixture(scope="session")
def address(data: Path) -> Iterator[str]:
    """The login address of a running dashboard."""
    with dashboard(data) as told:
        yield told


@contextmanager
def dashboard(data: Path, *options: str, port: int = 0) -> Iterator[str]:
    """`shoal dashboard` over a data directory for as long as the block runs; its login address."""
    words = [sys.executable, "-m", "shoal", "dashboard", "--data", str(data), "--port", str(port), *options]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=data.parent)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()


def logged_in(driver: webdriver.Chrome, address: str) -> str:
    """Follow a login address; the address that all pages begin with."""
    driver.get("about:blank")
    driver.get(address)
    WebDriverWait(driver, 60, poll_frequency=0.1).until(lambda d: d.current_url.endswith("/studies"))
    return address.split("/login")[0]


@pytest.fixture(scope="session")
def browser(address: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    """Logged in."""
    options = Options()
    options.binary_location = shutil.which("chromium") or ""
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    driver.implicitly_wait(0)
    driver.get(address)
    try:
        yield driver
    finally:
        driver.quit()


@pytest.fixture(scope="session")
def base(address: str) -> str:
    return address.split("/login")[0]


@pytest.fixture
def shot(browser: webdriver.Chrome) -> Callable[[str], None]:
    """Keep a picture of the page."""

    def take(name: str) -> None:
        SCREENSHOTS.mkdir(exist_ok=True)
        browser.save_screenshot(str(SCREENSHOTS / f"{name}.png"))

    return take
