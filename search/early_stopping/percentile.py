"""The median rule, and its general form for another percentile.

Source: Golovin et al. 2017, "Google Vizier", KDD, section 3.2.2: stop a trial whose best value so far is worse than the
median of the running averages that its peers had at the same step. Deviations: every peer that has reported at or after
the step counts, not only completed ones, so that the rule works while all run at once; fewer than `min_peers` of them:
no decision. A peer's average is over its finite values; a peer without any ranks last, and so does the trial itself.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Collection, Sequence

from ..spec import Objective
from .curves import Curves
from .port import Promotion, Verdict
from .ranking import shown


class PercentileRule:
    """Stops what is outside the best `keep_percent` (in (0, 100]) of its peers."""

    def __init__(
        self, objective: Objective, *, keep_percent: float, min_peers: int, warmup_epochs: int, interval_epochs: int
    ) -> None:
        self._objective = objective
        self._keep_percent = keep_percent
        self._min_peers = min_peers
        self._warmup_epochs = warmup_epochs
        self._interval_epochs = interval_epochs
        self._curves = Curves()
        self._averages: dict[int, _RunningAverage] = {}
        self._last_interval: dict[int, int] = {}
        self._is_due: dict[int, bool] = {}

    def observe(self, number: int, step: int, value: float | None) -> None:
        if not self._curves.add(number, step, value):
            return
        self._is_due[number] = False
        if value is None:
            return
        average = self._averages.setdefault(number, _RunningAverage())
        average.add(step, self._objective.loss(value))
        interval = (step - self._warmup_epochs - 1) // self._interval_epochs
        self._is_due[number] = step > self._warmup_epochs and interval > self._last_interval.get(number, -1)
        self._last_interval[number] = interval

    def verdict(self, number: int, *, can_pause: bool) -> Verdict:
        last = self._curves.last(number)
        if last is None:
            return Verdict(action="continue", reason="no report yet")
        step, value = last
        if value is None:
            return Verdict(action="continue", reason=f"epoch {step}: {self._objective.metric} is missing, no decision")
        if not self._is_due[number]:
            return Verdict(action="continue", reason=f"epoch {step}: nothing is compared at it")
        peers = sorted(
            average.until(step) for peer, average in self._averages.items() if peer != number and average.reaches(step)
        )
        if len(peers) < self._min_peers:
            few = f"epoch {step}: {len(peers)} peers, needs {self._min_peers} for a decision"
            return Verdict(action="continue", reason=few)
        cutoff = quantile(peers, self._keep_percent / 100)
        best = self._averages[number].best
        is_worse = best > cutoff
        mark = "median" if self._keep_percent == 50 else f"{self._keep_percent:g} % mark"
        sign = self._objective.loss(1.0)
        relation = "is worse than" if is_worse else "is no worse than"
        own = shown(sign * best) if math.isfinite(best) else "no finite value"
        reason = f"epoch {step}: best so far {own} {relation} {shown(sign * cutoff)}, the {mark} of {len(peers)} peers"
        return Verdict(action="stop" if is_worse else "continue", reason=reason)

    def promotions(self, paused: Collection[int], *, closing: bool = False) -> list[Promotion]:
        return []

    def farewell(self, number: int) -> str:
        return "the study ended while it was paused"


class _RunningAverage:
    """Running averages of a trial's finite losses by step, and the best of them."""

    def __init__(self) -> None:
        self.best = math.inf
        self._steps: list[int] = []
        self._averages: list[float] = []
        self._sum = 0.0
        self._count = 0

    def add(self, step: int, loss: float) -> None:
        if math.isfinite(loss):
            self._sum += loss
            self._count += 1
            self.best = min(self.best, loss)
        self._steps.append(step)
        self._averages.append(self._sum / self._count if self._count else math.inf)

    def reaches(self, step: int) -> bool:
        return self._steps[-1] >= step

    def until(self, step: int) -> float:
        """The average over the reports up to `step`; infinite before the first finite one."""
        place = bisect_right(self._steps, step)
        return self._averages[place - 1] if place else math.inf


def quantile(ordered: Sequence[float], q: float) -> float:
    """The q-quantile of ascending numbers, linearly interpolated; infinities at the end are allowed.

    >>> quantile([1.0, 2.0, 3.0], 0.5), quantile([1.0, 2.0], 0.5)
    (2.0, 1.5)
    """
    place = q * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    if place == low or ordered[low] == ordered[high]:
        return ordered[low]
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])
