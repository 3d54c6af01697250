"""What a strategy has been told, as losses that a model can learn from.

Every kind of end teaches something: a completed trial its value; a stopped one that it was no better than the middle of
the completed ones; a failed, diverged (NaN, infinite) or infeasible one that its place is as bad as the worst seen.
Cancelled trials teach nothing but count as tried.

Results borrowed from another study are on a scale of their own: their z-scores are put on the scale of this study's
results. They are a start and fade: with every result of this study one of them is forgotten.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...spaces import Configuration
from ..forecasts import Curve, forecasts
from ..spec import Objective, OutcomeConstraint
from .directions import Direction, capped, half_ranked
from .port import Pending, Result

CLIP = 2.0
"""Losses above so many deviations are all simply bad: what makes them bad is not worth a model's attention."""

BORROWED = 100
"""Borrowed results that are learned from at first: about where a model has seen a space of ten parameters, and where
asking it still costs no more than the study's own hundredth trial."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """One told trial: losses of all objectives (smaller is better), None where it has none.

    `distances`: how far it is from every outcome constraint's bound, positive outside, in units of the bound; None
    where that is not known. `borrowed_from` as in `Result`.
    """

    number: int
    config: Configuration
    losses: tuple[float, ...] | None
    stopped: bool
    by: str
    distances: tuple[float | None, ...] = ()
    borrowed_from: str = ""

    @property
    def excess(self) -> float:
        """By how much it is outside of the constraints in all, 0: it keeps them; infinite where that is unknown."""
        return sum(math.inf if distance is None else max(distance, 0.0) for distance in self.distances)


class Told:
    """The told trials of a study, in order of their numbers however they came in; borrowed ones come before."""

    def __init__(self, objectives: Sequence[Objective], constraints: Sequence[OutcomeConstraint] = ()) -> None:
        self._objectives = tuple(objectives)
        self._constraints = tuple(constraints)
        self._lessons: dict[int, Lesson] = {}
        self._watched: dict[int, Lesson] = {}
        self._curves: dict[int, Curve] = {}

    def tell(self, results: Sequence[Result]) -> None:
        for result in results:
            if result.config is not None and result.state != "cancelled":
                self._lessons[result.number] = self._lesson(result, result.config)
                self._curves[result.number] = self._losses_of(result.curve)

    def watch(self, pending: Sequence[Pending]) -> list[Pending]:
        """Learn from the trials under way that have reported: from what their curves would come to.

        Trials that a rule has paused may never end, and half of what a study has spent is in them.

        Returns:
            Those that teach nothing yet.
        """
        self._watched = {}
        if len(self._objectives) > 1 or self._constraints:
            return list(pending)
        reported = {trial.number: trial for trial in pending if trial.curve and trial.config is not None}
        curves = {number: self._losses_of(trial.curve) for number, trial in reported.items()}
        ends = forecasts({**self._curves, **curves}) if reported else {}
        for number, trial in reported.items():
            assert trial.config is not None
            losses = (ends[number].mean,) if math.isfinite(ends[number].mean) else None
            by = trial.attrs.get("by", "") if isinstance(trial.attrs, dict) else ""
            self._watched[number] = Lesson(number=number, config=trial.config, losses=losses, stopped=False, by=str(by))
        return [trial for trial in pending if trial.number not in reported]

    def lessons(self) -> list[Lesson]:
        """Everything told that still counts, by number."""
        known = {**self._watched, **self._lessons}
        numbers = sorted(known)
        own = [number for number in numbers if number >= 0]
        room = max(BORROWED - len(own), 0)
        borrowed = numbers[: len(numbers) - len(own)]
        return [known[number] for number in (*borrowed[len(borrowed) - min(room, len(borrowed)) :], *own)]

    def losses(self, rng: np.random.Generator) -> np.ndarray:
        """One finite loss for every lesson; empty when no trial has a finite value yet.

        With several objectives a new direction is drawn from `rng`: the augmented Tchebycheff norm of ParEGO.
        """
        lessons = self.lessons()
        if all(lesson.losses is None for lesson in lessons):
            return np.zeros(0)
        table = self._table(lessons)
        several = len(self._objectives) > 1
        losses = Direction.drawn(rng, len(self._objectives)).losses(half_ranked(table)) if several else table[:, 0]
        return _finite(losses, lessons)

    def scaled(self) -> np.ndarray:
        """The losses of every objective on a scale of [0, 1], finite; where `losses` is not empty.

        Shape (lessons, objectives).
        """
        lessons = self.lessons()
        return np.stack([_finite(column, lessons) for column in capped(self._table(lessons)).T], axis=1)

    def _table(self, lessons: Sequence[Lesson]) -> np.ndarray:
        """Losses as they were told, NaN for trials without; shape (lessons, objectives)."""
        table = np.array([lesson.losses or [np.nan] * len(self._objectives) for lesson in lessons])
        return _on_one_scale(table, np.array([lesson.borrowed_from for lesson in lessons]))

    def penalised(self, losses: np.ndarray) -> np.ndarray:
        """`losses` in Deb's order: what is outside of the constraints comes after all that is inside, by its excess.

        Source: Deb 2000, "An Efficient Constraint Handling Method for Genetic Algorithms", section 3.
        """
        excess = np.array([lesson.excess for lesson in self.lessons()])
        outside = excess > 0
        if not len(losses) or not outside.any():
            return losses
        inside = losses[~outside] if not outside.all() else losses
        levels, places = np.unique(excess[outside], return_inverse=True)
        step = (float(np.std(losses)) or 1.0) / len(levels)
        penalised = losses.copy()
        penalised[outside] = inside.max() + step * (1.0 + places)
        return penalised

    def distances(self) -> np.ndarray:
        """How far each lesson is from each constraint's bound, NaN where unknown. Shape (lessons, constraints)."""
        rows = [[np.nan if d is None else d for d in lesson.distances] for lesson in self.lessons()]
        return np.array(rows, dtype=float).reshape(len(rows), len(self._constraints))

    def _losses_of(self, curve: Curve) -> Curve:
        return [(step, self._objectives[0].loss(value)) for step, value in curve]

    def _lesson(self, result: Result, config: Configuration) -> Lesson:
        losses = None
        if result.values is not None and result.state in ("completed", "stopped"):
            losses = tuple(o.loss(v) for o, v in zip(self._objectives, result.values, strict=False))
            if len(losses) < len(self._objectives) or not all(math.isfinite(loss) for loss in losses):
                losses = None
        outcomes = result.outcomes or (None,) * len(self._constraints)
        pairs = zip(self._constraints, outcomes, strict=True) if self._constraints else ()
        by = result.attrs.get("by", "") if isinstance(result.attrs, dict) else ""
        return Lesson(
            number=result.number,
            config=config,
            losses=losses,
            stopped=result.state == "stopped",
            by=str(by),
            distances=tuple(_distance(constraint, value) for constraint, value in pairs),
            borrowed_from=result.borrowed_from,
        )


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


