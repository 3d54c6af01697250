"""The stopping form of asynchronous halving, as Ray Tune's AsyncHyperBandScheduler does it (Li et al. 2020)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .workload import Judge, SimulatedStudy


def asynchronous_halving(study: SimulatedStudy) -> Judge:
    """At each milestone below the last a trial ends unless it is in the best 1/eta of those that were there so far."""
    results: dict[int, list[float]] = {milestone: [] for milestone in study.milestones[:-1]}

    def goes_on(number: int, epoch: int, value: float) -> bool:
        if epoch not in results:
            return True
        results[epoch].append(value)
        return value <= _percentile(results[epoch], 1.0 / study.eta)

    return goes_on


def _percentile(values: Sequence[float], part: float) -> float:
    """Linear interpolation between order statistics, as numpy's default."""
    ordered = sorted(values)
    position = part * (len(ordered) - 1)
    low = math.floor(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (position - low) * (ordered[high] - ordered[low])
