"""`python -m docs.screenshots [DATA]`: keep pictures of the pages of the digits study.

Without a data directory that holds it, the study is run first, on four pretended GPUs.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.browser import chromium, mark, waited
from benchmarks.dashboard import served
from selenium import webdriver

ROOT = Path(__file__).resolve().parent.parent
IMAGES = Path(__file__).with_name("images")
STUDY = "digits_mlp"
WIDTH = 1280


def take(driver: webdriver.Chrome, address: str, name: str, height: int) -> None:
    """Keep a picture of the top `height` pixels of a page with charts."""
    driver.set_window_size(WIDTH, height)
    driver.get(address)
    waited(driver, lambda d: mark(d, "drawn all") is not None)
    waited(driver, lambda d: d.find_element("id", "connection").text == "live")
    driver.save_screenshot(str(IMAGES / f"{name}.png"))
    print(IMAGES / f"{name}.png")


def run_study(folder: str) -> None:
    """The digits study to its end."""
    words = ["run", str(ROOT / "examples" / f"{STUDY}.py"), "--data", folder, "--logical-gpus", "4", "--plain"]
    subprocess.run([sys.executable, "-m", "shoal", *words], check=True, stdout=subprocess.DEVNULL)


def take_all(data: Path) -> None:
    """Write all pictures."""
    IMAGES.mkdir(exist_ok=True)
    with served(data) as address, chromium(WIDTH) as driver:
        driver.get(address)
        waited(driver, lambda d: STUDY in d.page_source)
        base = address.split("/login")[0]
        take(driver, f"{base}/study?study={STUDY}", "study", 1500)
        take(driver, f"{base}/pool", "pool", 1010)
        asked = "fetch(`api/v1/studies/${arguments[0]}`).then(r => r.json()).then(b => arguments[1](b.best.number))"
        best = driver.execute_async_script(asked, STUDY)
        take(driver, f"{base}/trial?study={STUDY}&number={best}", "trial", 1160)
        driver.find_element("id", "theme").click()
        take(driver, f"{base}/study?study={STUDY}", "study-dark", 1000)


def main() -> None:
    """Run the study if need be, and write the pictures."""
    if len(sys.argv) > 1:
        take_all(Path(sys.argv[1]))
        return
    with tempfile.TemporaryDirectory() as folder:
        run_study(folder)
        take_all(Path(folder))


if __name__ == "__main__":
    main()
