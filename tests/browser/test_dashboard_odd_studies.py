"""Pages of studies with nothing, too much, or markup in them: they draw, and nothing is taken for markup."""

from collections.abc import Iterator

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from tests.browser.conftest import dashboard, logged_in
from tests.browser.odd_studies import HARM, STUDIES, write_odd_studies
from tests.browser.steps import FEWEST_NODES, complaints, nodes, opened, text_of, waited


@pytest.fixture(scope="module")
def odd(browser: webdriver.Chrome, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The base address of a dashboard over the odd studies; the browser is logged in."""
    data = tmp_path_factory.mktemp("odd")
    write_odd_studies(data)
    with dashboard(data) as address:
        yield logged_in(browser, address)


def unharmed(browser: webdriver.Chrome) -> None:
    """Nothing was taken for markup, and the console is silent."""
    assert browser.execute_script("return window.harmed === undefined && !document.querySelector('main img')")
    assert complaints(browser) == []


@pytest.mark.parametrize("study", STUDIES)
def test_the_page_of_a_study_draws_all_its_charts(browser: webdriver.Chrome, odd: str, study: str) -> None:
    """T08, T70, T72, T73: no numbers, nothing finished, choices of every type, 0 or 1,000 parameters."""
    browser.get_log("browser")
    opened(browser, f"{odd}/study?study={study}")
    charts = browser.find_elements(By.CSS_SELECTOR, ".chart .plot")
    assert len(charts) == 9 and all("js-plotly-plot" in chart.get_attribute("class").split() for chart in charts)
    assert "[object Object]" not in text_of(browser, "body") and "undefined" not in text_of(browser, "body")
    assert text_of(browser, "#toast") == ""
    unharmed(browser)


@pytest.mark.parametrize("study", [name for name, (_, told) in STUDIES.items() if told])
def test_the_page_of_a_trial_draws(browser: webdriver.Chrome, odd: str, study: str) -> None:
    browser.get_log("browser")
    opened(browser, f"{odd}/trial?study={study}&number=0")
    waited(browser, lambda b: "proposed" in text_of(b, ".story"))
    assert HARM in text_of(browser, ".story")
    unharmed(browser)


@pytest.mark.parametrize("page", ["studies", "pool", "compare"])
def test_a_page_of_all_of_them_draws(browser: webdriver.Chrome, odd: str, page: str) -> None:
    browser.get_log("browser")
    browser.get(f"{odd}/{page}")
    waited(browser, lambda b: text_of(b, "#connection") == "live")
    assert "nothing-finished" in text_of(browser)
    unharmed(browser)


def test_other_points_are_drawn_beside_values_that_are_not_finite(browser: webdriver.Chrome, odd: str) -> None:
    opened(browser, f"{odd}/study?study=not-finite")
    assert nodes(browser, "history") >= FEWEST_NODES
    assert "not finite" in text_of(browser, "#why")


def test_names_in_charts_are_text(browser: webdriver.Chrome, odd: str) -> None:
    opened(browser, f"{odd}/study?study=names-with-markup")
    drawn = browser.execute_script("return document.getElementById('plot-slices').textContent")
    assert "<img src=x" in drawn
    assert HARM in text_of(browser, "#trials")


def test_a_study_that_does_not_exist_is_told(browser: webdriver.Chrome, odd: str) -> None:
    browser.get(f"{odd}/study?study=choises")
    waited(browser, lambda b: "Did you mean choices?" in text_of(b, "#why"))
    browser.get(f"{odd}/trial?study=choices&number=99")
    waited(browser, lambda b: "It has trials 0 to 11" in text_of(b))
    browser.get_log("browser")
