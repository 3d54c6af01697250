"""Notes and tags by way of a running head, and without one."""

import threading
from pathlib import Path
from typing import Any

import pytest

from shoal.errors import JournalLocked, NotFound, SpecError
from shoal.search.events import CommandDone, StudyCreated
from shoal.search.journal.sqlite import SqliteJournal
from shoal.search.replay import read_study
from shoal.search.transitions import TrialStatus
from shoal.service.commands import Command
from shoal.service.remark_writing import is_remark, write_remark


def ask(world: Any, study: str, **command: Any) -> CommandDone:
    """Put a command into the table and turn the head until it is acknowledged."""
    request = world.journal.put_command(study, Command(**command, who="a test").to_json())

    def replies() -> list[CommandDone]:
        told = [event for _, event in world.journal.read(study) if isinstance(event, CommandDone)]
        return [event for event in told if event.command == request]

    world.head._next_poll = 0.0  # look now instead of within a tenth of a second
    world.turns(lambda: bool(replies()))
    return replies()[0]


def test_a_running_head_writes_remarks_down(make_head: Any, make_study: Any) -> None:
    world = make_head()
    state = world.add(make_study())
    world.turns(lambda: len(state.by_status[TrialStatus.RUNNING]) == 4)
    assert ask(world, "s", verb="note", text=" a note ").effect == "study s: note written"
    assert ask(world, "s", verb="tag", number=2, added=["good", "odd"]).effect == "trial s#2: tags +good +odd"
    assert ask(world, "s", verb="tag", number=2, removed=["odd"]).ok
    assert (state.note, state.trials[2].tags) == ("a note", ("good",))
    missing = ask(world, "s", verb="tag", number=2, removed=["odd"])
    assert not missing.ok and "no tag 'odd'" in missing.effect and "Its tags: good." in missing.effect
    nobody = ask(world, "s", verb="note", number=99, text="who?")
    assert not nobody.ok and "does not exist" in nobody.effect
    world.head.run()
    assert state.counts()[TrialStatus.COMPLETED] == 12


def test_a_head_writes_on_studies_that_it_does_not_run(make_head: Any, make_study: Any) -> None:
    """As one that has ended has no head of its own; everything else waits for that."""
    world = make_head()
    world.journal.append("old", [StudyCreated(at=0.0, spec=make_study(name="old").spec().to_json())])
    world.journal.commit()
    state = world.add(make_study())
    world.turns(lambda: bool(state.trials))
    assert ask(world, "old", verb="note", text="kept for the paper").ok
    assert ask(world, "old", verb="tag", added=["paper"]).ok
    old = read_study(world.journal, "old")
    assert (old.note, old.tags, old.status) == ("kept for the paper", ("paper",), "running")
    world.journal.put_command("old", Command(verb="stop").to_json())
    world.journal.put_command("nobody", Command(verb="note", text="lost").to_json())
    world.journal.put_command("old", {"verb": "dance"})
    world.head.run()
    assert read_study(world.journal, "old").status == "running" and "nobody" not in world.journal.studies()


@pytest.fixture
def data(tmp_path: Path, make_study: Any) -> Path:
    """A journal with the study "s", which nobody runs."""
    path = tmp_path / "journal.db"
    journal = SqliteJournal(path)
    journal.append("s", [StudyCreated(at=0.0, spec=make_study().spec().to_json())])
    journal.commit()
    journal.close()
    return path


def folded(path: Path) -> Any:
    journal = SqliteJournal(path)
    try:
        return read_study(journal, "s")
    finally:
        journal.close()


def test_without_a_head_they_are_written_at_once(data: Path) -> None:
    assert write_remark(str(data), "s", Command(verb="note", text="later")).ok
    assert write_remark(str(data), "s", Command(verb="tag", added=["a"])).text == "study s: tags +a"
    refused = write_remark(str(data), "s", Command(verb="tag", removed=["b"]))
    assert not refused.ok and "no tag 'b'" in refused.text
    assert (folded(data).note, folded(data).tags, folded(data).active_s) == ("later", ("a",), 0.0)
    with pytest.raises(NotFound, match="no study 't'"):
        write_remark(str(data), "t", Command(verb="note", text="x"))


def test_where_a_head_holds_the_journal_it_has_to_be_asked(data: Path) -> None:
    journal = SqliteJournal(data)
    try:
        with pytest.raises(JournalLocked):
            write_remark(str(data), "s", Command(verb="note", text="x"))
    finally:
        journal.close()


def test_requests_of_one_program_do_not_lock_each_other_out(data: Path) -> None:
    def write(number: int) -> None:
        write_remark(str(data), "s", Command(verb="tag", added=[f"t{number}"]))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(folded(data).tags) == [f"t{number}" for number in range(3)]


@pytest.mark.parametrize(
    "given",
    [
        {"verb": "note", "text": "\x1b[31m"},
        {"verb": "tag"},
        {"verb": "tag", "added": ["two words"]},
        {"verb": "tag", "added": ["a"], "removed": ["a"]},
    ],
)
def test_a_command_is_complete_or_is_none(given: dict[str, Any]) -> None:
    with pytest.raises(SpecError):
        Command(**given)


def test_which_commands_need_no_head() -> None:
    assert is_remark(Command(verb="note")) and is_remark(Command(verb="tag", added=["a"]))
    assert not is_remark(Command(verb="pause"))
