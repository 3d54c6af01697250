"""The frame of every strategy that fits a model to the results and tries where the model expects an improvement.

Sequential model-based optimisation (Hutter et al. 2011, "SMAC", Algorithm 1), by ask and tell. A pending trial, also
one of the same ask, enters the model with the loss that the model expects there, so that two workers do not try one
place. A proposal depends on the told set, the pending ones, its number and the seed alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from ...spaces import Configuration, Space
from ..spec import Objective, OutcomeConstraint
from .costs import Costs
from .cube import UnitCube
from .directions import Direction
from .feasible import Feasibility
from .improvement import log_improvement
from .moves import Score, best_rows, children
from .one_thread import one_thread
from .port import Pending, Proposal, Result
from .several_objectives import EachForest
from .told import Told, standardised
from .unseen import Unseen

BLOCK, BLOCKS = 125, 8
"""Random candidates come in blocks that stay for eight asks: a block costs as much as scoring it."""
GOOD = 8
"""Best trials that children and local searches start from."""
CHILDREN = 48
"""Children of each of them among the first candidates."""
PRIOR_TRIALS = 5.0
"""Results after which the acquisition is multiplied by the prior itself, later by ever lower powers of it: the beta of
Hvarfner et al. 2022, "piBO", equation 5, there a tenth of the budget. A guess: 2, 5 and 10 were tried on one made-up
space with 3 seeds, too few to tell them apart."""
LOOKED_AT = 256
"""Best candidates that are built and checked against rules and former trials before a random one stands in."""


class Belief(Protocol):
    """A model that has seen some trials.

    Attributes:
        best: the lowest expected loss of those.
    """

    best: float

    def mean(self, rows: np.ndarray) -> np.ndarray:
        """Expected standardised losses."""
        ...

    def moments(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Means and standard deviations (> 0) of the standardised losses."""
        ...


class Model(Protocol):
    """Learns standardised losses from rows of the cube.

    `rank_share`: the weight of the ranks in the losses it likes, see `told.standardised`.
    """

    rank_share: float

    def fit(self, rows: np.ndarray, losses: np.ndarray, rng: np.random.Generator) -> Belief:
        """A belief from scratch: equal calls give equal beliefs."""
        ...

    def extended(self, belief: Belief, rows: np.ndarray, losses: np.ndarray, rng: np.random.Generator) -> Belief:
        """A belief that has seen further rows, without looking for better hyperparameters."""
        ...


