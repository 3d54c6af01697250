"""How fast the device models of a pool are for one study, beside one another.

Every model starts from what its node says (`NodeUp.speed`) and moves towards what the study measures there. Epoch times
of trials that ran on different models are compared by their geometric means: each is divided by what was known of
the trial beforehand, if anything was, and brought to one worker. The model with the most epochs is the yardstick.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

PRIOR_WEIGHT = 8.0
"""The prior counts as much as this many epochs. Epoch times of different trials differ by a factor of two or so;
the mean of eight of them is good to a quarter."""


class DeviceSpeeds:
    """Speeds of device models.

    Args:
        prior: what nodes say of their models; may grow later. 1.0 for a model that nobody said anything about.
    """

    def __init__(self, prior: Mapping[str, float]) -> None:
        self._prior = prior
        self._log_sums: dict[str, float] = {}
        self._counts: dict[str, int] = {}

    def observe(self, model: str, ratio: float) -> None:
        """An epoch on this model took `ratio` times what it was thought to take on one worker of a model of speed 1."""
        if ratio > 0:
            self._log_sums[model] = self._log_sums.get(model, 0.0) + math.log(ratio)
            self._counts[model] = self._counts.get(model, 0) + 1

    def value(self, model: str) -> float:
        """How many times as fast as a model of speed 1.

        >>> speeds = DeviceSpeeds({})
        >>> for _ in range(100):
        ...     speeds.observe("a100", 1.0)
        ...     speeds.observe("t4", 4.0)
        >>> 0.2 < speeds.value("t4") < 0.32
        True
        """
        prior = self._prior.get(model, 1.0)
        if len(self._counts) < 2 or model not in self._counts:
            return prior
        yardstick = max(self._counts, key=lambda name: self._counts[name])
        if model == yardstick:
            return prior
        mean = self._log_sums[model] / self._counts[model]
        theirs = self._log_sums[yardstick] / self._counts[yardstick]
        seen = min(self._counts[model], self._counts[yardstick])
        measured = theirs - mean + math.log(self._prior.get(yardstick, 1.0))
        return math.exp((PRIOR_WEIGHT * math.log(prior) + seen * measured) / (PRIOR_WEIGHT + seen))
