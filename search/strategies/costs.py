"""Expected improvement per second: what a trial will cost, learned from what trials have cost.

Sources: Snoek, Larochelle and Adams 2012, section 3.2 (expected improvement per second, a model of the logarithm of
the duration); Lee et al. 2020, "Cost-aware Bayesian Optimization", section 3 (the exponent of the cost falls from 1 to
0, so that cheap places are explored first and cost stops to count near the end). Deviations: the exponent falls with
the number of results instead of the money spent, since a budget is trials; costs below those of the cheapest tenth of
the trials count as that, because dividing by them would buy nothing but tiny networks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...spaces import Configuration
from .port import Result

if TYPE_CHECKING:
    from .model_based import Model

FLOOR_QUANTILE = 0.1
"""Trials cheaper than this share of the trials so far gain nothing more by it."""
LEAST = 4
"""Known costs before a model of them."""

LogCost = Callable[[np.ndarray], np.ndarray]


class Costs:
    """What trials have cost.

    Args:
        horizon: the number of results at which cost no longer counts.
    """

    def __init__(self, horizon: int) -> None:
        self._horizon = horizon
        self._results: dict[int, Result] = {}

    def tell(self, results: Sequence[Result]) -> None:
        for result in results:
            if result.state in ("completed", "stopped") and result.config is not None and result.cost_s > 0:
                self._results[result.number] = result

    def known(self) -> list[tuple[Configuration, float]]:
        """(configuration, log seconds) by number: of an epoch where trials report epochs, for those that were stopped
        tell as much of it as the others; else of a completed trial."""
        results = [self._results[number] for number in sorted(self._results)]
        by_epoch = bool(results) and all(result.curve for result in results)
        pairs = []
        for result in results:
            assert result.config is not None
            if by_epoch:
                pairs.append((result.config, math.log(result.cost_s / result.curve[-1][0])))
            elif result.state == "completed":
                pairs.append((result.config, math.log(result.cost_s)))
        return pairs

    def exponent(self, known: int) -> float:
        """By which power of the cost an improvement is divided after `known` results: from 1 down to 0."""
        return max(0.0, 1.0 - known / self._horizon)

    def penalty(
        self, model: Model, row: Callable[[Configuration], np.ndarray], known: int, rng: np.random.Generator
    ) -> LogCost | None:
        """Of rows, exponent times the logarithm of the expected cost; None while or once cost does not count.

        Args:
            model: learns the logarithms.
            row: the row of a configuration.
            known: how many results there are.
        """
        exponent, pairs = self.exponent(known), self.known()
        if exponent == 0.0 or len(pairs) < LEAST:
            return None
        logs = np.array([cost for _, cost in pairs])
        spread = float(logs.std())
        if spread == 0.0:
            return None
        centre = float(logs.mean())
        floor = float(np.quantile(logs, FLOOR_QUANTILE))
        belief = model.fit(np.array([row(config) for config, _ in pairs]), (logs - centre) / spread, rng)
        return lambda rows: exponent * np.maximum(centre + spread * belief.mean(rows), floor)
