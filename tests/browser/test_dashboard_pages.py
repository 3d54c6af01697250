"""Every page draws in Chromium, follows a running study, acts on it, and breaks no rule of its own content policy."""

from collections.abc import Callable
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait
from tests.browser.conftest import run_study

Shot = Callable[[str], None]
PAGES = {
    "studies": ("/studies", 0),
    "study": ("/study?study=finished", 6),
    "pool": ("/pool", 2),
    "trial": ("/trial?study=finished&number=0", 1),
    "compare": ("/compare?study=finished", 1),
}
DRAWN = ".js-plotly-plot .main-svg path, .js-plotly-plot .main-svg .points > *"


def waited(browser: webdriver.Chrome, true: Callable[[webdriver.Chrome], object], limit_s: float = 30.0) -> None:
    WebDriverWait(browser, limit_s, poll_frequency=0.1).until(true)


def complaints(browser: webdriver.Chrome) -> list[str]:
    """What the console says, but for the icon that browsers ask for by themselves."""
    return [entry["message"] for entry in browser.get_log("browser") if "favicon" not in entry["message"]]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_draws_and_complains_of_nothing(browser: webdriver.Chrome, base: str, shot: Shot, page: str) -> None:
    path, figures = PAGES[page]
    waited(browser, lambda b: "/login" not in b.current_url)
    browser.get_log("browser")
    browser.get(base + path)
    waited(browser, lambda b: "finished" in b.find_element(By.TAG_NAME, "body").text)
    waited(browser, lambda b: len(b.find_elements(By.CSS_SELECTOR, ".js-plotly-plot")) >= figures)
    if figures:
        waited(browser, lambda b: len(b.find_elements(By.CSS_SELECTOR, DRAWN)) > 3)
    shot(page)
    assert "WebGL is not supported" not in browser.page_source
    assert complaints(browser) == []


def test_names_are_never_taken_for_markup(browser: webdriver.Chrome, base: str) -> None:
    browser.get(base + "/study?study=finished")
    waited(browser, lambda b: len(b.find_elements(By.CSS_SELECTOR, ".js-plotly-plot")) >= 6)
    assert not [b for b in browser.find_elements(By.TAG_NAME, "b") if b.text == "x"]


def test_a_narrow_page_does_not_scroll_sideways(browser: webdriver.Chrome, base: str, shot: Shot) -> None:
    size = browser.get_window_size()
    browser.set_window_size(500, 900)
    try:
        browser.get(base + "/study?study=finished")
        waited(browser, lambda b: len(b.find_elements(By.CSS_SELECTOR, ".js-plotly-plot")) >= 6)
        shot("narrow")
        inner, content = browser.execute_script("return [innerWidth, document.documentElement.scrollWidth]")
        assert content <= inner
    finally:
        browser.set_window_size(size["width"], size["height"])


def test_a_running_study_changes_its_page_and_obeys_it(
    browser: webdriver.Chrome, base: str, data: Path, shot: Shot
) -> None:
    run = run_study(data.parent, "live", trials=40, pause_s=0.3)
    try:
        browser.get(base + "/studies")
        waited(browser, lambda b: b.find_elements(By.CSS_SELECTOR, "a[href*='study=live']"))
        browser.get(base + "/study?study=live")
        waited(browser, lambda b: "of 40" in b.find_element(By.TAG_NAME, "body").text)
        browser.execute_script("window.notReloaded = true")
        before = browser.find_element(By.TAG_NAME, "body").text
        waited(browser, lambda b: b.find_element(By.TAG_NAME, "body").text != before)
        assert browser.execute_script("return window.notReloaded")
        shot("live")
        button = next(b for b in browser.find_elements(By.TAG_NAME, "button") if b.text.strip() == "Pause")
        button.click()
        waited(browser, lambda b: b.find_elements(By.ID, "confirm"))
        assert "pauses" in browser.find_element(By.CSS_SELECTOR, "dialog").text  # what would happen is said first
        browser.find_element(By.ID, "confirm").click()
        resume = "//button[normalize-space()='Resume' and not(@disabled)]"
        waited(browser, lambda b: b.find_elements(By.XPATH, resume))
    finally:
        run.terminate()
        run.wait(30)
