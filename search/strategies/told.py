"""What a strategy has been told, as losses that a model can learn from.

Every kind of end teaches something: a completed trial its value; a stopped one that it was no better than the middle of
the completed ones; a failed, diverged (NaN, infinite) or infeasible one that its place is as bad as the worst seen.
Cancelled trials teach nothing but count as tried.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...spaces import Configuration
from ..spec import Objective
from .port import Result

TCHEBYCHEFF_SUM = 0.05
"""Weight of the sum beside the maximum, as in ParEGO (Knowles 2006)."""

CLIP = 2.0
"""Losses above so many deviations are all simply bad: what makes them bad is not worth a model's attention."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """One told trial: losses of all objectives (smaller is better), None where it has none."""

    number: int
    config: Configuration
    losses: tuple[float, ...] | None
    stopped: bool
    by: str


class Told:
    """The told trials of a study, in order of their numbers however they came in."""

    def __init__(self, objectives: Sequence[Objective]) -> None:
        self._objectives = tuple(objectives)
        self._lessons: dict[int, Lesson] = {}

    def tell(self, results: Sequence[Result]) -> None:
        for result in results:
            if result.config is not None and result.state != "cancelled":
                self._lessons[result.number] = self._lesson(result, result.config)

    def lessons(self) -> list[Lesson]:
        """Everything told, by number."""
        return [self._lessons[number] for number in sorted(self._lessons)]

    def losses(self, rng: np.random.Generator) -> np.ndarray:
        """One finite loss for every lesson; empty when no trial has a finite value yet.

        With several objectives a new direction is drawn from `rng`: the augmented Tchebycheff norm of ParEGO.
        """
        lessons = self.lessons()
        known = [lesson.losses is not None for lesson in lessons]
        if not any(known):
            return np.zeros(0)
        table = np.array([lesson.losses or [np.nan] * len(self._objectives) for lesson in lessons])
        losses = table[:, 0] if len(self._objectives) == 1 else _directed(table, rng)
        completed = losses[[ok and not lesson.stopped for ok, lesson in zip(known, lessons, strict=True)]]
        if len(completed):
            stopped = np.array([lesson.stopped for lesson in lessons])
            losses = np.where(stopped, np.fmax(losses, np.median(completed)), losses)
        return np.where(np.isnan(losses), np.nanmax(losses), losses)

    def _lesson(self, result: Result, config: Configuration) -> Lesson:
        losses = None
        if result.values is not None and result.state in ("completed", "stopped"):
            losses = tuple(o.loss(v) for o, v in zip(self._objectives, result.values, strict=False))
            if len(losses) < len(self._objectives) or not all(math.isfinite(loss) for loss in losses):
                losses = None
        by = result.attrs.get("by", "") if isinstance(result.attrs, dict) else ""
        return Lesson(number=result.number, config=config, losses=losses, stopped=result.state == "stopped", by=str(by))


def standardised(losses: np.ndarray, *, rank_share: float) -> np.ndarray:
    """Losses as a model likes them: z-scores clipped at `CLIP`, mixed with normal scores of the ranks.

    The z-score keeps how far apart trials are, the ranks keep outliers from hiding it. Variance 1, mean 0.

    Args:
        losses: finite.
        rank_share: the weight of the ranks, from 0 to 1.
    """
    from scipy.special import ndtri
    from scipy.stats import rankdata

    ranks = ndtri((rankdata(losses) - 0.5) / len(losses))
    scores = _unit_variance(np.minimum(_unit_variance(losses), CLIP))
    return _unit_variance((1.0 - rank_share) * scores + rank_share * ranks)


def _unit_variance(values: np.ndarray) -> np.ndarray:
    return np.asarray((values - values.mean()) / (values.std() or 1.0))


def _directed(table: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    low, high = np.nanmin(table, axis=0), np.nanmax(table, axis=0)
    scaled = (table - low) / np.where(high > low, high - low, 1.0)
    weights = rng.dirichlet(np.ones(table.shape[1]))
    weighted = scaled * weights
    return np.asarray(weighted.max(axis=1) + TCHEBYCHEFF_SUM * weighted.sum(axis=1))
