"""Steering a study from another process: requests in the journal's commands table, acknowledged by the running head.

pause = no new trials, running ones checkpoint and let go; stop = running trials finish; kill = now.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...errors import JournalLocked, SpecError
from ...search.spec import priority_class
from .enqueueing import completed, free_form, key_of, pairs
from .options import DataFlag, NumberWord, OutputFlag, StudyName, StudyOrTrial, data_directory, output_format
from .output import Format, write_record
from .trial_reference import parse

if TYPE_CHECKING:
    from ..commands import Command, Verb

ACKNOWLEDGE_S = 10.0
"""How long a running head may take to answer: it looks every 0.1 s; the rest is for a machine under load."""

POLL_S = 0.05


def pause(study: StudyOrTrial, number: NumberWord = None, data: DataFlag = None, output: OutputFlag = None) -> None:
    """Pause a study or a trial. Running trials save a checkpoint and let their devices go; no new ones start."""
    _steer("pause", study, number, data, output)


def resume(study: StudyOrTrial, number: NumberWord = None, data: DataFlag = None, output: OutputFlag = None) -> None:
    """Take a paused study or trial up again."""
    _steer("resume", study, number, data, output)


def stop(study: StudyOrTrial, number: NumberWord = None, data: DataFlag = None, output: OutputFlag = None) -> None:
    """End a study or a trial gently. A study's running trials finish; a trial ends at its next report."""
    _steer("stop", study, number, data, output)


def kill(study: StudyOrTrial, number: NumberWord = None, data: DataFlag = None, output: OutputFlag = None) -> None:
    """End a study or a trial now. Its processes are killed."""
    _steer("kill", study, number, data, output)


def enqueue(
    study: StudyName,
    values: Annotated[
        list[str], typer.Argument(metavar="NAME=VALUE...", help="Parameters by path, e.g. lr=0.1 optimizer=adam.")
    ],
    data: DataFlag = None,
    output: OutputFlag = None,
) -> None:
    """Have a configuration tried next. Parameters that are left out are drawn at random."""
    from ...spaces import Space
    from ..commands import Command
    from .journal_reading import open_reader

    directory = data_directory(data)
    with open_reader(directory) as reader:
        spec = reader.state(study).spec
    given = pairs(values)
    config = free_form(given) if spec.space is None else completed(Space.from_json(spec.space), given).to_json()
    send(directory, study, Command(verb="enqueue", config=config, key=key_of(config), who="shoal enqueue"), output)


def set_(
    study: StudyName,
    values: Annotated[
        list[str], typer.Argument(metavar="NAME=VALUE...", help="e.g. weight=2 priority=high trials=100 gpu_hours=50.")
    ],
    data: DataFlag = None,
    output: OutputFlag = None,
) -> None:
    """Change a study while it runs. Its weight, priority, budget or limits; `none` takes a limit away."""
    from ..command_effects import changeable
    from ..commands import Command
    from .journal_reading import open_reader
    from .overrides import overridden, read_changes

    changes = read_changes(values)
    for name in changes:
        changeable(name)
    directory = data_directory(data)
    with open_reader(directory) as reader:
        state = reader.state(study)
        if state.is_over:
            remedy = "shoal run FILE --set NAME=VALUE goes on with it; --trials N extends one that has completed."
            raise SpecError(f"{study} is {state.status} already.", remedy)
        overridden(state.spec, changes)  # says what is wrong with the values
    if "priority" in changes:
        changes["priority"] = priority_class(changes["priority"])
    send(directory, study, Command(verb="edit", changes=changes, who="shoal set"), output)


def _steer(verb: Verb, text: str, number: int | None, data: Path | None, output: str | None) -> None:
    from ..commands import Command
    from .journal_reading import open_reader

    reference = parse(text, number)
    directory = data_directory(data)
    with open_reader(directory) as reader:
        state = reader.state(reference.study)
        if reference.number is not None:
            status = reader.trial(reference.study, reference.number).status
            if status.is_terminal:
                raise SpecError(f"{reference} is {status} already; there is nothing to {verb}.", "See shoal trials.")
        elif state.is_over:
            remedy = "shoal run FILE goes on with it; --trials N extends one that has completed."
            raise SpecError(f"{reference} is {state.status} already; there is nothing to {verb}.", remedy)
    send(directory, reference.study, Command(verb=verb, number=reference.number, who=f"shoal {verb}"), output)


def send(directory: Path, study: str, command: Command, output: str | None) -> None:
    """Ask the running head, wait for its answer and write that to stdout; notes and tags need no head.

    Raises:
        SpecError: the head refused it.
    """
    from ...search.events import CommandDone
    from .journal_reading import open_reader

    form = output_format(output)
    with open_reader(directory) as reader:
        if not reader.head_is_running() and _written_here(directory, study, command, form):
            return
        seen = reader.state(study).last_seq
        request = reader.ask_head(study, command.to_json())
        if not reader.head_is_running():
            effect = f"written down; no run has {study} open, it takes effect when shoal run next opens it"
            write_record({"study": study, "acknowledged": False, "effect": effect}, form)
            return
        until = time.monotonic() + ACKNOWLEDGE_S
        while time.monotonic() < until:
            for seq, event in reader.events(study, after_seq=seen):
                seen = seq
                if isinstance(event, CommandDone) and event.command == request:
                    _tell(study, event.ok, event.effect, form)
                    return
            time.sleep(POLL_S)
    print(f"the run has not answered within {ACKNOWLEDGE_S:g} s; the request stays in the journal", file=sys.stderr)
    write_record({"study": study, "acknowledged": False, "effect": "written down"}, form)


def _written_here(directory: Path, study: str, command: Command, form: Format) -> bool:
    """Write a note or tags without a head; False for other commands, and where a run has begun meanwhile."""
    from ..journal_place import journal_of
    from ..remark_writing import is_remark, write_remark

    if not is_remark(command):
        return False
    try:
        effect = write_remark(journal_of(directory), study, command)
    except JournalLocked:
        return False
    _tell(study, effect.ok, effect.text, form)
    return True


def _tell(study: str, ok: bool, effect: str, form: Format) -> None:
    if not ok:
        raise SpecError(effect, "")
    write_record({"study": study, "acknowledged": True, "effect": effect}, form)
