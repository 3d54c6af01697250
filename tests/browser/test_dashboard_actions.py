"""A person steers a running study from its pages; every action first says what it would do."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select
from tests.browser.conftest import run_study
from tests.browser.steps import Shot, agree, clicked, complaints, nodes, opened, text_of, waited

RUNNING = "//div[@id='trials']//tr[.//span[contains(@class, 'running')]]//a"


@pytest.fixture(scope="module")
def live(data: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A study that goes on for as long as these tests do, whose trials end when a person says so."""
    run = run_study(data.parent, "live", trials=400, pause_s=0.3, epochs=10_000, rule="None")
    try:
        yield run
    finally:
        run.terminate()
        run.wait(30)


def set_text(browser: webdriver.Chrome, selector: str, text: str) -> None:
    field = browser.find_element(By.CSS_SELECTOR, selector)
    field.clear()
    field.send_keys(text)


def enabled(browser: webdriver.Chrome, name: str) -> bool:
    """Could a person press the button now? Asked in one step, since the page may draw it anew in between."""
    return bool(browser.execute_script("return document.getElementById(arguments[0])?.disabled === false", name))


def run_to(browser: webdriver.Chrome, base: str) -> None:
    """The page of a trial that is running."""
    opened(browser, base + "/study?study=live")
    clicked(browser, By.XPATH, RUNNING)
    waited(browser, lambda b: "/trial?" in b.current_url and b.find_elements(By.ID, "do-stop"))


def test_a_page_changes_without_a_reload_and_obeys(
    browser: webdriver.Chrome, base: str, live: object, shot: Shot
) -> None:
    """Enqueue, another budget, pause and resume of the whole study."""
    browser.get_log("browser")
    browser.get(base + "/studies")
    waited(browser, lambda b: b.find_elements(By.CSS_SELECTOR, "a[href*='study=live']"))
    opened(browser, base + "/study?study=live")
    waited(browser, lambda b: "of 400" in text_of(b, "#facts"))
    browser.execute_script("window.notReloaded = true")
    points = nodes(browser, "learning_curves")
    waited(browser, lambda b: nodes(b, "learning_curves") > points)
    shot("live")

    browser.find_element(By.CSS_SELECTOR, "#enqueue summary").click()
    waited(browser, lambda b: b.find_elements(By.CSS_SELECTOR, "#enqueue input[name=lr]"))
    assert "0.001 to 1, log" in browser.find_element(By.NAME, "lr").get_attribute("placeholder")
    set_text(browser, "#enqueue input[name=lr]", "0.125")
    Select(browser.find_element(By.NAME, "odd")).select_by_visible_text("<b>x</b>")
    clicked(browser, By.ID, "do-enqueue")
    told = agree(browser)
    assert '"lr":0.125' in told and "<b>x</b>" in told
    waited(browser, lambda b: "lr=0.125" in text_of(b, "#trials"))

    set_text(browser, "#set-trials", "300")
    clicked(browser, By.ID, "do-edit")
    assert "trials 400 -> 300" in agree(browser)
    waited(browser, lambda b: "of 300" in text_of(b, "#facts"))

    clicked(browser, By.ID, "do-pause")
    assert "pauses" in agree(browser)
    waited(browser, lambda b: enabled(b, "do-resume"))
    clicked(browser, By.ID, "do-resume")
    assert "goes on" in agree(browser)
    waited(browser, lambda b: enabled(b, "do-pause"))
    assert browser.execute_script("return window.notReloaded")
    assert complaints(browser) == []


def test_weight_and_priority_change_and_escape_leaves_all_as_it_is(
    browser: webdriver.Chrome, base: str, live: object
) -> None:
    opened(browser, base + "/study?study=live")
    set_text(browser, "#set-weight", "2.5")
    set_text(browser, "#set-priority", "1")
    clicked(browser, By.ID, "do-edit")
    waited(browser, lambda b: b.find_elements(By.ID, "confirm"))
    told = text_of(browser, "dialog p")
    assert "priority 0 -> 1" in told and "weight 1.0 -> 2.5" in told
    browser.switch_to.active_element.send_keys(Keys.ESCAPE)
    waited(browser, lambda b: not b.find_elements(By.TAG_NAME, "dialog"))
    clicked(browser, By.ID, "do-edit")
    assert "weight 1.0 -> 2.5" in agree(browser)  # nothing had changed
    opened(browser, base + "/pool")
    waited(browser, lambda b: "2.5" in text_of(b, "#studies"))
    assert "CPUs" in text_of(browser, "#nodes") and "live" in text_of(browser, "#nodes")


def test_a_trial_is_paused_resumed_and_stopped(browser: webdriver.Chrome, base: str, live: object, shot: Shot) -> None:
    run_to(browser, base)
    shot("live-trial")
    waited(browser, lambda b: "can pause" in text_of(b, ".facts"))
    clicked(browser, By.ID, "do-pause")
    assert "pauses at its next epoch" in agree(browser)
    waited(browser, lambda b: enabled(b, "do-resume"))
    clicked(browser, By.ID, "do-resume")
    assert "is queued again" in agree(browser)
    waited(browser, lambda b: not enabled(b, "do-resume"))
    clicked(browser, By.ID, "do-stop")
    assert "1 trial" in agree(browser)
    waited(browser, lambda b: not enabled(b, "do-stop"))
    assert "stopped" in text_of(browser, ".facts .status")


def test_a_trial_is_killed(browser: webdriver.Chrome, base: str, live: object) -> None:
    run_to(browser, base)
    clicked(browser, By.ID, "do-kill")
    assert "1 trial" in agree(browser)
    waited(browser, lambda b: "cancelled" in text_of(b, ".facts .status"))
    assert "asked by the dashboard" in text_of(browser, ".story")


def test_a_value_outside_of_the_space_is_refused_in_words(browser: webdriver.Chrome, base: str, live: object) -> None:
    opened(browser, base + "/study?study=live")
    browser.find_element(By.CSS_SELECTOR, "#enqueue summary").click()
    waited(browser, lambda b: b.find_elements(By.CSS_SELECTOR, "#enqueue input[name=lr]"))
    set_text(browser, "#enqueue input[name=lr]", "7")
    clicked(browser, By.ID, "do-enqueue")
    waited(browser, lambda b: "lr=7 is not in" in text_of(b, "#toast"))
    assert not browser.find_elements(By.TAG_NAME, "dialog")


def test_a_study_is_stopped_and_then_killed(
    browser: webdriver.Chrome, base: str, live: subprocess.Popen[bytes]
) -> None:
    opened(browser, base + "/study?study=live")
    clicked(browser, By.ID, "do-stop")
    assert "running trials finish" in agree(browser)
    waited(browser, lambda b: "stopping" in text_of(b, "#facts .status"))
    clicked(browser, By.ID, "do-kill")
    assert "are killed" in agree(browser)
    waited(browser, lambda b: "stopped" in text_of(b, "#facts .status"))
    live.wait(30)


def test_a_study_that_is_over_offers_no_action(browser: webdriver.Chrome, base: str) -> None:
    opened(browser, base + "/study?study=finished")
    buttons = browser.find_elements(By.CSS_SELECTOR, "[aria-label=Actions] button")
    assert len(buttons) == 5 and not any(button.is_enabled() for button in buttons)
