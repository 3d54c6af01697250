"""Freeze-thaw: ASHA with a model of the curves, by which the most promising trials are thawed and trained in full.

Sources: Swersky, Snoek and Adams 2014, "Freeze-Thaw Bayesian Optimization" (trials are frozen, and thawed by what a
model of their curves expects); Li et al. 2020 (ASHA). A rule that only halves finishes few trials late in a study, and
learns too little of the ends of curves to forecast them; so a share of the epochs is kept for full trainings. Who has
them is decided by the forecasts, over all rungs at once: the trial with the lowest expected end, less its deviation.

Deviations: at the rungs trials are compared as by ASHA. The model is a regression over the curves of this study
(`search/forecasts.py`) instead of a Gaussian process with an exponential kernel. Which trials are started, and where in
the space, is left to the strategy: those that fit a model learn from the same forecasts.

Tried and dropped (regret at the end of 20 full trainings, five tasks, random configurations; ASHA has .18): comparing
forecasts instead of values within a rung (.31): forecasts from different lengths have different errors, values of one
length have not. Leaving frozen whatever is not expected to beat the best so far: nearly nothing is, and nothing ends.
"""

from __future__ import annotations

import math
from collections.abc import Collection

from ..forecasts import Forecast, forecasts
from ..spec import Objective
from .asha import AshaRule
from .curves import Curves
from .port import Promotion, Verdict
from .ranking import shown


class FreezeThawRule:
    """Freeze-thaw on ASHA's rungs.

    Args:
        full_share: the share of all epochs that goes into full trainings of the most promising trials.
    """

    def __init__(
        self,
        objective: Objective,
        *,
        max_epochs: int,
        min_epochs: int,
        reduction_factor: int,
        full_share: float,
    ) -> None:
        self._objective = objective
        self._max_epochs = max_epochs
        self._min_epochs = min_epochs
        self._full_share = full_share
        self._asha = AshaRule(
            objective, max_epochs=max_epochs, min_epochs=min_epochs, reduction_factor=reduction_factor, form="promotion"
        )
        self._curves = Curves()
        self._steps: dict[int, int] = {}
        self._trained = 0
        self._forecasts: dict[int, Forecast] | None = None

    def observe(self, number: int, step: int, value: float | None) -> None:
        self._asha.observe(number, step, value)
        if not self._curves.add(number, step, value):
            return
        self._trained += step - self._steps.get(number, 0)
        self._steps[number] = step
        self._forecasts = None

    def verdict(self, number: int, *, can_pause: bool) -> Verdict:
        verdict = self._asha.verdict(number, can_pause=can_pause)
        if verdict.finished or verdict.action == "continue" or not self._is_whole(number):
            return verdict
        unfinished = {one for one, step in self._steps.items() if step < self._max_epochs}
        if self._is_full_training_due(unfinished) and min(unfinished, key=self._urgency) == number:
            return Verdict(action="continue", reason=f"{verdict.reason}, but {self._story(number)}: it trains in full")
        return verdict

    def promotions(self, paused: Collection[int], *, closing: bool = False) -> list[Promotion]:
        found = self._asha.promotions(paused, closing=closing)
        if found:
            return found
        able = {number for number in paused if self._is_whole(number)}
        if not able or not self._is_full_training_due(able):
            return []
        best = min(able, key=self._urgency)
        reason = f"epoch {self._steps[best]}: {self._story(best)}: the most promising, it trains in full"
        return [Promotion(number=best, rung=self._asha.last_rung, reason=reason)]

    def farewell(self, number: int) -> str:
        return f"{self._asha.farewell(number)}; {self._story(number)}"

    # --- what is expected ------------------------------------------------------------------------

    def _is_whole(self, number: int) -> bool:
        """Has it a finite last value?"""
        last = self._curves.last(number)
        return last is not None and last[1] is not None and math.isfinite(last[1])

    def _is_full_training_due(self, frozen: Collection[int]) -> bool:
        """Have full trainings had less than their share of the epochs?

        Args:
            frozen: trials that do not train now; those beyond the first rung that do are taken to go to the end.
        """
        if self._trained < self._max_epochs:
            return False
        trained = [step >= self._max_epochs for step in self._steps.values()]
        under_way = [n not in frozen and self._min_epochs < step < self._max_epochs for n, step in self._steps.items()]
        return (sum(trained) + sum(under_way)) * self._max_epochs < self._full_share * self._trained

    def _urgency(self, number: int) -> tuple[float, int]:
        forecast = self._known().get(number)
        return (math.inf if forecast is None else forecast.mean - forecast.deviation, number)

    def _known(self) -> dict[int, Forecast]:
        """What is expected of every trial, worked out once for a set of reports."""
        if self._forecasts is None:
            loss = self._objective.loss
            curves = {n: [(step, loss(value)) for step, value in self._curves.values(n)] for n in self._steps}
            self._forecasts = forecasts({n: curve for n, curve in curves.items() if curve})
        return self._forecasts

    def _story(self, number: int) -> str:
        """`expected 0.78 ± 0.02 at epoch 27`."""
        forecast = self._known().get(number)
        if forecast is None or not math.isfinite(forecast.mean):
            return "nothing is expected of it"
        sign = -1.0 if self._objective.direction == "maximize" else 1.0
        return f"expected {shown(sign * forecast.mean)} ± {forecast.deviation:.2g} at epoch {max(self._steps.values())}"
