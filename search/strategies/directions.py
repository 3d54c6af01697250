"""Several objectives seen from one direction: the augmented Tchebycheff norm of ParEGO (Knowles 2006, section III)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

TCHEBYCHEFF_SUM = 0.05
"""Weight of the sum beside the maximum, as in ParEGO."""

CAP = 3.0
"""Losses further above the median than so many times its distance from the best are cut there."""


@dataclass(frozen=True, slots=True)
class Direction:
    """Weights of the objectives, which sum up to 1."""

    weights: np.ndarray

    @classmethod
    def drawn(cls, rng: np.random.Generator, objectives: int) -> Direction:
        """A direction uniform among all."""
        return cls(rng.dirichlet(np.ones(objectives)))

    def losses(self, scaled: np.ndarray) -> np.ndarray:
        """How far each point is behind in this direction.

        Args:
            scaled: losses, each objective on a scale of [0, 1]; shape (..., objectives).

        Returns:
            Shape (...).
        """
        weighted = scaled * self.weights
        return np.asarray(weighted.max(axis=-1) + TCHEBYCHEFF_SUM * weighted.sum(axis=-1))


def half_ranked(table: np.ndarray) -> np.ndarray:
    """Losses on a scale of [0, 1], half by value, half by rank; NaN stays. Shape (trials, objectives).

    By value alone one exploded loss presses all others of its objective together; the forest's target for one
    objective is scaled in the same two halves.
    """
    from scipy.stats import rankdata

    scaled = _unit(table)
    ranks = rankdata(table, axis=0, nan_policy="omit") - 1.0
    return np.asarray(0.5 * (scaled + ranks / np.maximum(np.nanmax(ranks, axis=0), 1.0)))


def capped(table: np.ndarray) -> np.ndarray:
    """Losses on a scale of [0, 1] by value, what is far above the others cut; NaN stays. Shape (trials, objectives).

    >>> capped(np.array([[0.0], [1.0], [2.0], [1e9]]))[:, 0].round(3).tolist()
    [0.0, 0.167, 0.333, 1.0]
    """
    low, median = np.nanmin(table, axis=0), np.nanmedian(table, axis=0)
    return _unit(np.minimum(table, median + CAP * np.where(median > low, median - low, np.inf)))


def _unit(table: np.ndarray) -> np.ndarray:
    low, high = np.nanmin(table, axis=0), np.nanmax(table, axis=0)
    return np.asarray((table - low) / np.where(high > low, high - low, 1.0))
