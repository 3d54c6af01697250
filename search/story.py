"""The story of one trial, from its events: what `shoal explain` prints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .events import (
    Event,
    HeadOpened,
    StudyEdited,
    StudyResumed,
    TrialAssigned,
    TrialDecided,
    TrialEnded,
    TrialInfeasible,
    TrialProposed,
    TrialReported,
    TrialSuggested,
)

_DECIDED = {
    "pause": "told to pause",
    "stop": "told to stop",
    "promote": "promoted",
    "cancel": "cancelled",
    "finish": "told to finish",
}
_BY = {"rule": "", "person": " by a person", "end": " since the study ended"}


def story(events: Iterable[Event], number: int) -> list[tuple[float, str]]:
    """(at, what happened and why) of trial `number`, in order; empty if the events do not mention it."""
    told: list[tuple[float, str]] = []
    running = ended_by_study = False
    for event in events:
        if isinstance(event, StudyResumed | StudyEdited):
            if ended_by_study:
                told.append((event.at, f"waits again, since the study goes on: {event.reason}"))
                ended_by_study = False
        elif isinstance(event, HeadOpened):
            if running:
                told.append((event.at, f"lost: the program ended under it; process {event.pid} took the study over"))
                running = False
        elif getattr(event, "number", None) == number:
            told.append((event.at, _TELL[type(event)](event)))
            ended_by_study = event.by == "end" if isinstance(event, TrialDecided) else ended_by_study
            running = isinstance(event, TrialAssigned) or (running and not isinstance(event, TrialEnded))
    return told


def _proposed(event: TrialProposed) -> str:
    origin = {"strategy": f"proposed (ask {event.ask})", "enqueued": "enqueued", "fallback": "fallback"}[event.source]
    config = "define by run" if event.config is None else event.config
    return f"{origin}: {config}: {event.reason}"


def _assigned(event: TrialAssigned) -> str:
    devices = f"GPU {', '.join(event.gpus)}" if event.gpus else "CPU"
    workers = "1 worker" if event.workers == 1 else f"{event.workers} workers"
    return f"started (generation {event.generation}) on {event.node}, {workers}, {devices}: {event.reason}"


def _reported(event: TrialReported) -> str:
    return f"epoch {event.step}: {_named(event.metrics)}"


def _decided(event: TrialDecided) -> str:
    return f"{_DECIDED[event.decision]}{_BY[event.by]}: {event.reason}"


def _ended(event: TrialEnded) -> str:
    outcome = event.outcome if event.failure is None else f"{event.outcome} ({event.failure})"
    value = "" if event.value is None else f" with {event.value}"
    return f"{outcome}{value} after {event.run_s:.1f} s: {event.reason}"


def _named(values: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name} {value:.6g}" if isinstance(value, float) else f"{name} {value}" for name, value in values.items()
    )


_TELL: Mapping[type[Event], Callable[[Any], str]] = {
    TrialProposed: _proposed,
    TrialSuggested: lambda event: f"asked for {event.path} and was given {event.value}",
    TrialInfeasible: lambda event: f"cannot be placed: {event.reason}",
    TrialAssigned: _assigned,
    TrialReported: _reported,
    TrialDecided: _decided,
    TrialEnded: _ended,
}
