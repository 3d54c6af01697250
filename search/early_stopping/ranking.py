"""How values are ranked: finite ones by the objective, then infinite ones, then NaN; ties by trial number."""

from __future__ import annotations

import math

from ..spec import Objective

Rank = tuple[int, float]


def rank(objective: Objective, value: float) -> Rank:
    """A sort key, smaller is better. Infinities of either sign are bad: no training reports one on purpose.

    >>> up = Objective(metric="accuracy", direction="maximize")
    >>> sorted([0.5, float("nan"), 0.9, float("inf")], key=lambda value: rank(up, value))
    [0.9, 0.5, inf, nan]
    """
    if math.isfinite(value):
        return (0, objective.loss(value))
    return (2, 0.0) if math.isnan(value) else (1, 0.0)


def shown(value: float) -> str:
    """A value in a reason: four significant digits."""
    return f"{value:.4g}"
