"""Weighted max-min shares of the pool, in whole devices.

Water-filling (Bertsekas and Gallager, Data Networks, section 6.5.2) raises all studies together in proportion to
their weights; who has all it can use drops out. Whole devices go one after the other to the study with the least
(share + 1) / weight (D'Hondt's highest averages), which is the integer form of the same rule.

Deviation from the design: not largest remainders. Those lower a study's share when the pool grows (the Alabama
paradox), and a share must never fall because a device came or the study's own weight rose.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heapreplace


def max_min_shares(
    capacity: int, weights: Sequence[float], demands: Sequence[int], floors: Sequence[int] = ()
) -> list[int]:
    """Share `capacity` devices among studies; nobody gets more than its demand.

    Args:
        capacity: devices to share, at least 0.
        weights: one positive number a study.
        demands: the most each study can use, in devices.
        floors: what each study gets first; together at most `capacity`, each at most its demand. None without any.

    >>> max_min_shares(10, [1.0, 1.0, 2.0], [2, 9, 9])
    [2, 3, 5]
    >>> max_min_shares(10, [1.0, 1.0], [3, 4])
    [3, 4]
    >>> max_min_shares(5, [3.0, 1.0, 1.0, 1.0], [3, 5, 5, 5], [1, 1, 1, 1])
    [2, 1, 1, 1]
    """
    capacity = max(0, min(capacity, sum(demands)))
    least = floors or [0] * len(demands)
    level = _water_level(capacity - sum(least), weights, demands)
    # What the level gives in whole devices, less one for float error, is below every study's final share.
    shares = [min(d, max(f, int(level * w) - 1)) for w, d, f in zip(weights, demands, least, strict=True)]
    left = capacity - sum(shares)
    line = [((s + 1) / weights[i], i) for i, s in enumerate(shares) if s < demands[i]]
    heapify(line)
    while left > 0 and line:
        _, i = line[0]
        shares[i] += 1
        left -= 1
        if shares[i] < demands[i]:
            heapreplace(line, ((shares[i] + 1) / weights[i], i))
        else:
            heappop(line)
    return shares


def _water_level(capacity: int, weights: Sequence[float], demands: Sequence[int]) -> float:
    """The level at which min(demand, level x weight) sums up to `capacity`."""
    order = sorted(range(len(weights)), key=lambda i: demands[i] / weights[i])
    left, weight = float(capacity), float(sum(weights))
    level = 0.0
    for i in order:
        level = left / weight if weight > 1e-12 else level
        if demands[i] >= level * weights[i]:
            return level
        left -= demands[i]
        weight -= weights[i]
    return level
