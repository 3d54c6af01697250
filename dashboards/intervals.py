"""Who held which devices from when to when, folded from the journal's events.

The study's own state knows only where a trial runs now; charts of the pool need the past.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ..search.events import (
    Event,
    FailureKind,
    HeadOpened,
    StudyPaused,
    StudyResumed,
    TrialAssigned,
    TrialEnded,
    TrialReported,
    TrialResized,
)

LOST = "lost"
PREEMPTED = "preempted"
RESIZED = "resized"


_NO_FAULT: Mapping[FailureKind | None, str] = {FailureKind.LOST: LOST, FailureKind.PREEMPTED: PREEMPTED}
"""Failures that are not the trial's own."""


@dataclass(slots=True, kw_only=True)
class Interval:
    """One generation of a trial on the same devices; a resize ends an interval and begins the next.

    Times in seconds since the epoch; `ended_at` is None while it runs. `outcome` is how it ended: completed, paused,
    stopped, failed, cancelled, resized, preempted (it gave way, or the program was interrupted; it goes on later), or
    lost (its process or the whole program died). `last_step` is the last epoch that the trial had reported by then.
    """

    number: int
    generation: int
    node: str
    gpus: tuple[str, ...]
    workers: int
    started_at: float
    ended_at: float | None = None
    outcome: str = "running"
    reason: str = ""
    last_step: int = 0


@dataclass(slots=True, kw_only=True)
class PoolMark:
    """A moment at which the whole study was paused, taken up again, or opened by another head."""

    at: float
    text: str


@dataclass(slots=True)
class Intervals:
    """All intervals of a study, in the order of their beginnings; `let_go_at`: when each trial last let devices go."""

    all: list[Interval] = field(default_factory=list)
    let_go_at: dict[int, float] = field(default_factory=dict)
    marks: list[PoolMark] = field(default_factory=list)
    _open: dict[int, Interval] = field(default_factory=dict)
    _last_steps: dict[int, int] = field(default_factory=dict)

    def observe(self, event: Event) -> None:
        """Take one event in, in the journal's order."""
        if isinstance(event, TrialReported):
            held_now = self._open.get(event.number)
            if held_now is not None and held_now.generation == event.generation:
                held_now.last_step = max(held_now.last_step, event.step)
                self._last_steps[event.number] = held_now.last_step
        elif isinstance(event, TrialAssigned):
            self._close(event.number, event.at, LOST, "the next generation began")
            held = Interval(
                number=event.number,
                generation=event.generation,
                node=event.node,
                gpus=tuple(event.gpus),
                workers=event.workers,
                started_at=event.at,
                reason=event.reason,
                last_step=self._last_steps.get(event.number, 0),
            )
            self.all.append(held)
            self._open[event.number] = held
        elif isinstance(event, TrialResized):
            held_now = self._open.get(event.number)
            if held_now is not None and held_now.generation == event.generation and event.ok:
                self._resize(held_now, event)
        elif isinstance(event, TrialEnded):
            held_now = self._open.get(event.number)
            if held_now is not None and held_now.generation == event.generation:
                outcome = _NO_FAULT.get(event.failure, event.outcome)
                self._close(event.number, event.at, outcome, event.reason)
        elif isinstance(event, HeadOpened):
            for number in [number for number in self._open if number not in event.kept]:
                self._close(number, event.at, LOST, "the program ended under it")
            self.marks.append(PoolMark(at=event.at, text=f"opened by process {event.pid}"))
        elif isinstance(event, StudyPaused | StudyResumed):
            self.marks.append(PoolMark(at=event.at, text=event.reason))

    def of(self, number: int) -> list[Interval]:
        """The intervals of one trial."""
        return [held for held in self.all if held.number == number]

    def _resize(self, before: Interval, event: TrialResized) -> None:
        self._close(event.number, event.at, RESIZED, event.reason)
        after = replace(
            before,
            gpus=tuple(event.gpus),
            workers=event.workers,
            started_at=event.at,
            ended_at=None,
            outcome="running",
            reason=event.reason,
        )
        self.all.append(after)
        self._open[event.number] = after

    def _close(self, number: int, at: float, outcome: str, reason: str) -> None:
        held = self._open.pop(number, None)
        if held is not None:
            held.ended_at, held.outcome, held.reason = max(at, held.started_at), outcome, reason
            self.let_go_at[number] = held.ended_at
