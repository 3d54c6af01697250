"""Every page draws in Chromium, follows a running study, acts on it, and breaks no rule of its own content policy."""

from collections.abc import Callable
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait
from tests.browser.conftest import run_study

Shot = Callable[[str], None]
OF_STUDY = (
    *("history", "learning_curves", "parallel_coordinates", "importance", "rungs"),
    *("slices", "contour", "pareto", "architecture"),
)
PAGES: dict[str, tuple[str, tuple[str, ...]]] = {
    "studies": ("/studies", ()),
    "study": ("/study?study=finished", OF_STUDY),
    "pool": ("/pool", ("gantt", "utilisation", "shares")),
    "trial": ("/trial?study=finished&number=0", ("trial_curve", "architecture")),
    "compare": ("/compare?study=finished", ("compare",)),
}
DRAWN = ".main-svg path, .main-svg text"
FEWEST_NODES = 5


def waited(browser: webdriver.Chrome, true: Callable[[webdriver.Chrome], object], limit_s: float = 30.0) -> None:
    """Come back when it is true; elements that were drawn anew meanwhile are looked for again."""
    again = (StaleElementReferenceException, NoSuchElementException)
    WebDriverWait(browser, limit_s, poll_frequency=0.1, ignored_exceptions=again).until(true)


def clicked(browser: webdriver.Chrome, by: str, what: str) -> None:
    """Click an element of a page that is drawn anew all the time."""

    def click(b: webdriver.Chrome) -> bool:
        b.find_element(by, what).click()
        return True

    waited(browser, click)


def complaints(browser: webdriver.Chrome) -> list[str]:
    """What the console says: broken policies, errors, missing files."""
    return [entry["message"] for entry in browser.get_log("browser")]


def nodes(browser: webdriver.Chrome, figure: str) -> int:
    """How many marks of a figure were really drawn."""
    return len(browser.find_elements(By.CSS_SELECTOR, f"#plot-{figure} {DRAWN.replace(', ', f', #plot-{figure} ')}"))


def text_of(browser: webdriver.Chrome, selector: str = "main") -> str:
    script = "return [...document.querySelectorAll(arguments[0])].map(e => e.innerText).join(' ')"
    return str(browser.execute_script(script, selector))


def opened(browser: webdriver.Chrome, address: str) -> None:
    """Go to a page with charts and wait until it has drawn them all."""
    waited(browser, lambda b: "/login" not in b.current_url)
    browser.get(address)
    waited(browser, lambda b: b.execute_script("return performance.getEntriesByName('drawn all').length"))


def agree(browser: webdriver.Chrome) -> str:
    """Confirm what the dialog says, and give that."""
    waited(browser, lambda b: b.find_elements(By.ID, "confirm"))
    told = text_of(browser, "dialog p")
    browser.find_element(By.ID, "confirm").click()
    waited(browser, lambda b: text_of(b, "#toast"))
    return told


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
    waited(browser, lambda b: "hours since the start" in b.execute_script(
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
    assert {"Studies", "Pool", "Compare", "theme", "budget", "do-edit"} <= reached


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


def test_a_running_study_changes_its_page_and_obeys_it(
    browser: webdriver.Chrome, base: str, data: Path, shot: Shot
) -> None:
    """Every action, each of which first says what it would do."""
    run = run_study(data.parent, "live", trials=400, pause_s=0.3)
    try:
        browser.get(base + "/studies")
        waited(browser, lambda b: b.find_elements(By.CSS_SELECTOR, "a[href*='study=live']"))
        opened(browser, base + "/study?study=live")
        waited(browser, lambda b: "of 400" in text_of(b, "#facts"))
        browser.execute_script("window.notReloaded = true")
        points = nodes(browser, "learning_curves")
        waited(browser, lambda b: nodes(b, "learning_curves") > points)
        shot("live")

        browser.find_element(By.CSS_SELECTOR, "#enqueue summary").click()
        browser.find_element(By.CSS_SELECTOR, "#enqueue input[name=lr]").send_keys("0.125")
        clicked(browser, By.ID, "do-enqueue")
        assert '"lr":0.125' in agree(browser)
        waited(browser, lambda b: "lr=0.125" in text_of(b, "#trials"))

        budget = browser.find_element(By.ID, "budget")
        budget.clear()
        budget.send_keys("300")
        clicked(browser, By.ID, "do-edit")
        assert "trials 400 -> 300" in agree(browser)
        waited(browser, lambda b: "of 300" in text_of(b, "#facts"))

        clicked(browser, By.ID, "do-pause")
        assert "pauses" in agree(browser)
        waited(browser, lambda b: b.find_element(By.ID, "do-resume").is_enabled())
        clicked(browser, By.ID, "do-resume")
        assert "goes on" in agree(browser)
        waited(browser, lambda b: b.find_element(By.ID, "do-pause").is_enabled())
        assert browser.execute_script("return window.notReloaded")

        clicked(browser, By.XPATH, RUNNING)
        waited(browser, lambda b: b.find_elements(By.ID, "do-stop") and b.find_element(By.ID, "do-stop").is_enabled())
        shot("live-trial")
        clicked(browser, By.ID, "do-stop")
        assert "1 trial" in agree(browser)
        waited(browser, lambda b: not b.find_element(By.ID, "do-stop").is_enabled())

        opened(browser, base + "/study?study=live")
        clicked(browser, By.ID, "do-kill")
        assert "are killed" in agree(browser)
        waited(browser, lambda b: "stopped" in text_of(b, "#facts .status"))
        run.wait(30)
        assert complaints(browser) == []
    finally:
        run.terminate()
        run.wait(30)


RUNNING = "//div[@id='trials']//tr[.//span[contains(@class, 'running')]]//a"


def test_leaving_an_action_changes_nothing(browser: webdriver.Chrome, base: str, data: Path) -> None:
    """Escape closes the dialog; a study that is over says so."""
    opened(browser, base + "/study?study=finished")
    budget = browser.find_element(By.ID, "budget")
    budget.clear()
    budget.send_keys("50")
    clicked(browser, By.ID, "do-edit")
    waited(browser, lambda b: b.find_elements(By.ID, "confirm"))
    browser.switch_to.active_element.send_keys(Keys.ESCAPE)
    waited(browser, lambda b: not b.find_elements(By.TAG_NAME, "dialog"))
    assert not browser.find_element(By.ID, "do-stop").is_enabled()
    assert "of 12" in text_of(browser, "#facts")


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
