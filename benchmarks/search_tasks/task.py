"""What a task is, and how a run on it is scored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from shoal.spaces import Configuration, Space


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A loss to minimise.

    `noisy(config, rng)` is what a training would report, `true(config)` the loss without noise. `best` is the lowest
    known true loss, `median` that of random configurations.
    """

    name: str
    space: Space
    noisy: Callable[[Configuration, np.random.Generator], float]
    true: Callable[[Configuration], float]
    best: float
    median: float

    def regret(self, loss: float) -> float:
        """0 at the best known loss, 1 at the median of random configurations."""
        return max(0.0, loss - self.best) / (self.median - self.best)
