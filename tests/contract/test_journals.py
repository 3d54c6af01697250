"""What every journal must do: one suite over all implementations."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shoal.errors import JournalError, JournalLocked, NotFound
from shoal.search.events import (
    CommandDone,
    FailureKind,
    HeadOpened,
    StudyPaused,
    TrialAssigned,
    TrialEnded,
    TrialProposed,
    TrialReported,
)
from shoal.search.journal.memory import MemoryJournal
from shoal.search.journal.opening import open_journal, open_reader
from shoal.search.journal.port import Journal


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Journal]:
    opened: Journal
    if request.param == "memory":
        opened = MemoryJournal()
    elif request.param == "sqlite":
        opened = open_journal(str(tmp_path / "journal.db"))
    else:
        opened = open_journal(request.getfixturevalue("postgres").database())
    yield opened
    opened.close()


def report(step: int, **metrics: Any) -> TrialReported:
    return TrialReported(at=float(step), number=0, generation=1, step=step, metrics=metrics, can_pause=True)


ALL_SORTS = (
    TrialProposed(
        at=1.0, number=0, config={"lr": 0.1, "layers": [{"width": 3}], "s": "ü\n"}, source="strategy", ask=0,
        seen_seq=0, reason="why not", attrs={"a": [1, None, True]},
    ),
    TrialAssigned(
        at=2.0, number=0, generation=1, node="here", workers=2, gpus=("0", "1"), gpu_share=0.5, reason="room"
    ),
    report(1, acc=0.1 + 0.2, loss="nan"),
    TrialEnded(
        at=4.5, number=0, generation=1, outcome="failed", reason="boom " * 1000, failure=FailureKind.OOM, run_s=2.0,
        phases_s={"user": 1.5},
    ),
)  # fmt: skip


def test_gives_back_what_it_was_given(journal: Journal):
    """T42: a 5 kB traceback is stored whole."""
    first = journal.append("digits", ALL_SORTS)
    journal.commit()
    assert list(journal.read("digits")) == list(enumerate(ALL_SORTS, start=first))


def test_nothing_is_seen_before_the_commit(journal: Journal):
    journal.append("digits", ALL_SORTS)
    assert list(journal.read("digits")) == []
    assert journal.studies() == []
    journal.commit()
    assert len(list(journal.read("digits"))) == len(ALL_SORTS)


def test_one_series_of_numbers_over_all_studies(journal: Journal):
    assert journal.next_seq == 1
    assert journal.append("b", ALL_SORTS[:2]) == 1
    assert journal.append("a", ALL_SORTS[2:3]) == 3
    assert journal.append("b", ALL_SORTS[3:]) == journal.next_seq - 1 == 4
    journal.commit()
    assert journal.studies() == ["b", "a"]
    assert [seq for seq, _ in journal.read("b")] == [1, 2, 4]
    assert [seq for seq, _ in journal.read("b", after_seq=2)] == [4]
    assert [seq for seq, _ in journal.read("a")] == [3]
    assert list(journal.read("c")) == []


def test_what_is_no_json_is_refused_and_not_half_kept(journal: Journal):
    for metrics in ({"acc": float("nan")}, {"acc": object()}, {"acc": {1, 2}}):
        with pytest.raises(JournalError, match="TrialReported cannot be journaled"):
            journal.append("digits", [report(1, acc=0.5), report(2, **metrics)])
    assert journal.next_seq == 1
    journal.append("digits", [report(1, acc=0.5)])
    journal.commit()
    assert len(list(journal.read("digits"))) == 1


def test_commands_are_given_out_once_and_acknowledged_by_an_event(journal: Journal):
    assert journal.new_commands() == []
    first = journal.put_command("digits", {"verb": "pause"})
    second = journal.put_command("other", {"verb": "stop", "n": [1]})
    assert journal.new_commands() == [
        (first, "digits", {"verb": "pause"}),
        (second, "other", {"verb": "stop", "n": [1]}),
    ]
    assert journal.new_commands() == []
    journal.append("digits", [CommandDone(at=1.0, command=first, ok=True, effect="1 study")])
    journal.commit()
    third = journal.put_command("digits", {"verb": "resume"})
    assert journal.new_commands() == [(third, "digits", {"verb": "resume"})]


def test_the_latest_snapshot_is_kept(journal: Journal):
    assert journal.snapshot("digits") is None
    journal.append("digits", ALL_SORTS)
    journal.commit()
    journal.save_snapshot("digits", 2, {"x": 1})
    journal.save_snapshot("digits", 4, {"x": [2, None]})
    snapshot = journal.snapshot("digits")
    assert snapshot is not None and (snapshot.seq, snapshot.body) == (4, {"x": [2, None]})
    assert journal.snapshot("other") is None


def test_an_empty_commit_is_nothing(journal: Journal):
    journal.commit()
    assert journal.next_seq == 1 and journal.studies() == []


def test_changes_by_others_are_noticed(journal: Journal):
    journal.has_changed()
    assert not journal.has_changed()
    journal.put_command("digits", {})
    assert journal.has_changed()
    assert not journal.has_changed()


def test_the_events_of_one_trial(journal: Journal):
    others = tuple(replace(event, number=1) for event in ALL_SORTS)
    opened = HeadOpened(at=0.5, fence=1, host="here", pid=7)
    journal.append("digits", (opened, *ALL_SORTS, *others))
    journal.append("other", ALL_SORTS)
    journal.commit()
    found = list(journal.read_of_trial("digits", 0))
    assert [event for event in found if event not in others] == [opened, *ALL_SORTS]


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a journal that outlives its program lies."""
    if request.param == "sqlite":
        return str(tmp_path / "journal.db")
    address: str = request.getfixturevalue("postgres").database()
    return address


def test_a_reopened_journal_goes_on_counting(place: str):
    first = open_journal(place)
    command = first.put_command("digits", {"verb": "pause"})
    first.append("digits", [StudyPaused(at=1.0, reason="lunch")])
    first.commit()
    fence = first.fence
    first.append("digits", [StudyPaused(at=2.0, reason="never committed")])
    first.close()
    second = open_journal(place)
    assert second.fence > fence
    assert second.next_seq == 2
    assert second.new_commands() == [(command, "digits", {"verb": "pause"})]
    assert list(second.read("digits")) == [(1, StudyPaused(at=1.0, reason="lunch"))]
    second.close()


def test_one_writer_and_its_name(place: str):
    writer = open_journal(place)
    with pytest.raises(JournalLocked, match=f"in use by process {os.getpid()} on "):
        open_journal(place)
    reader = open_reader(place)
    assert reader.has_writer()
    writer.close()
    assert not reader.has_writer()
    reader.close()
    open_journal(place).close()


def test_a_reader_finds_no_journal_where_none_was_made(place: str):
    with pytest.raises(NotFound, match="no journal"):
        open_reader(place)
