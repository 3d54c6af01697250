"""The story of one trial, from its events: what `shoal explain` prints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .events import (
    Event,
    HeadOpened,
    NoteWritten,
    StudyEdited,
    StudyResumed,
    TagsChanged,
    TrialAssigned,
    TrialDecided,
    TrialEnded,
    TrialInfeasible,
    TrialProposed,
    TrialReported,
    TrialResized,
    TrialResizing,
    TrialSuggested,
)

_DECIDED = {
    "pause": "told to pause",
    "stop": "told to stop",
    "promote": "promoted",
    "cancel": "cancelled",
    "finish": "told to finish",
}
_BY = {"rule": "", "person": " by a person", "end": " since the study ended", "pool": " by the pool"}


def story(events: Iterable[Event], number: int) -> list[tuple[float, str]]:
    """(at, what happened and why) of trial `number`, in order; empty if the events do not mention it."""
    told: list[tuple[float, str]] = []
    parents: dict[int, int] = {}
    running = ended_by_study = False
    for event in events:
        if isinstance(event, TrialProposed) and event.parent is not None:
            parents[event.number] = event.parent
        if isinstance(event, StudyResumed | StudyEdited):
            if ended_by_study:
                told.append((event.at, f"waits again, since the study goes on: {event.reason}"))
                ended_by_study = False
        elif isinstance(event, HeadOpened):
            if running and number in event.kept:
                told.append((event.at, f"went on without a head; process {event.pid} took the study over"))
            elif running:
                told.append((event.at, f"lost: the program ended under it; process {event.pid} took the study over"))
                running = False
        elif getattr(event, "number", None) == number:
            told.append((event.at, _TELL[type(event)](event)))
            if isinstance(event, TrialProposed) and event.parent is not None:
                told.append((event.at, _lineage(event.parent, parents)))
            ended_by_study = event.by == "end" if isinstance(event, TrialDecided) else ended_by_study
            running = isinstance(event, TrialAssigned) or (running and not isinstance(event, TrialEnded))
    return told


def _proposed(event: TrialProposed) -> str:
    origin = {"strategy": f"proposed (ask {event.ask})", "enqueued": "enqueued", "fallback": "fallback"}[event.source]
    config = "define by run" if event.config is None else event.config
    return f"{origin}: {config}: {event.reason}"


def _lineage(parent: int, parents: Mapping[int, int]) -> str:
    line = [parent]
    while line[-1] in parents:
        line.append(parents[line[-1]])
    before = f", which came from {' from '.join(map(str, line[1:]))}" if len(line) > 1 else ""
    return f"starts from the state of trial {parent}{before}"


def _assigned(event: TrialAssigned) -> str:
    return f"started (generation {event.generation}) on {event.node}, {_on(event)}: {event.reason}"


def _resizing(event: TrialResizing) -> str:
    return f"told to go over to {_on(event)}: {event.reason}"


def _resized(event: TrialResized) -> str:
    if not event.ok:
        return f"stays on {_on(event)}: {event.reason}"
    return f"runs on {_on(event)} after a stall of {event.stall_s:.2f} s: {event.reason}"


def _on(event: TrialAssigned | TrialResizing | TrialResized) -> str:
    workers = "1 worker" if event.workers == 1 else f"{event.workers} workers"
    return f"{workers}, GPU {', '.join(event.gpus)}" if event.gpus else f"{workers}, CPU"


def _reported(event: TrialReported) -> str:
    return f"epoch {event.step}: {_named(event.metrics)}"


def _decided(event: TrialDecided) -> str:
    return f"{_DECIDED[event.decision]}{_BY[event.by]}: {event.reason}"


def _ended(event: TrialEnded) -> str:
    outcome = event.outcome if event.failure is None else f"{event.outcome} ({event.failure})"
    value = "" if event.value is None else f" with {event.value}"
    again = "" if event.shards is None else f"; to be tried with {2 * event.shards} shards a batch"
    return f"{outcome}{value} after {event.run_s:.1f} s: {event.reason}{again}"


def noted(event: NoteWritten) -> str:
    """A note on one line."""
    return f"note by {event.by}: {' '.join(event.text.split())}" if event.text else f"note taken away by {event.by}"


def tagged(event: TagsChanged) -> str:
    """A change of tags on one line."""
    changes = [f"+{tag}" for tag in event.added] + [f"-{tag}" for tag in event.removed]
    return f"tags {' '.join(changes)} by {event.by}"


def _named(values: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name} {value:.6g}" if isinstance(value, float) else f"{name} {value}" for name, value in values.items()
    )


_TELL: Mapping[type[Event], Callable[[Any], str]] = {
    TrialProposed: _proposed,
    TrialSuggested: lambda event: f"asked for {event.path} and was given {event.value}",
    TrialInfeasible: lambda event: f"cannot be placed: {event.reason}",
    TrialAssigned: _assigned,
    TrialResizing: _resizing,
    TrialResized: _resized,
    TrialReported: _reported,
    TrialDecided: _decided,
    TrialEnded: _ended,
    NoteWritten: noted,
    TagsChanged: tagged,
}
