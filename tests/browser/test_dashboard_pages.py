"""Every page draws in Chromium, follows a running study, acts on it, and breaks no rule of its own content policy."""

from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select
from tests.browser.steps import FEWEST_NODES, Shot, clicked, complaints, nodes, opened, text_of, waited

OF_STUDY = (
    *("history", "learning_curves", "parallel_coordinates", "importance", "rungs"),
    *("slices", "contour", "pareto", "architecture"),
)
PAGES: dict[str, tuple[str, tuple[str, ...]]] = {
    "studies": ("/studies", ()),
    "study": ("/study?study=finished", OF_STUDY),
    "pool": ("/pool", ("gantt", "utilisation", "shares")),
    "trial": ("/trial?study=finished&number=0", ("trial_curve", "gantt", "architecture")),
    "compare": ("/compare?study=finished", ("compare",)),
}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_draws_and_complains_of_nothing(browser: webdriver.Chrome, base: str, shot: Shot, page: str) -> None:
    path, figures = PAGES[page]
    waited(browser, lambda b: "/login" not in b.current_url)
    browser.get_log("browser")
    browser.get(base + path)
    waited(browser, lambda b: "finished" in text_of(b))
    for figure in figures:
        waited(browser, lambda b, name=figure: nodes(b, name) >= FEWEST_NODES)  # type: ignore[misc]
    waited(browser, lambda b: text_of(b, "#connection") == "live")
    shot(page)
    assert "WebGL is not supported" not in browser.page_source
    assert complaints(browser) == []


def test_markers_are_one_a_trial(browser: webdriver.Chrome, base: str) -> None:
    opened(browser, base + "/study?study=finished")
    points = browser.find_elements(By.CSS_SELECTOR, "#plot-history .scatterlayer .points path")
    assert len(points) == 12


def test_titles_stand_above_their_charts(browser: webdriver.Chrome, base: str) -> None:
    """Without its style sheet plotly.js puts the layers of a chart one below the other."""
    opened(browser, base + "/study?study=finished")
    chart, *layers = browser.execute_script(
        "const box = document.getElementById('plot-history');"
        "return [box, ...box.querySelectorAll('.main-svg')].map(e => e.getBoundingClientRect().top)"
    )
    assert layers and all(abs(top - chart) < 2 for top in layers)


def test_names_are_never_taken_for_markup(browser: webdriver.Chrome, base: str) -> None:
    opened(browser, base + "/study?study=finished")
    assert "<b>x</b>" in text_of(browser, "#trials")
    assert "<b>x</b>" in browser.execute_script("return document.getElementById('plot-slices').textContent")
    assert not [b for b in browser.find_elements(By.TAG_NAME, "b") if b.text == "x"]


def test_hovering_and_clicking_lead_to_the_trial(browser: webdriver.Chrome, base: str) -> None:
    opened(browser, base + "/study?study=finished")
    browser.get_log("browser")
    point = browser.find_element(By.CSS_SELECTOR, "#plot-history .scatterlayer .points path")
    webdriver.ActionChains(browser).move_to_element(point).pause(0.3).perform()
    waited(browser, lambda b: "trial" in b.execute_script(
        "return document.querySelector('#plot-history .hoverlayer').textContent"
    ))
    assert complaints(browser) == []
    webdriver.ActionChains(browser).click().perform()
    waited(browser, lambda b: "/trial?" in b.current_url)


def test_choices_beside_a_chart_draw_it_anew(browser: webdriver.Chrome, base: str) -> None:
    opened(browser, base + "/study?study=finished")
    Select(browser.find_element(By.CSS_SELECTOR, "#plot-history").find_element(
        By.XPATH, "preceding-sibling::div//select"
    )).select_by_value("time")
    waited(browser, lambda b: "since the start" in b.execute_script(
        "return document.getElementById('plot-history').textContent"
    ))


@pytest.mark.parametrize("page", PAGES)
def test_a_narrow_page_does_not_scroll_sideways(browser: webdriver.Chrome, base: str, shot: Shot, page: str) -> None:
    size = browser.get_window_size()
    browser.set_window_size(500, 900)
    try:
        path, figures = PAGES[page]
        browser.get(base + path)
        waited(browser, lambda b: "finished" in text_of(b))
        for figure in figures:
            waited(browser, lambda b, name=figure: nodes(b, name) >= FEWEST_NODES)  # type: ignore[misc]
        shot(f"narrow-{page}")
        inner, content = browser.execute_script("return [innerWidth, document.documentElement.scrollWidth]")
        assert content <= inner
    finally:
        browser.set_window_size(size["width"], size["height"])


def test_dark_and_light_and_remembered(browser: webdriver.Chrome, base: str, shot: Shot) -> None:
    opened(browser, base + "/study?study=finished")

    def look() -> tuple[str, str]:
        found = browser.execute_script(
            "return [getComputedStyle(document.body).backgroundColor,"
            " getComputedStyle(document.querySelector('#plot-history .gtitle')).fill]"
        )
        return tuple(found)

    before = look()
    clicked(browser, By.ID, "theme")
    waited(browser, lambda b: look()[0] != before[0] and look()[1] != before[1])
    changed = look()
    shot("other-theme")
    opened(browser, base + "/study?study=finished")
    assert look() == changed
    clicked(browser, By.ID, "theme")


def test_everything_is_reached_by_keyboard(browser: webdriver.Chrome, base: str) -> None:
    opened(browser, base + "/study?study=finished")
    reached = set()
    for _ in range(60):
        browser.switch_to.active_element.send_keys(Keys.TAB)
        focused = browser.switch_to.active_element
        reached.add(focused.get_attribute("id") or focused.text)
    assert {"Studies", "Pool", "Compare", "theme", "trial", "value", "epochs"} <= reached


def test_without_a_session_only_the_login_page(base: str, address: str, browser: webdriver.Chrome) -> None:
    cookies = browser.get_cookies()
    assert all(cookie["httpOnly"] and cookie["sameSite"] == "Strict" for cookie in cookies) and cookies
    browser.delete_all_cookies()
    try:
        browser.get(base + "/study?study=finished")
        waited(browser, lambda b: b.current_url.endswith("/login"))
        browser.find_element(By.ID, "code").send_keys(address.partition("#")[2], Keys.ENTER)
        waited(browser, lambda b: "wrong or was used" in text_of(b))
    finally:
        for cookie in cookies:
            browser.add_cookie(cookie)
        browser.get(base + "/studies")
        browser.get_log("browser")


def test_a_report_opens_without_a_server(browser: webdriver.Chrome, data: Path, tmp_path: Path, shot: Shot) -> None:
    from shoal.service.cli import run

    assert run(("export", "finished", "--data", str(data), "--html", str(tmp_path / "report.html"))) == 0
    browser.get_log("browser")
    browser.get(f"file://{tmp_path}/report.html")
    for figure in ("history", "learning_curves", "gantt", "importance", "slices"):
        waited(browser, lambda b, name=figure: nodes(b, name) >= FEWEST_NODES)  # type: ignore[misc]
    shot("report")
    assert "WebGL is not supported" not in text_of(browser, "body")
    assert complaints(browser) == []
