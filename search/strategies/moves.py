"""Where to look for the best of a score: random rows, children of good rows, and steps from the best of those."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .cube import UnitCube

Score = Callable[[np.ndarray], np.ndarray]

STARTS = 8
"""Rows that a local search starts from."""
STEPS = 24
"""Neighbours of each start in a round."""
ROUNDS = 6
"""Rounds; after the last the starts have moved by a handful of decisions or stopped."""
SCALES = np.array([0.2, 0.1, 0.05, 0.02])
"""Standard deviations of a step in [0, 1]: from SMAC's 0.2 (Hutter et al., LION 2011) down to fine ones."""


def children(cube: UnitCube, parents: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One child of every parent: one active decision changed, every third time another move on top.

    A number moves by a normal step of a random scale, at least to the next value of its grid; a category becomes
    another.
    """
    rows = parents.copy()
    if not len(cube.free) or not len(rows):
        return rows
    count = len(rows)
    active = cube.active(rows)
    inactive = ~active
    rows[inactive] = cube.draw(rng, count)[inactive]
    for chance in (1.0, 1 / 3):
        keys = np.where(active[:, cube.free], rng.random((count, len(cube.free))), -1.0)
        columns = cube.free[np.argmax(keys, axis=1)]
        moved = np.flatnonzero((rng.random(count) < chance) & (keys.max(axis=1) >= 0))
        rows[moved, columns[moved]] = _stepped(cube, rows[moved, columns[moved]], columns[moved], rng)
    return cube.snapped(rows)


def _stepped(cube: UnitCube, places: np.ndarray, columns: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    steps = rng.standard_normal(len(places)) * rng.choice(SCALES, len(places))
    least = cube.steps[columns]
    steps = np.where(np.abs(steps) < least, np.where(steps < 0, -least, least), steps)
    numbers = places + steps
    numbers = np.where((numbers < 0) | (numbers > 1), places - steps, numbers)  # bounce off the border
    counts = np.maximum(cube.categories[columns], 1)
    index = (places * counts).astype(int)
    others = (index + rng.integers(1, np.maximum(counts, 2))) % counts
    return np.asarray(np.where(cube.categories[columns] > 0, (others + 0.5) / counts, numbers))


def best_rows(
    cube: UnitCube, score: Score, candidates: np.ndarray, good: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Rows by descending score: the candidates, and what a local search from the best of them and from `good` met.

    Args:
        candidates: rows to start with.
        good: rows of the best trials so far; the search starts from them too.
    """
    scores = score(candidates)
    met, met_scores = [candidates], [scores]
    first = np.argsort(-scores, kind="stable")[:STARTS]
    starts = np.vstack([candidates[first], good])
    levels = np.concatenate([scores[first], score(good)]) if len(good) else scores[first]
    for _ in range(ROUNDS):
        around = children(cube, np.repeat(starts, STEPS, axis=0), rng)
        found = score(around)
        met.append(around)
        met_scores.append(found)
        grouped = found.reshape(len(starts), STEPS)
        top = grouped.argmax(axis=1)
        heights = grouped[np.arange(len(starts)), top]
        better = heights > levels
        if not better.any():
            break
        starts = np.where(better[:, None], around.reshape(len(starts), STEPS, -1)[np.arange(len(starts)), top], starts)
        levels = np.maximum(levels, heights)
    rows, heights = np.vstack(met), np.concatenate(met_scores)
    return rows[np.argsort(-heights, kind="stable")]
