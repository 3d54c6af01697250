"""Threshold: a trial stops when its value leaves a range; for values that mean a training has gone wrong."""

from __future__ import annotations

import math
from collections.abc import Collection

from ..spec import Objective
from .curves import Curves
from .port import Promotion, Verdict
from .ranking import shown


class ThresholdRule:
    """Stops outside [lower, upper] and at values that are not finite, after `warmup_epochs`."""

    def __init__(self, objective: Objective, *, lower: float | None, upper: float | None, warmup_epochs: int) -> None:
        self._objective = objective
        self._lower = -math.inf if lower is None else lower
        self._upper = math.inf if upper is None else upper
        self._warmup_epochs = warmup_epochs
        self._curves = Curves()

    def observe(self, number: int, step: int, value: float | None) -> None:
        self._curves.add(number, step, value)

    def verdict(self, number: int, *, can_pause: bool) -> Verdict:
        last = self._curves.last(number)
        if last is None:
            return Verdict(action="continue", reason="no report yet")
        step, value = last
        if value is None:
            return Verdict(action="continue", reason=f"epoch {step}: {self._objective.metric} is missing, no decision")
        if step <= self._warmup_epochs:
            return Verdict(action="continue", reason=f"epoch {step} of {self._warmup_epochs} to warm up")
        if math.isfinite(value) and self._lower <= value <= self._upper:
            return Verdict(action="continue", reason=f"epoch {step}: {shown(value)} is within bounds")
        bounds = f"[{shown(self._lower)}, {shown(self._upper)}]"
        return Verdict(action="stop", reason=f"epoch {step}: {shown(value)} is outside {bounds}")

    def promotions(self, paused: Collection[int], *, closing: bool = False) -> list[Promotion]:
        return []

    def farewell(self, number: int) -> str:
        return "the study ended while it was paused"
