"""A smooth trend over a space: what a forest's steps are slow to find out.

Ridge regression (Hoerl and Kennard 1970) on the columns of the forest and the squares of its numbers; how much it is
shrunk is what predicts each trial best from all the others, in closed form.
"""

from __future__ import annotations

import numpy as np

from .cube import UnitCube

SHRINKAGES = np.geomspace(0.1, 1000.0, 9)
"""From hardly any for standardised columns to nearly nothing left."""


class Trend:
    """Several targets at once.

    Args:
        cube: of the space.
        rows: of the trials.
        targets: shape (trials, targets), finite.
    """

    def __init__(self, cube: UnitCube, rows: np.ndarray, targets: np.ndarray) -> None:
        self._cube = cube
        columns = self._columns(rows)
        self._middle, spread = columns.mean(axis=0), columns.std(axis=0)
        self._spread = np.where(spread > 0, spread, 1.0)
        self._level = targets.mean(axis=0)
        left, singular, right = np.linalg.svd((columns - self._middle) / self._spread, full_matrices=False)
        projected = left.T @ (targets - self._level)
        errors = [_left_out_error(left, singular, projected, targets - self._level, one) for one in SHRINKAGES]
        shrinkage = SHRINKAGES[int(np.argmin(errors))]
        self._weights = right.T @ ((singular / (singular**2 + shrinkage))[:, None] * projected)

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """Its values at rows; shape (rows, targets)."""
        return np.asarray((self._columns(rows) - self._middle) / self._spread @ self._weights + self._level)

    def _columns(self, rows: np.ndarray) -> np.ndarray:
        bent = self._cube.active(rows)[:, self._cube.is_numeric] * (rows[:, self._cube.is_numeric] - 0.5) ** 2
        return np.hstack([self._cube.forest_features(rows), bent])


def _left_out_error(
    left: np.ndarray, singular: np.ndarray, projected: np.ndarray, targets: np.ndarray, shrinkage: float
) -> float:
    """Mean squared error of every trial's prediction from all the others."""
    kept = singular**2 / (singular**2 + shrinkage)
    fitted = left @ (kept[:, None] * projected)
    leverage = np.sum(left**2 * kept, axis=1) + 1.0 / len(left)  # the level is fitted, too
    return float(np.mean(((targets - fitted) / np.maximum(1.0 - leverage, 1e-9)[:, None]) ** 2))
