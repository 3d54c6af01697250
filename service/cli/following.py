"""Following a study: `watch` its events, `logs` of a trial, `explain` what happened to a trial."""

from __future__ import annotations

import select
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...errors import NotFound
from .options import (
    DataFlag,
    NumberWord,
    OutputFlag,
    PlainFlag,
    StudyName,
    TrialName,
    data_directory,
    output_format,
    plain_lines,
)
from .output import write_rows
from .trial_reference import parse_trial

if TYPE_CHECKING:
    from ...search.trial_record import TrialRecord
    from .journal_reading import Reader

POLL_S = 0.2
"""How often files are looked at: quick for eyes, and one small read a time."""


def watch(study: StudyName, data: DataFlag = None, plain: PlainFlag = None) -> None:
    """Follow a running study to its end. Ctrl-C leaves it running."""
    from rich.console import Console

    from ...dashboards.terminal.live import follower
    from ..interrupts import Interrupts
    from .journal_reading import open_reader

    with open_reader(data_directory(data)) as reader:
        state = reader.state(study)
        # a KeyboardInterrupt that falls into a finaliser is lost; a counted signal is not
        with follower(Console(stderr=True), plain_lines=plain_lines(plain)) as follow, Interrupts() as interrupts:
            follow.show(state)
            while not state.is_over:
                for seq, event in reader.events(study, after_seq=state.last_seq):
                    state.apply(event, seq)
                    follow(state, event)
                if interrupts.count:
                    print(f"left; {study} goes on", file=sys.stderr)
                    return
                if not reader.head_is_running():
                    break
                select.select([interrupts.fileno()], [], [], POLL_S)
        if not state.is_over:
            print(f"no shoal run has {study} open; it is {state.status} as of now", file=sys.stderr)


def logs(
    trial: TrialName,
    number: NumberWord = None,
    data: DataFlag = None,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Go on until the trial has ended.")] = False,
) -> None:
    """Print what a trial wrote. Its stdout and stderr, older rotated parts first."""
    from .journal_reading import open_reader

    directory = data_directory(data)
    study, index = parse_trial(trial, number)
    with open_reader(directory) as reader:
        reader.trial(study, index)
        folder = directory / "studies" / study / "trials" / f"{index:04d}"
        printed = _print_logs(folder)
        if not follow:
            if printed is None:
                raise NotFound(f"{study}#{index} has no log yet.", "It has not started, or its log was removed.")
            return
        _follow_log(reader, study, index, folder / "log.txt", printed or 0)


def explain(trial: TrialName, number: NumberWord = None, data: DataFlag = None, output: OutputFlag = None) -> None:
    """Tell the story of a trial. Each decision about it and why."""
    from ...search.story import story
    from .journal_reading import open_reader

    study, index = parse_trial(trial, number)
    with open_reader(data_directory(data)) as reader:
        record = reader.trial(study, index)
        told = story((event for _, event in reader.events(study)), index)
    if record.ended_at is not None:
        told.append((record.ended_at, outcome(record)))
    rows = [{"at": datetime.fromtimestamp(at).isoformat(" ", "seconds"), "what": text} for at, text in told]
    write_rows(rows, output_format(output))


def outcome(record: TrialRecord) -> str:
    """How the study judged a trial that has ended."""
    if record.failure is not None:
        return f"judged {record.status} ({record.failure}): {record.message}"
    values = ", ".join(f"{metric} = {value:.6g}" for metric, value in (record.named_values or {}).items())
    return f"judged {record.status}" + (f" with {values}" if values else "")


def _print_logs(folder: Path) -> int | None:
    """Print the rotated logs, oldest first, then log.txt; return how far log.txt was read, None without any log."""
    rotated = sorted(folder.glob("log.txt.*"), key=lambda p: int(p.suffix[1:] or 0), reverse=True)
    end: int | None = None
    for path in [*rotated, folder / "log.txt"]:
        try:
            body = path.read_bytes()
        except FileNotFoundError:
            continue
        _write(body)
        end = len(body) if path.name == "log.txt" else 0
    return end


def _follow_log(reader: Reader, study: str, number: int, path: Path, read: int) -> None:
    while True:
        ended = reader.trial(study, number).status.is_terminal
        if path.is_file():
            if path.stat().st_size < read:
                read = 0  # rotated: go on with the new file
            with path.open("rb") as stream:
                stream.seek(read)
                body = stream.read()
            read += len(body)
            _write(body)
        if ended:
            return
        time.sleep(POLL_S)


def _write(body: bytes) -> None:
    sys.stdout.write(body.decode(errors="replace"))
    sys.stdout.flush()
