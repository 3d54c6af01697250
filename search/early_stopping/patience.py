"""Patience: a trial ends when it has stopped improving.

Source: Prechelt 1998, "Early Stopping - But When?". It looks at the trial's own curve alone. The trial counts as
completed, since its curve has converged; one that never had a finite value is stopped instead. A report without the
metric decides nothing, though its epochs pass.
"""

from __future__ import annotations

import math
from collections.abc import Collection

from ..spec import Objective
from .curves import Curves
from .port import Promotion, Verdict
from .ranking import shown


class PatienceRule:
    """Ends a trial after `epochs` without an improvement by more than `min_delta`."""

    def __init__(self, objective: Objective, *, epochs: int, min_delta: float) -> None:
        self._objective = objective
        self._epochs = epochs
        self._min_delta = min_delta
        self._curves = Curves()
        self._best: dict[int, tuple[float, int]] = {}  # (loss, step) of the last improvement

    def observe(self, number: int, step: int, value: float | None) -> None:
        if not self._curves.add(number, step, value) or value is None or not math.isfinite(value):
            return
        loss = self._objective.loss(value)
        best = self._best.get(number)
        if best is None or loss < best[0] - self._min_delta:
            self._best[number] = (loss, step)

    def verdict(self, number: int, *, can_pause: bool) -> Verdict:
        last = self._curves.last(number)
        if last is None:
            return Verdict(action="continue", reason="no report yet")
        step, value = last
        if value is None:
            return Verdict(action="continue", reason=f"epoch {step}: {self._objective.metric} is missing, no decision")
        best = self._best.get(number)
        if best is None:
            reason = f"epoch {step}: no finite value yet"
            return Verdict(action="stop" if step >= self._epochs else "continue", reason=reason)
        waited = step - best[1]
        shown_best = shown(self._objective.loss(best[0]))
        if waited < self._epochs:
            return Verdict(action="continue", reason=f"epoch {step}: best {shown_best} is {waited} epochs old")
        reason = f"epoch {step}: converged, no improvement on {shown_best} for {waited} epochs"
        return Verdict(action="stop", reason=reason, finished=True)

    def promotions(self, paused: Collection[int], *, closing: bool = False) -> list[Promotion]:
        return []

    def farewell(self, number: int) -> str:
        return "the study ended while it was paused"
