"""Notes and tags in the journal: what they may be, what they change, and what they leave alone."""

from typing import Any

import pytest

from shoal.errors import SpecError
from shoal.search import snapshot
from shoal.search.codec import decode, encode
from shoal.search.events import CommandDone, NoteWritten, TagsChanged
from shoal.search.journal.memory import MemoryJournal
from shoal.search.remarks import MOST_TAGS, NOTE_CHARACTERS, TAG_CHARACTERS, check_tags, note_of, tag_of, tags_of
from shoal.search.replay import read_study, save_snapshot
from shoal.search.story import story

HARM = "<img src=x onerror=harm()> & \"quotes\" ünï 💡"


def noted(text: str, number: int | None = None, at: float = 100.0) -> NoteWritten:
    return NoteWritten(at=at, text=text, by="shoal note", number=number)


def tagged(added: tuple[str, ...] = (), removed: tuple[str, ...] = (), number: int | None = None) -> TagsChanged:
    return TagsChanged(at=100.0, added=added, removed=removed, by="shoal tag", number=number)


@pytest.fixture
def s(study: Any) -> Any:
    """Two trials, of which the first has ended."""
    driver = study(trials=2)
    driver.propose(5, 6)
    driver.assign(0)
    driver.report(0, 1, acc=0.5)
    driver.end(0)
    return driver


def test_a_later_note_replaces_the_former_and_an_empty_one_takes_it_away(s: Any) -> None:
    s.handle(noted("first"))
    s.handle(noted(HARM, number=0))
    s.handle(noted("second"))
    assert s.state.note == "second" and s.state.trials[0].note == HARM and s.state.trials[1].note == ""
    s.handle(noted(""))
    assert s.state.note == ""


def test_tags_keep_their_order_and_are_there_once(s: Any) -> None:
    s.handle(tagged(("b", "a"), number=1))
    s.handle(tagged(("c", "b"), ("a",), number=1))
    assert s.state.trials[1].tags == ("b", "c")
    s.handle(tagged(("c",), number=0))
    assert tags_of(s.state) == ["c", "b"]


def test_a_remark_on_a_trial_that_is_not_there_changes_nothing(s: Any) -> None:
    before = snapshot.to_json(s.state) | {"stale_events": 0}
    s.handle(noted("who?", number=99))
    s.handle(tagged(("x",), number=99))
    assert snapshot.to_json(s.state) | {"stale_events": 0} == before


def test_a_remark_has_nothing_done(s: Any) -> None:
    """The study does not act, and an hour in which nobody ran it stays no time of its own."""
    s.wish(room=0)
    active, last = s.state.active_s, s.state.last_at
    for event in (noted("later", at=4000.0), CommandDone(at=4000.0, command="1", ok=True, effect="noted")):
        assert s.handle(event) == []
    assert (s.state.active_s, s.state.last_at) == (active, last)


def test_remarks_survive_the_journal_and_its_snapshots(s: Any) -> None:
    for event in (noted(HARM), noted("two\nlines", number=0), tagged(("good", "ünï"), number=0), tagged(("all",))):
        s.handle(event)
    journal = MemoryJournal()
    journal.append("digits", s.events)
    journal.commit()
    folded = read_study(journal, "digits")
    save_snapshot(folded, journal)
    for state in (folded, read_study(journal, "digits")):
        assert (state.note, state.tags) == (HARM, ("all",))
        assert (state.trials[0].note, state.trials[0].tags) == ("two\nlines", ("good", "ünï"))
    kind, body = encode(noted(HARM, number=3))
    assert decode(kind, 100.0, body) == noted(HARM, number=3)


def test_the_story_of_a_trial_has_its_remarks(s: Any) -> None:
    s.handle(noted("not of a trial"))
    s.handle(noted("two\nlines", number=0))
    s.handle(tagged(("good",), ("slow",), number=0))
    s.handle(noted("", number=0))
    assert [text for _, text in story(s.events, 0)][-3:] == [
        "note by shoal note: two lines",
        "tags +good -slow by shoal tag",
        "note taken away by shoal note",
    ]


@pytest.mark.parametrize("text", ["x" * (NOTE_CHARACTERS + 1), "bell\a", "\x1b[31mred", "half \ud800"])
def test_what_is_no_note(text: str) -> None:
    with pytest.raises(SpecError):
        note_of(text)


@pytest.mark.parametrize(
    "word", ["", "x" * (TAG_CHARACTERS + 1), "two words", "a,b", "+a", "-a", "a\nb", "\x1b[31m", "\u202e"]
)
def test_what_is_no_tag(word: str) -> None:
    with pytest.raises(SpecError):
        tag_of(word)


@pytest.mark.parametrize("word", ["good", "lr<0.1", "<b>x</b>", "ünï", "💡", "v1.2/final:3", "x" * TAG_CHARACTERS])
def test_what_is_a_tag(word: str) -> None:
    assert tag_of(word) == word


def test_a_change_of_tags_must_fit_those_that_are_there() -> None:
    check_tags(["good"], ["better"], ["good"])
    with pytest.raises(SpecError, match="no tag 'god'") as caught:
        check_tags(["good"], [], ["god"])
    assert caught.value.remedy == "Did you mean good?"
    with pytest.raises(SpecError, match=f"more than {MOST_TAGS}"):
        check_tags([f"t{n}" for n in range(MOST_TAGS)], ["one-more"], [])
    check_tags([f"t{n}" for n in range(MOST_TAGS)], ["one-more"], ["t0"])
