"""A forest that learns several objectives one by one, and sees them from a direction afterwards.

What is seen from a direction has a kink where the leading objective changes, and another one for every trial. The
objectives themselves are smoother and stay the same, so each is a trend (`trend.py`) and a forest of what that leaves
over. Every tree is a guess at all of them, hence one at what is seen from the direction: mean and deviation are those
of the guesses.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .cube import UnitCube
from .directions import Direction
from .trend import Trend


class EachForest:
    """Extremely randomised trees with a target for every objective.

    Args:
        cube: of the space.
        n_trees: how many.
        floor: least standard deviation of a prediction, in units of the spread of the losses in the direction.
    """

    def __init__(self, cube: UnitCube, n_trees: int, floor: float) -> None:
        self._cube = cube
        self._n_trees = n_trees
        self._floor = floor

    def fit(
        self, rows: np.ndarray, table: np.ndarray, direction: Direction, rng: np.random.Generator
    ) -> DirectedBelief:
        """A belief from scratch: equal calls give equal beliefs.

        Args:
            rows: of the trials.
            table: losses, each objective on a scale of [0, 1]; shape (trials, objectives), finite.
            direction: where improvements are sought.
            rng: of the trees.
        """
        from sklearn.ensemble import ExtraTreesRegressor

        trend = Trend(self._cube, rows, table)
        forest = ExtraTreesRegressor(
            n_estimators=self._n_trees, min_samples_split=3, random_state=int(rng.integers(2**31))
        )
        forest.fit(self._cube.forest_features(rows), table - trend(rows))
        return DirectedBelief(self._cube, trend, forest, rows, table, direction, self._floor)

    def extended(self, belief: DirectedBelief, rows: np.ndarray, rng: np.random.Generator) -> DirectedBelief:
        """A belief that has also seen further rows, which came out as expected."""
        table = np.vstack([belief.table, belief.expected(rows)])
        return self.fit(np.vstack([belief.rows, rows]), table, belief.direction, rng)


class DirectedBelief:
    """A fitted forest, the trials that it has seen, and the direction that it is asked about.

    Attributes:
        best: the lowest expected loss of those trials.
    """

    def __init__(
        self,
        cube: UnitCube,
        trend: Trend,
        forest: Any,
        rows: np.ndarray,
        table: np.ndarray,
        direction: Direction,
        floor: float,
    ) -> None:
        self.rows, self.table, self.direction = rows, table, direction
        self._cube = cube
        self._trend = trend
        self._trees = [tree.tree_ for tree in forest.estimators_]
        self._floor = floor
        self._spread = float(direction.losses(table).std()) or 1.0
        self.best = float(self.mean(rows).min())

    def expected(self, rows: np.ndarray) -> np.ndarray:
        """Expected losses of the objectives; shape (rows, objectives)."""
        return np.asarray(self._guesses(rows).mean(axis=0))

    def mean(self, rows: np.ndarray) -> np.ndarray:
        """Expected losses in the direction, in units of their spread."""
        return self.moments(rows)[0]

    def moments(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Means and standard deviations of the losses in the direction, in units of their spread."""
        guesses = self.direction.losses(self._guesses(rows)) / self._spread
        return guesses.mean(axis=0), np.sqrt(guesses.var(axis=0) + self._floor**2)

    def _guesses(self, rows: np.ndarray) -> np.ndarray:
        """Shape (trees, rows, objectives)."""
        features = self._cube.forest_features(rows).astype(np.float32)
        shape = (len(rows), self.table.shape[1])
        steps = np.array([tree.predict(features).reshape(shape) for tree in self._trees])
        return np.asarray(steps + self._trend(rows))
