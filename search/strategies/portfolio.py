"""Portfolio: several strategies on one history, each asked the more the better its last trials were.

No single model wins everywhere: a Gaussian process leads in small smooth spaces, trees and Parzen estimators in
conditional ones, evolution late in large discrete ones. All see every result, whoever proposed it, so an arm that
waits loses nothing. The arm of trial `number` is drawn in proportion to prior x exp(credit), where the credit is the
discounted mean reward of the arm's own trials (Exp3's exponential weights, Auer et al. 2002, "The Nonstochastic
Multiarmed Bandit Problem", section 3; discounted as in Garivier and Moulines 2011). Deviations: rewards of an arm
count only for itself, and are ranks: 1 for the best trial so far, 0 for the worst. The prior moves from the process to
the trees and Parzen estimators with the share of conditional parameters. Which arm proposed a trial comes back with
its result, so that a restart needs the results alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...spaces import Space
from ..spec import Objective, OutcomeConstraint
from .bayesian import BayesianOptions, bayesian
from .evolution import Evolution, EvolutionOptions
from .late import LateStrategy
from .options import check_fields
from .optuna_samplers import SAMPLERS, TpeOptions, named_options, sampler_maker
from .port import Pending, Proposal, Result, Strategy
from .random_forest import RandomForestOptions, random_forest
from .told import Told
from .unseen import Unseen

PRIORS = {"forest": 0.20, "process": 0.65, "tpe": 0.05, "evolution": 0.10}
CONDITIONAL = {"forest": 0.30, "process": 0.45, "tpe": 0.15, "evolution": 0.10}
"""Priors in a flat space, and in one whose every parameter is conditional; in between in proportion. Alone, the
process had the lowest median regret on four of six benchmark tasks, cash_1501 with its two levels of choices among
them, the forest and evolution on one each (100 trials, ten seeds)."""
SHARPNESS = 4.0
"""An arm whose trials are always the best so far is asked e^4 = 55 times as often as one whose are always the worst."""
DISCOUNT = 0.85
"""Weight of a reward by the number of the arm's later trials: about the last seven count."""
EVIDENCE = 2.0
"""How many trials of reward 1/2 the prior is worth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PortfolioOptions:
    """How the arms start."""

    n_startup_trials: int = field(default=8, metadata={"low": 2, "help": "random trials before the first arm"})

    def __post_init__(self) -> None:
        check_fields(self, "portfolio")


class Portfolio:
    """A bandit over strategies.

    A proposal depends on the told set, the pending ones, its number and the seed alone.
    """

    uses_history = True
    replays_asks = False

    def __init__(
        self,
        space: Space,
        objectives: Sequence[Objective],
        options: PortfolioOptions,
        seed: int,
        constraints: Sequence[OutcomeConstraint] = (),
    ) -> None:
        self._space = space
        self._startup = options.n_startup_trials
        self._seed = seed
        self._told = Told(objectives, constraints)
        self._unseen = Unseen(space)
        self._arms = _arms(space, objectives, options, seed, constraints)
        decisions = space.all_decisions()
        conditional = sum(decision.optional for decision in decisions) / max(len(decisions), 1)
        self._priors = {name: (1 - conditional) * PRIORS[name] + conditional * CONDITIONAL[name] for name in self._arms}

    def tell(self, results: Sequence[Result]) -> None:
        self._told.tell(results)
        own = [result for result in results if not result.borrowed_from]
        self._unseen.note(result.config for result in own)
        for name, arm in self._arms.items():
            arm.tell([replace(result, attrs=None) for result in (own if name == "tpe" else results)])

    def ask(self, first_number: int, n: int, pending: Sequence[Pending], seed: int) -> list[Proposal]:
        self._unseen.note(trial.config for trial in pending)
        waiting = list(pending)
        unreported = len(self._told.watch(pending))
        losses = self._told.penalised(self._told.losses(np.random.default_rng((seed, 2))))
        proposals: list[Proposal] = []
        for number in range(first_number, first_number + n):
            opened = len(losses) + unreported + len(proposals)
            proposal = self._propose(number, losses, opened, waiting, seed)
            if proposal is None:
                break
            self._unseen.note([proposal.config])
            waiting.append(Pending(number=number, config=proposal.config))
            proposals.append(proposal)
        return proposals

    def _propose(
        self, number: int, losses: np.ndarray, opened: int, waiting: Sequence[Pending], seed: int
    ) -> Proposal | None:
        if opened < self._startup or len(losses) < max(2, self._startup // 2):
            rng = np.random.default_rng((self._seed, number))
            config = self._unseen.draw(lambda: self._space.sample(rng), rng)
            reason = f"random start, {opened} of {self._startup}"
            return None if config is None else Proposal(config=config, reason=reason)
        credits = self._credits(losses)
        weights = np.array([self._priors[name] * np.exp(SHARPNESS * credits[name]) for name in self._arms])
        shares = weights / weights.sum()
        place = int(np.random.default_rng((seed, number, 3)).choice(len(shares), p=shares))
        name = list(self._arms)[place]
        proposals = self._arms[name].ask(number, 1, waiting, seed)
        if not proposals:
            return None
        reason = f"{proposals[0].reason}; asked in {shares[place]:.0%} of trials, credit {credits[name]:.2f}"
        return Proposal(config=proposals[0].config, reason=reason, attrs={"by": name})

    def _credits(self, losses: np.ndarray) -> Mapping[str, float]:
        """Discounted mean reward of every arm's own trials."""
        sums = dict.fromkeys(self._arms, EVIDENCE / 2)
        weights = dict.fromkeys(self._arms, EVIDENCE)
        for place, lesson in enumerate(self._told.lessons()):
            if lesson.by not in self._arms or place == 0:
                continue
            earlier = losses[:place]
            better = np.mean(earlier < losses[place]) + 0.5 * np.mean(earlier == losses[place])
            sums[lesson.by] = DISCOUNT * sums[lesson.by] + 1.0 - np.sqrt(better)
            weights[lesson.by] = DISCOUNT * weights[lesson.by] + 1.0
        return {name: float(sums[name] / weights[name]) for name in self._arms}


def _arms(
    space: Space,
    objectives: Sequence[Objective],
    options: PortfolioOptions,
    seed: int,
    constraints: Sequence[OutcomeConstraint],
) -> dict[str, Strategy]:
    """The strategies, each ready from the first trial after the start."""
    ready = options.n_startup_trials
    return {
        "forest": random_forest(space, objectives, RandomForestOptions(n_startup_trials=ready), seed, constraints),
        "process": bayesian(space, objectives, BayesianOptions(n_startup_trials=ready), seed, constraints),
        "tpe": LateStrategy(lambda: _tpe(space, objectives, ready, seed, constraints)),
        "evolution": Evolution(space, objectives, EvolutionOptions(population=max(ready, 20)), seed, constraints),
    }


def _tpe(
    space: Space,
    objectives: Sequence[Objective],
    ready: int,
    seed: int,
    constraints: Sequence[OutcomeConstraint],
) -> Strategy:
    from .optuna_strategy import OptunaStrategy  # imports optuna

    make_sampler = sampler_maker("tpe", "TPESampler", named_options(TpeOptions(n_startup_trials=ready)), seed)
    return OptunaStrategy("tpe", space, objectives, SAMPLERS["TPESampler"], make_sampler, constraints)
