"""Made-up trials for a study that has not run yet.

Nobody knows a study's learning curves before it has run, but how much ranks change on the way up is much the same
everywhere, and the schedule depends on nothing else. So a trial gets a normal score that drifts with the logarithm of
its epochs: an Ornstein-Uhlenbeck process whose correlation between epochs e and 3e is `usefulness.CORRELATION`,
as measured on real curves. Its value is a common falling curve times exp(`SPREAD` x score).
"""

from __future__ import annotations

import math
from random import Random

from ..usefulness import CORRELATION

SPREAD = 0.3
EPOCH_SIGMA = 0.5
"""Standard deviation of the logarithm of epoch times where nothing is known of them: one in twenty takes 2.3
times the median, as sizes and batch sizes of a usual search space bring about."""

SERIAL_FRACTION = 0.05
"""Amdahl's serial fraction where nothing is known of the speed-ups, as the policy's own prior."""


def curve(random: Random, epochs: int) -> tuple[float, ...]:
    """A learning curve of `epochs` values, lower is better."""
    score = random.gauss(0.0, 1.0)
    values = []
    for epoch in range(1, epochs + 1):
        if epoch > 1:
            kept = CORRELATION ** math.log(epoch / (epoch - 1), 3)
            score = kept * score + math.sqrt(1 - kept * kept) * random.gauss(0.0, 1.0)
        values.append((0.1 + 0.9 / math.sqrt(epoch)) * math.exp(SPREAD * score))
    return tuple(values)


def epoch_s(random: Random, mean_s: float) -> float:
    """Seconds of an epoch on one worker, lognormal."""
    return mean_s * math.exp(random.gauss(0.0, EPOCH_SIGMA) - EPOCH_SIGMA**2 / 2)


def speedups(k_max: int, serial: float = SERIAL_FRACTION) -> tuple[float, ...]:
    """Speed-ups of 1, 2, 4, ..., `k_max` workers by Amdahl's law.

    >>> [round(s, 2) for s in speedups(4)]
    [1.0, 1.9, 3.48]
    """
    return tuple(1.0 / (serial + (1.0 - serial) / (1 << i)) for i in range(k_max.bit_length()))
