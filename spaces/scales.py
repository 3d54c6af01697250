"""Two maps between [0, 1] and a range: equal bins of integers, and a continuous (log, prior) scale."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Sequence
from statistics import NormalDist
from typing import Literal

import numpy as np

Strength = Literal["low", "medium", "high"]

PRIOR_SPREADS: dict[str, float] = {"low": 0.4, "medium": 0.2, "high": 0.1}
"""Standard deviation of a prior on the scaled unit interval, by how strong the belief is. Medium: two thirds of the
draws fall in the 40 % of the (log) range around it. The ends stay reachable with each."""

PRIOR_SHARES: dict[str, float] = {"low": 0.25, "medium": 0.5, "high": 0.75}
"""Of unordered values: the share of draws that a belief takes from all and gives to the one that is believed in."""

_EXACT_FLOAT = 2**53
_FAST_DRAW = 2**32  # below it, the bias of scaling a 53-bit uniform number is under 2**-21


class Bins:
    """`count` equal bins of [0, 1]; exact at any size."""

    __slots__ = ("count",)

    def __init__(self, count: int) -> None:
        self.count = count

    def index(self, u: float) -> int:
        """The bin of `u`. Above 2**53 bins it reaches every 2**-53-th of the range: `draw` reaches all."""
        if self.count <= _EXACT_FLOAT:
            index = int(u * self.count)
            return index if index < self.count else self.count - 1
        numerator, denominator = u.as_integer_ratio()
        return min(numerator * self.count // denominator, self.count - 1)

    def unit(self, index: int) -> float:
        """The middle of a bin."""
        return (2 * index + 1) / (2 * self.count)

    def draw(self, rng: np.random.Generator) -> int:
        """A uniform bin, exact at any size (rejection on whole random bytes)."""
        if self.count <= _FAST_DRAW:
            return self.index(rng.random())
        bits = self.count.bit_length()
        size_bytes = (bits + 7) // 8
        while True:
            index = int.from_bytes(rng.bytes(size_bytes), "little") >> (8 * size_bytes - bits)
            if index < self.count:
                return index


class SharedOut:
    """Bins of [0, 1] of unequal width: `shares` of 1."""

    __slots__ = ("_edges", "count")

    def __init__(self, shares: Sequence[float]) -> None:
        self.count = len(shares)
        self._edges = [0.0, *itertools.accumulate(shares)]

    def index(self, u: float) -> int:
        """The bin of `u`."""
        return min(bisect_right(self._edges, u) - 1, self.count - 1)

    def unit(self, index: int) -> float:
        """The middle of a bin."""
        return (self._edges[index] + self._edges[index + 1]) / 2

    def share(self, index: int) -> float:
        """The width of a bin."""
        return self._edges[index + 1] - self._edges[index]


class Scale:
    """A continuous range seen as [0, 1]: linear or logarithmic, perhaps bent towards a prior.

    Args:
        low: lower end; > 0 with `log`.
        high: upper end, >= low.
        log: uniform in the logarithm.
        prior: a value believed good: `u` is then the distribution function of a normal around it, cut at the ends.
        strength: of that belief: how narrow the normal is (`PRIOR_SPREADS`).
    """

    __slots__ = ("_log_low", "_log_span", "_prior", "_prior_low", "_prior_span", "high", "log", "low")

    def __init__(
        self, low: float, high: float, *, log: bool, prior: float | None, strength: Strength = "medium"
    ) -> None:
        self.low, self.high, self.log = low, high, log
        self._log_low = math.log(low) if log else 0.0
        self._log_span = math.log(high) - self._log_low if log else 0.0
        self._prior: NormalDist | None = None
        if prior is not None and low < high:
            self._prior = NormalDist(self._place(prior), PRIOR_SPREADS[strength])
            self._prior_low = self._prior.cdf(0.0)
            self._prior_span = self._prior.cdf(1.0) - self._prior_low

    def value(self, u: float) -> float:
        """The number at `u`, never outside [low, high]."""
        if self._prior is not None:
            u = self._prior.inv_cdf(min(max(self._prior_low + u * self._prior_span, 1e-300), 1 - 2**-53))
        value = math.exp(self._log_low + u * self._log_span) if self.log else self.low * (1.0 - u) + self.high * u
        return self.low if value < self.low else self.high if value > self.high else value

    def unit(self, value: float) -> float:
        """The place of a number in [0, 1]; 0.5 when the range is a single point."""
        if self.low == self.high:
            return 0.5
        place = self._place(value)
        if self._prior is None:
            return place
        return min(max((self._prior.cdf(place) - self._prior_low) / self._prior_span, 0.0), 1.0)

    def log_prior(self, places: np.ndarray) -> np.ndarray:
        """The logarithm of the prior's density at places of the unbent range in [0, 1], 0 at its peak."""
        if self._prior is None:
            return np.zeros_like(places)
        return np.asarray(-0.5 * ((places - self._prior.mean) / self._prior.stdev) ** 2)

    def _place(self, value: float) -> float:
        if self.log:
            place = (math.log(value) - self._log_low) / self._log_span
        else:
            # halves first, so that a range wider than the largest float does not overflow
            place = (value / 2 - self.low / 2) / (self.high / 2 - self.low / 2)
        return min(max(place, 0.0), 1.0)