class ModelSearch:
    """Model-based search.

    Several objectives are seen from a direction that each trial draws anew (ParEGO, Knowles 2006), so that the trials
    spread over the front. Outcome constraints have models of their own (`feasible.py`).

    Args:
        title: how reasons call it.
        startup: random trials before the model.
        random_share: of how many later trials a random one is, against a model that fools itself.
        seed: the study's.
        each: learns several objectives one by one; None: `model` learns what is seen of them from each direction.
        bounds: learns the distances to the constraints' bounds; None: `model` does.
        costs: makes improvements count per second; None: seconds do not count.
    """

    uses_history = True
    replays_asks = False

    def __init__(
        self,
        title: str,
        space: Space,
        objectives: Sequence[Objective],
        model: Model,
        cube: UnitCube,
        *,
        startup: int,
        random_share: float,
        seed: int,
        constraints: Sequence[OutcomeConstraint] = (),
        each: EachForest | None = None,
        bounds: Model | None = None,
        costs: Costs | None = None,
    ) -> None:
        self._title = title
        self._space = space
        self._cube = cube
        self._model = model
        self._each = each if len(objectives) > 1 else None
        self._objectives = len(objectives)
        self._bounds = model if bounds is None else bounds
        self._startup = startup
        self._random_share = random_share
        self._seed = seed
        self._costs = costs
        self._told = Told(objectives, constraints)
        self._unseen = Unseen(space)
        self._rows: dict[str, np.ndarray] = {}
        self._blocks: dict[int, np.ndarray] = {}

    def tell(self, results: Sequence[Result]) -> None:
        self._told.tell(results)
        if self._costs is not None:
            self._costs.tell(results)
        self._unseen.note(result.config for result in results if not result.borrowed_from)

    def ask(self, first_number: int, n: int, pending: Sequence[Pending], seed: int) -> list[Proposal]:
        self._unseen.note(trial.config for trial in pending)
        lies = [trial.config for trial in self._told.watch(pending) if trial.config is not None]
        proposals: list[Proposal] = []
        for number in range(first_number, first_number + n):
            proposal = self._propose(number, lies, seed)
            if proposal is None or proposal.config is None:
                break
            lies.append(proposal.config)
            proposals.append(proposal)
        return proposals

    def _propose(self, number: int, pending: Sequence[Configuration], seed: int) -> Proposal | None:
        """One configuration; None when the space is exhausted."""
        losses = self._told.losses(np.random.default_rng((seed, number, 2)))
        opened = len(losses) + len(pending)
        if opened < self._startup or len(losses) < max(2, self._startup // 2):
            return self._random(number, f"random start, {opened} of {self._startup}")
        rng = np.random.default_rng((seed, number))
        if rng.random() < self._random_share:
            return self._random(number, "random, against a model that fools itself")
        with one_thread():
            return self._modelled(number, losses, pending, seed, rng)

    def _modelled(
        self, number: int, losses: np.ndarray, pending: Sequence[Configuration], seed: int, rng: np.random.Generator
    ) -> Proposal | None:
        configs = [lesson.config for lesson in self._told.lessons()]
        rows = np.array([self._row(config) for config in configs])
        waiting = np.array([self._row(config) for config in pending])
        belief: Belief
        if self._each is None:
            belief = self._model.fit(rows, standardised(losses, rank_share=self._model.rank_share), rng)
            if pending:
                belief = self._model.extended(belief, waiting, belief.mean(waiting), rng)
        else:
            direction = Direction.drawn(np.random.default_rng((seed, number, 2)), self._objectives)
            belief = directed = self._each.fit(rows, self._told.scaled(), direction, rng)
            if pending:
                belief = self._each.extended(directed, waiting, rng)
        score = self._score(belief, rows, rng)
        good = rows[np.argsort(self._told.penalised(losses), kind="stable")[:GOOD]]
        born = children(self._cube, np.repeat(good, CHILDREN, axis=0), rng)
        candidates = np.vstack([self._random_rows(number), born])
        ranked = best_rows(self._cube, score, candidates, good, rng)
        reason = f"{self._title} from {len(losses)} results, {len(pending)} trials open"
        for row in ranked[:LOOKED_AT]:
            config = self._cube.decode(row)
            if config in self._unseen and self._space.holds(config):
                self._unseen.note([config])
                return Proposal(config=config, reason=reason)
        return self._random(number, f"{reason}; random, since what the model wants was tried or breaks a rule")

    def _score(self, belief: Belief, rows: np.ndarray, rng: np.random.Generator) -> Score:
        """What a trial is worth: expected improvement (per expected second where cost counts), times the probability
        that it keeps the constraints, times how much a person believes in its place."""
        known = len(self._told.lessons())
        feasibility = Feasibility.learned(self._bounds, rows, self._told.distances(), rng)
        best = belief.best if feasibility is None else feasibility.best(belief, rows)
        cost = None if self._costs is None else self._costs.penalty(self._model, self._row, known, rng)

        def score(rows: np.ndarray) -> np.ndarray:
            value = PRIOR_TRIALS / known * self._cube.log_prior(rows)
            if best is not None:
                value = value + log_improvement(*belief.moments(rows), best)
            if cost is not None:
                value = value - cost(rows)
            return value if feasibility is None else value + feasibility.log_probability(rows)

        return score

    def _random(self, number: int, reason: str) -> Proposal | None:
        rng = np.random.default_rng((self._seed, number))
        config = self._unseen.draw(lambda: self._space.sample(rng), rng)
        return None if config is None else Proposal(config=config, reason=reason)

    def _row(self, config: Configuration) -> np.ndarray:
        key = config.key()
        if key not in self._rows:
            self._rows[key] = self._cube.encode([config], np.random.default_rng(self._seed))[0]
        return self._rows[key]

    def _random_rows(self, number: int) -> np.ndarray:
        """The random candidates of trial `number`: a window over an endless list of blocks."""
        wanted = range(number, number + BLOCKS)
        self._blocks = {
            place: self._blocks[place]
            if place in self._blocks
            else self._cube.draw(np.random.default_rng((self._seed, place, 1)), BLOCK)
            for place in wanted
        }
        return np.vstack([self._blocks[place] for place in wanted])