def _distance(constraint: OutcomeConstraint, value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else constraint.distance(value)


def _finite(losses: np.ndarray, lessons: Sequence[Lesson]) -> np.ndarray:
    """A loss for every lesson: stopped ones are no better than the middle of the completed, unknown ones the worst."""
    completed = losses[[lesson.losses is not None and not lesson.stopped for lesson in lessons]]
    if len(completed):
        stopped = np.array([lesson.stopped for lesson in lessons])
        losses = np.where(stopped, np.fmax(losses, np.median(completed)), losses)
    return np.where(np.isnan(losses), np.nanmax(losses), losses)


def _on_one_scale(table: np.ndarray, sources: np.ndarray) -> np.ndarray:
    """The losses of borrowed trials with the mean and the deviation that this study's own have."""
    own = table[sources == ""]
    if len(own) == len(table):
        return table
    known = own[~np.isnan(own[:, 0])]
    mean = known.mean(axis=0) if len(known) else np.zeros(table.shape[1])
    deviation = known.std(axis=0) if len(known) > 1 else np.ones(table.shape[1])
    table = table.copy()
    for source in set(sources[sources != ""]):
        theirs = table[sources == source]
        spread = np.nanstd(theirs, axis=0)
        scores = (theirs - np.nanmean(theirs, axis=0)) / np.where(spread > 0, spread, 1.0)
        table[sources == source] = mean + np.where(deviation > 0, deviation, 1.0) * np.minimum(scores, CLIP)
    return table
