"""Notes and tags, a choice of objective, and pages of what is not there yet."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select
from tests.browser.conftest import dashboard, logged_in
from tests.browser.odd_studies import CHOICES, HARM, one_trial, write_odd_studies, write_two_objectives
from tests.browser.steps import Shot, clicked, complaints, nodes, opened, text_of, waited

from shoal.search import events as e
from shoal.search.journal.sqlite import SqliteJournal


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with studies that have ended, two objectives among them."""
    data = tmp_path_factory.mktemp("remarks")
    write_odd_studies(data)
    write_two_objectives(data, "two")
    return data


@pytest.fixture(scope="module")
def ended(browser: webdriver.Chrome, folder: Path) -> Iterator[str]:
    """The base address of a dashboard over them; the browser is logged in."""
    with dashboard(folder) as address:
        yield logged_in(browser, address)


def append(data: Path, study: str, *events: e.Event) -> None:
    journal = SqliteJournal(data / "journal.db")
    try:
        journal.append(study, events)
        journal.commit()
    finally:
        journal.close()


def test_a_note_is_written_shown_and_taken_away(browser: webdriver.Chrome, ended: str, shot: Shot) -> None:
    """On a study that has ended, with text that looks like markup."""
    browser.get_log("browser")
    opened(browser, f"{ended}/study?study=choices")
    clicked(browser, By.ID, "edit-note")
    browser.find_element(By.ID, "note-text").send_keys(HARM, Keys.ENTER, "second line")
    clicked(browser, By.ID, "save-note")
    waited(browser, lambda b: text_of(b, ".note-text") == f"{HARM}\nsecond line")
    shot("note")
    opened(browser, f"{ended}/study?study=choices")
    assert text_of(browser, ".note-text") == f"{HARM}\nsecond line"
    browser.get(f"{ended}/studies")
    waited(browser, lambda b: b.find_elements(By.CSS_SELECTOR, "#studies [aria-label^='note: <img']"))
    opened(browser, f"{ended}/study?study=choices")
    clicked(browser, By.ID, "edit-note")
    browser.find_element(By.ID, "note-text").clear()
    clicked(browser, By.ID, "save-note")
    waited(browser, lambda b: not b.find_elements(By.CSS_SELECTOR, ".note-text"))
    assert browser.execute_script("return window.harmed === undefined && !document.querySelector('main img')")
    assert complaints(browser) == []


def test_what_somebody_writes_stays_while_the_page_changes(browser: webdriver.Chrome, ended: str, folder: Path) -> None:
    opened(browser, f"{ended}/study?study=no-parameters")
    clicked(browser, By.ID, "edit-note")
    browser.find_element(By.ID, "note-text").send_keys("half a sen")
    append(folder, "no-parameters", e.TagsChanged(at=9.0, added=["elsewhere"], removed=[], by="somebody"))
    waited(browser, lambda b: "elsewhere" in text_of(b, "#tags"))
    assert browser.find_element(By.ID, "note-text").get_attribute("value") == "half a sen"


def test_trials_are_tagged_and_chosen_by_their_tags(browser: webdriver.Chrome, ended: str, shot: Shot) -> None:
    browser.get_log("browser")
    for number, words in ((3, "good <b>x</b>"), (5, "good")):
        opened(browser, f"{ended}/trial?study=choices&number={number}")
        browser.find_element(By.ID, "add-tag").send_keys(words, Keys.ENTER)
        waited(browser, lambda b, words=words: all(word in text_of(b, "#tags") for word in words.split()))  # type: ignore[misc]
    opened(browser, f"{ended}/study?study=choices")
    Select(browser.find_element(By.ID, "by-tag")).select_by_value("good")
    waited(browser, lambda b: len(b.find_elements(By.CSS_SELECTOR, "#trials tbody tr")) == 2)
    assert "<b>x</b>" in text_of(browser, "#trials")
    shot("tags")
    opened(browser, f"{ended}/trial?study=choices&number=5")
    clicked(browser, By.CSS_SELECTOR, "#tags .remove")
    waited(browser, lambda b: text_of(b, "#tags") == "")
    assert "tags -good by the dashboard" in text_of(browser, ".story")
    assert complaints(browser) == []


def test_a_tag_that_is_none_is_refused_in_words(browser: webdriver.Chrome, ended: str) -> None:
    opened(browser, f"{ended}/trial?study=choices&number=0")
    browser.find_element(By.ID, "add-tag").send_keys("-bad", Keys.ENTER)
    waited(browser, lambda b: "not one word" in text_of(b, "#toast"))
    assert text_of(browser, "#tags") == ""
    browser.get_log("browser")


def title_of_y(browser: webdriver.Chrome, figure: str) -> str:
    found = browser.execute_script(
        "return document.querySelector(`#plot-${arguments[0]} .ytitle`)?.textContent ?? ''", figure
    )
    return str(found)


def test_the_objective_is_chosen_for_all_charts_of_one(browser: webdriver.Chrome, ended: str, shot: Shot) -> None:
    browser.get_log("browser")
    opened(browser, f"{ended}/study?study=two")
    assert title_of_y(browser, "history") == "score ↑" and nodes(browser, "importance") > 0
    Select(browser.find_element(By.CSS_SELECTOR, "#objective select")).select_by_value("ms")
    waited(browser, lambda b: title_of_y(b, "history") == title_of_y(b, "learning_curves") == "ms ↓")
    waited(browser, lambda b: "ms" in b.execute_script(
        "return document.querySelector('#plot-importance').textContent"
    ))
    shot("objective")
    opened(browser, f"{ended}/study?study=choices")
    assert not browser.find_elements(By.CSS_SELECTOR, "#objective select")
    assert complaints(browser) == []


def test_the_page_of_a_study_that_comes_later_fills_itself(browser: webdriver.Chrome, ended: str, folder: Path) -> None:
    browser.get(f"{ended}/study?study=later")
    waited(browser, lambda b: "fills itself when the study appears" in text_of(b, "#why"))
    assert not browser.find_element(By.CSS_SELECTOR, ".charts").is_displayed()
    waited(browser, lambda b: text_of(b, "#connection") == "live")
    browser.execute_script("window.notReloaded = true")
    write_two_objectives(folder, "later")
    waited(browser, lambda b: "12 of 17" in text_of(b, "#facts"))
    waited(browser, lambda b: b.execute_script("return performance.getEntriesByName('drawn all').length"))
    assert browser.execute_script("return window.notReloaded") and nodes(browser, "history") > 0
    assert "fills itself" not in text_of(browser, "#why")
    append(folder, "later", e.NoteWritten(at=99.0, text="and goes on to change", by="somebody"))
    waited(browser, lambda b: text_of(b, ".note-text") == "and goes on to change")
    browser.get_log("browser")


def test_the_page_of_a_trial_that_comes_later_fills_itself(browser: webdriver.Chrome, ended: str, folder: Path) -> None:
    browser.get(f"{ended}/trial?study=no-trials&number=0")
    waited(browser, lambda b: "It has no trials yet" in text_of(b) and text_of(b, "#connection") == "live")
    append(folder, "no-trials", *one_trial(CHOICES, 0, "completed", 0.5))
    waited(browser, lambda b: "proposed" in text_of(b, ".story"))
    assert browser.find_element(By.CSS_SELECTOR, ".facts").is_displayed()
    browser.get_log("browser")
