"""Aging evolution: a child of a good trial, the oldest trials fall out of the population.

Source: Real et al. 2019, "Regularized Evolution for Image Classifier Architecture Search", Algorithm 1. Deviations: no
configuration twice; the tournament is half the population instead of a fixed 25 of 100, and the population 24, as our
budgets are hundreds of trials instead of tens of thousands; a mutation changes one active decision or one repeated
part, never to what it was; asks never wait for a generation, what is told by then is the population. `surrogate=True`
lets a forest choose among 20 children, as White et al. 2021 do with a neural predictor ("BANANAS").

With several objectives the population is the fittest instead of the latest trials, or old points of the front would be
forgotten; fitness is the non-dominated front, then crowding (NSGA-II, Deb et al. 2002, section III). Outcome
constraints come first in each comparison (Deb 2000; Deb et al. 2002, section VI): what is outside is ranked by how far.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ...spaces import Configuration, Space, mutate
from ..spec import Objective, OutcomeConstraint
from .cube import UnitCube
from .fronts import front_ranks
from .improvement import log_improvement
from .options import check_fields
from .port import Pending, Proposal, Result
from .random_forest import Forest
from .told import Lesson, Told, standardised
from .unseen import Unseen

SCREENED = 20
"""Children that a surrogate chooses from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvolutionOptions:
    """The population."""

    population: int = field(default=24, metadata={"low": 2, "help": "latest trials that may have children"})
    tournament: float = field(
        default=0.5, metadata={"above": 0, "high": 1, "help": "share of the population that competes to be the parent"}
    )
    surrogate: bool = field(default=False, metadata={"help": "a forest picks the best of 20 children"})

    def __post_init__(self) -> None:
        check_fields(self, "evolution")


class Evolution:
    """Aging evolution by ask and tell.

    A proposal depends on the told set, the pending ones, its number and the seed alone.
    """

    uses_history = True
    replays_asks = False

    def __init__(
        self,
        space: Space,
        objectives: Sequence[Objective],
        options: EvolutionOptions,
        seed: int,
        constraints: Sequence[OutcomeConstraint] = (),
    ) -> None:
        self._space = space
        self._options = options
        self._seed = seed
        self._several = len(objectives) > 1
        self._told = Told(objectives, constraints)
        self._unseen = Unseen(space)

    def tell(self, results: Sequence[Result]) -> None:
        self._told.tell(results)
        self._unseen.note(result.config for result in results if not result.borrowed_from)

    def ask(self, first_number: int, n: int, pending: Sequence[Pending], seed: int) -> list[Proposal]:
        self._unseen.note(trial.config for trial in pending)
        pending = self._told.watch(pending)
        lessons = self._told.lessons()
        losses = self._ranked(lessons)
        proposals: list[Proposal] = []
        for number in range(first_number, first_number + n):
            opened = len(losses) + len(pending) + len(proposals)
            proposal = self._propose(number, opened, lessons, losses, seed)
            if proposal is None:
                break
            proposals.append(proposal)
        return proposals

    def _ranked(self, lessons: Sequence[Lesson]) -> np.ndarray:
        """One number a trial, smaller is fitter; empty when nothing has a value yet."""
        if self._several:
            return front_ranks([lesson.losses for lesson in lessons], [lesson.excess for lesson in lessons])
        return self._told.penalised(self._told.losses(np.random.default_rng(0)))

    def _propose(
        self, number: int, opened: int, lessons: Sequence[Lesson], losses: np.ndarray, seed: int
    ) -> Proposal | None:
        population = min(self._options.population, len(losses))
        if opened < self._options.population or population < 2:
            return self._founder(number, opened)
        rng = np.random.default_rng((seed, number))
        size = max(1, round(self._options.tournament * population))
        oldest = len(lessons) - population
        living = np.argsort(losses, kind="stable")[:population] if self._several else np.arange(oldest, len(lessons))

        def parent() -> int:
            return int(min(rng.choice(living, size, replace=False), key=lambda place: (losses[place], place)))

        if self._options.surrogate:
            config, of = self._screened([parent() for _ in range(SCREENED)], lessons, losses, rng)
        else:
            of = parent()
            config = self._unseen.draw(lambda: mutate(lessons[of].config, rng), rng)
        if config is None:
            return None
        self._unseen.note([config])
        return Proposal(config=config, reason=f"child of trial {lessons[of].number}, best of {size} of {population}")

    def _founder(self, number: int, opened: int) -> Proposal | None:
        rng = np.random.default_rng((self._seed, number))
        config = self._unseen.draw(lambda: self._space.sample(rng), rng)
        reason = f"random founder, {opened} of {self._options.population}"
        return None if config is None else Proposal(config=config, reason=reason)

    def _screened(
        self, parents: Sequence[int], lessons: Sequence[Lesson], losses: np.ndarray, rng: np.random.Generator
    ) -> tuple[Configuration | None, int]:
        """The child that a forest expects to be best, and its parent."""
        born = [(mutate(lessons[place].config, rng), place) for place in parents]
        unseen = [(config, place) for config, place in born if config in self._unseen]
        if not unseen:
            return self._unseen.draw(lambda: mutate(lessons[parents[0]].config, rng), rng), parents[0]
        cube = UnitCube(self._space)
        rows = cube.encode((lesson.config for lesson in lessons), rng)
        belief = Forest(cube, n_trees=60).fit(rows, standardised(losses, rank_share=Forest.rank_share), rng)
        born_rows = cube.encode((config for config, _ in unseen), rng)
        scores = log_improvement(*belief.moments(born_rows), belief.best)
        return unseen[int(np.argmax(scores))]
