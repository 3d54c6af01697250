"""Weighted max-min shares of the pool, in whole devices.

Water-filling (Bertsekas and Gallager, Data Networks, section 6.5.2) raises all studies together in proportion to
their weights; who has all it can use drops out. Whole devices go one after the other to the study with the least
(share + 1) / weight (D'Hondt's highest averages), which is the integer form of the same rule.

Deviation from the design: not largest remainders. Those lower a study's share when the pool grows (the Alabama
paradox), and a share must never fall because a device came or the study's own weight rose.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heapreplace


def max_min_shares(
    capacity: int,
    weights: Sequence[float],
    demands: Sequence[int],
    floors: Sequence[int] = (),
    *,
    efficient: Sequence[int] = (),
    protected: float = 1.0,
) -> list[int]:
    """Share `capacity` devices among studies; nobody gets more than its demand.

    Args:
        capacity: devices to share, at least 0.
        weights: one positive number a study.
        demands: the most each study can use, in devices.
        floors: what each study gets first; together at most `capacity`, each at most its demand. None without any.
        efficient: beyond so many devices a study's weight is only `protected` of itself. As its demand without any.
        protected: in (0, 1].

    >>> max_min_shares(10, [1.0, 1.0, 2.0], [2, 9, 9])
    [2, 3, 5]
    >>> max_min_shares(10, [1.0, 1.0], [3, 4])
    [3, 4]
    >>> max_min_shares(5, [3.0, 1.0, 1.0, 1.0], [3, 5, 5, 5], [1, 1, 1, 1])
    [2, 1, 1, 1]
    >>> max_min_shares(9, [1.0, 1.0], [9, 9], efficient=[2, 9], protected=0.5)
    [3, 6]
    """
    capacity = max(0, min(capacity, sum(demands)))
    least = floors or [0] * len(demands)
    studies = [
        _Study(weight, min(e, demand), demand, protected * weight)
        for weight, demand, e in zip(weights, demands, efficient or demands, strict=True)
    ]
    level = _water_level(capacity - sum(least), studies)
    # What the level gives in whole devices, less one for float error, is below every study's final share.
    shares = [max(f, int(study.at(level)) - 1) for study, f in zip(studies, least, strict=True)]
    left = capacity - sum(shares)
    line = [(studies[i].key(s), i) for i, s in enumerate(shares) if s < demands[i]]
    heapify(line)
    while left > 0 and line:
        _, i = line[0]
        shares[i] += 1
        left -= 1
        if shares[i] < demands[i]:
            heapreplace(line, (studies[i].key(shares[i]), i))
        else:
            heappop(line)
    return shares


@dataclass(frozen=True, slots=True)
class _Study:
    """Fills at `weight` up to `efficient` devices, then at `reduced` up to `demand`."""

    weight: float
    efficient: int
    demand: int
    reduced: float

    def key(self, share: int) -> float:
        """The water level at which it gets one device more than `share`."""
        return (share + 1) / (self.weight if share < self.efficient else self.reduced)

    def at(self, level: float) -> float:
        """What it gets at this water level, were devices divisible."""
        return min(self.demand, max(min(self.efficient, level * self.weight), level * self.reduced))

    def slopes(self) -> Iterator[tuple[float, float]]:
        """(level, change of the rate at which it fills), in order of the levels."""
        yield 0.0, self.weight
        yield self.efficient / self.weight, -self.weight
        if self.demand > self.efficient:
            yield self.efficient / self.reduced, self.reduced
            yield self.demand / self.reduced, -self.reduced


def _water_level(capacity: int, studies: Sequence[_Study]) -> float:
    """The level at which the studies together have `capacity` devices."""
    filled = level = rate = 0.0
    for next_level, change in sorted(turn for study in studies for turn in study.slopes()):
        more = rate * (next_level - level)
        if filled + more >= capacity and rate > 0:
            return level + (capacity - filled) / rate
        filled, level, rate = filled + more, next_level, rate + change
    return level
