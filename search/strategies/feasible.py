"""How probable it is that a trial keeps the outcome constraints.

Source: Gardner et al. 2014, "Bayesian Optimization with Inequality Constraints", sections 3.2 and 3.3: every constraint
has a model of its own, expected improvement counts from the best trial that keeps them all, and is multiplied by the
probability of keeping them. Before any trial keeps them, the probability alone is sought. Deviations: the best is the
lowest *expected* loss among trials that were seen to keep the constraints; pending trials change no constraint's model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .improvement import log_probability_below

if TYPE_CHECKING:
    from .model_based import Belief, Model

CLIP = 3.0
"""Distances beyond so many of their root mean squares are cut: only the neighbourhood of the bound matters."""


class Feasibility:
    """Beliefs about the distances to the bounds, one a constraint, each in units of its spread; 0 is the bound."""

    def __init__(self, beliefs: Sequence[Belief], keeps: np.ndarray) -> None:
        self._beliefs = beliefs
        self._keeps = keeps

    @classmethod
    def learned(
        cls, model: Model, rows: np.ndarray, distances: np.ndarray, rng: np.random.Generator
    ) -> Feasibility | None:
        """What trials have taught about the constraints; None where there are none.

        Args:
            model: builds the beliefs.
            rows: of the trials.
            distances: shape (trials, constraints), positive outside, NaN where unknown.
        """
        if not distances.shape[1]:
            return None
        beliefs = []
        for column in distances.T:
            known = ~np.isnan(column)
            if known.sum() >= 2:
                spread = float(np.sqrt(np.mean(column[known] ** 2))) or 1.0
                beliefs.append(model.fit(rows[known], np.clip(column[known] / spread, -CLIP, CLIP), rng))
        return cls(beliefs, np.all(distances <= 0, axis=1))

    def best(self, belief: Belief, rows: np.ndarray) -> float | None:
        """The lowest expected loss of the trials that keep the constraints; None when none does."""
        return float(belief.mean(rows[self._keeps]).min()) if self._keeps.any() else None

    def log_probability(self, rows: np.ndarray) -> np.ndarray:
        """log P(all constraints are kept)."""
        total = np.zeros(len(rows))
        for belief in self._beliefs:
            total += log_probability_below(*belief.moments(rows), 0.0)
        return total
