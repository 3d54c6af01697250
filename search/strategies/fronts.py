"""Several objectives in one order: non-dominated fronts, and within one the less crowded first.

Source: Deb et al. 2002, "A Fast and Elitist Multiobjective Genetic Algorithm: NSGA-II", sections III-A and III-B.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def front_ranks(losses: Sequence[tuple[float, ...] | None], excesses: Sequence[float] | None = None) -> np.ndarray:
    """The place of every trial in that order, 0 the fittest. Empty when no trial has losses.

    After the fronts come the trials that are outside of outcome constraints, by how far; at last those without losses.

    Args:
        losses: of all objectives.
        excesses: by how much each is outside of the constraints, 0: it keeps them.

    >>> front_ranks([(2.0, 2.0), (0.0, 1.0), None, (1.0, 0.0)]).tolist()
    [2.0, 0.0, 3.0, 1.0]
    >>> front_ranks([(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)], [0.5, 0.0, 0.0]).tolist()
    [2.0, 0.0, 1.0]
    """
    outside = np.zeros(len(losses)) if excesses is None else np.asarray(excesses, dtype=float)
    known = np.array([place for place, own in enumerate(losses) if own is not None], dtype=int)
    if not len(known):
        return np.zeros(0)
    inside = known[outside[known] <= 0]
    beyond = known[outside[known] > 0]
    order = np.concatenate([_by_front(inside, losses), beyond[np.argsort(outside[beyond], kind="stable")]])
    ranks = np.full(len(losses), float(len(known)))
    ranks[order] = np.arange(len(known))
    return ranks


def _by_front(places: np.ndarray, losses: Sequence[tuple[float, ...] | None]) -> np.ndarray:
    """`places` by front, and within one the less crowded first."""
    if not len(places):
        return places
    table = np.array([losses[place] for place in places], dtype=float)
    fronts = _fronts(table)
    crowding = np.zeros(len(table))
    for front in range(fronts.max() + 1):
        members = np.flatnonzero(fronts == front)
        crowding[members] = _crowding(table[members])
    return np.asarray(places[np.lexsort((-crowding, fronts))])


def _fronts(table: np.ndarray) -> np.ndarray:
    no_worse = np.all(table[:, None, :] <= table[None, :, :], axis=2)
    better = np.any(table[:, None, :] < table[None, :, :], axis=2)
    dominates = np.asarray(no_worse & better)
    fronts = np.full(len(table), -1)
    front = 0
    while np.any(fronts < 0):
        left = fronts < 0
        fronts[left & ~np.any(dominates[left], axis=0)] = front
        front += 1
    return fronts


def _crowding(table: np.ndarray) -> np.ndarray:
    """Sum over objectives of the gap between a trial's two neighbours; infinite at the ends."""
    total = np.zeros(len(table))
    for values in table.T:
        order = np.argsort(values, kind="stable")
        span = values[order[-1]] - values[order[0]] or 1.0
        total[order[[0, -1]]] = np.inf
        total[order[1:-1]] += (values[order[2:]] - values[order[:-2]]) / span
    return total
