"""The one port that every stopping rule stands behind.

A rule sees reports of the first objective and answers questions; a question never changes it. Its state is a
function of the *set* of (trial, step, value) reports alone, not of their order, so that a study rebuilt from its
journal decides the same. Steps are finished epochs, counted from 1. Values arrive as the user reported them (the
rule is built with the direction); NaN and infinities may arrive and rank last: finite < infinite bad < NaN.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the trial does after this report, and why (never empty).

    `finished` goes with "stop": the trial has had all the epochs it is meant to have (`max_epochs` reached, or its
    curve has converged), so it is recorded as completed and not as stopped.
    """

    action: Literal["continue", "pause", "stop"]
    reason: str
    finished: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    """A paused trial that goes on; `rung` orders promotions (the highest first)."""

    number: int
    rung: int
    reason: str


class StoppingRule(Protocol):
    """Decides which trials go on."""

    def observe(self, number: int, step: int, value: float | None) -> None:
        """Take a report in (`value` None: the metric was missing). A step at or below the last one is ignored."""
        ...

    def verdict(self, number: int, *, can_pause: bool) -> Verdict:
        """What trial `number` does after its last observed report. Without `can_pause` never "pause"."""
        ...

    def promotions(self, paused: Collection[int], *, closing: bool = False) -> list[Promotion]:
        """Those of the `paused` trials that may go on now, best first. Cheap when none may: it is asked all the time.

        `closing`: nothing runs, nothing waits and no proposal will come. A rule that would leave a study without a
        single finished trial then names the one that is nearest to its end; asked again after each of its pauses.
        """
        ...

    def farewell(self, number: int) -> str:
        """Why the paused trial `number` will not go on, said when the study ends."""
        ...


@runtime_checkable
class SeesAll(Protocol):
    """A rule that looks at all objectives: it is shown the losses of each instead of one value."""

    def observe_all(self, number: int, step: int, losses: tuple[float, ...] | None) -> None:
        """Take a report in (None: an objective was missing). A step at or below the last one is ignored."""
        ...
