"""What curves that have been cut short would come to: a loss for every trial at the longest training seen.

Model-based strategies learn from trials that a rule has paused, or that are still running, through these forecasts, and
freeze-thaw decides by them who goes on.

The forecast of a trial is its last loss plus what happened to the trials that went further, from the same step on: a
mean weighted by how alike the curves have been so far (Nadaraya and Watson's kernel regression, 1964). So it assumes no
shape of a curve, as parametric families do (Domhan et al. 2015), and works from the first trial that has gone on.
Trials are taken from the longest to the shortest, so that the forecasts of longer ones serve for shorter ones. A near
copy of a trial that went on and came to nothing is expected to come to nothing as well.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

Curve = Sequence[tuple[int, float]]
"""(step, loss), steps ascending; smaller is better."""

WIDTH = 0.25
"""Width of the kernel, in units of the spread of losses at a step: within it curves count as alike."""
ANYBODY = 0.02
"""Least weight of a trial, against that of a copy: without likes, the mean of all is the forecast."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """Expected loss at the end, and the standard deviation of what is not known."""

    mean: float
    deviation: float


def forecasts(curves: Mapping[int, Curve]) -> dict[int, Forecast]:
    """The forecast of every trial that has reported, by number; mean infinity where the last loss is not finite.

    >>> forecasts({0: [(1, 8.0), (3, 6.0)], 1: [(1, 7.0)]})[1].mean
    5.0
    """
    numbers = [number for number, curve in curves.items() if curve]
    broken = {number for number in numbers if not math.isfinite(curves[number][-1][1])}
    whole = [number for number in numbers if number not in broken]
    found = {number: Forecast(math.inf, 0.0) for number in broken}
    if not whole:
        return found
    table = _Table([[point for point in curves[number] if math.isfinite(point[1])] for number in whole])
    means, deviations = table.ends()
    found.update((n, Forecast(float(m), float(d))) for n, m, d in zip(whole, means, deviations, strict=True))
    return found


class _Table:
    """Curves as rows of a table over all steps; a curve keeps its value until its next report."""

    def __init__(self, curves: Sequence[Curve]) -> None:
        self.steps = np.array(sorted({step for curve in curves for step, _ in curve}))
        self.values = np.full((len(curves), len(self.steps)), np.nan)
        self.last = np.empty(len(curves), dtype=int)
        for row, curve in enumerate(curves):
            places = np.searchsorted(self.steps, [step for step, _ in curve])
            self.values[row, places] = [value for _, value in curve]
            self.last[row] = places[-1]
            known = np.where(np.isnan(self.values[row]), -1, np.arange(len(self.steps)))
            held = np.maximum.accumulate(known)
            self.values[row] = np.where(held >= 0, self.values[row, np.maximum(held, 0)], np.nan)

    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Means and deviations at the last step, by row."""
        means = self.values[np.arange(len(self.last)), self.last]
        deviations = np.zeros(len(self.last))
        for place in sorted(set(self.last.tolist()), reverse=True)[1:]:
            here = np.flatnonzero(self.last == place)
            ahead = np.flatnonzero((self.last > place) & ~np.isnan(self.values[:, place]))
            spread = self._spread(place)
            if not len(ahead):
                deviations[here] = spread
                continue
            weights = self._likeness(here, ahead, place)
            total = weights.sum(axis=1)
            changes = means[ahead] - self.values[ahead, place]
            change = weights @ changes / total
            second = weights @ (changes**2 + deviations[ahead] ** 2) / total
            means[here] = self.values[here, place] + change
            unknown = spread**2 / (1.0 + total)
            deviations[here] = np.sqrt(np.maximum(second - change**2, 0.0) + unknown)
        return means, deviations

    def _likeness(self, here: np.ndarray, ahead: np.ndarray, place: int) -> np.ndarray:
        """How alike the curves have been up to a step: 1 for copies. Shape (here, ahead)."""
        gaps = np.zeros((len(here), len(ahead)))
        looked_at = sorted({place, place // 2, 0})
        for one in looked_at:
            difference = (self.values[here, one, None] - self.values[None, ahead, one]) / (WIDTH * self._spread(one))
            gaps += np.where(np.isnan(difference), 0.0, difference) ** 2
        return np.asarray(ANYBODY + (1.0 - ANYBODY) * np.exp(-0.5 * gaps / len(looked_at)))

    def _spread(self, place: int) -> float:
        """The spread of losses at a step, of its better half: how bad the bad ones are says nothing."""
        reported = (self.last >= place) & ~np.isnan(self.values[:, place])
        values = np.sort(self.values[reported, place])
        half = values[: len(values) // 2 + 1]
        return float(half[-1] - half[0]) or float(values[-1] - values[0]) or 1.0
