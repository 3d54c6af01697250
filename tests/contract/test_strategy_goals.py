"""What every strategy owes that promises several objectives or outcome constraints (`StrategyInfo`)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import pytest

from shoal.errors import SpecError
from shoal.search import strategies
from shoal.search.spec import Chosen, Objective, OutcomeConstraint
from shoal.search.strategies.optuna_samplers import NAMED, PREFIX
from shoal.search.strategies.port import Pending, Proposal, Result, Strategy
from shoal.spaces import Categorical, Choice, Float, Int, Space

SPACE = Space(
    x=Float(0.0, 1.0),
    n=Int(1, 32, log=True),
    op=Choice(conv=Space(k=Categorical([1, 3, 5])), pool=None),
)
BOTH = (Objective(metric="score", direction="maximize"), Objective(metric="cost", direction="minimize"))
BOUND = (OutcomeConstraint(metric="cost", relation="<=", bound=2.0),)

EAGER: dict[str, dict[str, object]] = {
    "random_forest": {"n_startup_trials": 4, "n_trees": 40},
    "bayesian": {"n_startup_trials": 4},
    "evolution": {"population": 6},
    "portfolio": {"n_startup_trials": 4},
    "reinforcement": {"n_startup_trials": 4, "batch": 2, "likelihood_steps": 2},
    "nsga2": {"population_size": 4},
    "optuna:NSGAIISampler": {"population_size": 4},
    "optuna:NSGAIIISampler": {"population_size": 4},
    "gp": {"n_startup_trials": 20},
    "optuna:GPSampler": {"n_startup_trials": 20},
}
SEVERAL = [
    name
    for name in strategies.names()
    if strategies.describe(name).several_objectives and name != "optuna:BruteForceSampler"
]
ONE = [name for name in strategies.names() if not strategies.describe(name).several_objectives]
TRIALS = {"optuna:NSGAIIISampler": 120}
"""More than 60: it learns slowly, and costs nothing."""
TWICE = {f"{PREFIX}{cls}" for cls, _ in NAMED.values()}
BOUNDED = [name for name in strategies.names() if strategies.describe(name).constraints and name not in TWICE]


def made(name: str, objectives: tuple[Objective, ...], constraints: tuple[OutcomeConstraint, ...]) -> Strategy:
    chosen = Chosen(name=name, options=EAGER.get(name, {}))
    return strategies.make(chosen, SPACE, objectives, seed=5, constraints=constraints)


def measured(proposal: Proposal) -> tuple[float, float]:
    """(score, cost): what scores well costs too much."""
    config = proposal.config
    assert config is not None
    k = config.op.k if config.op.choice == "conv" else 1
    return 1.0 - (config.x - 0.8) ** 2 + 0.1 * k, 4.0 * config.x + config.n / 8.0


@dataclass
class Run:
    """Two workers; every sixth trial fails, every seventh diverges, every eighth is stopped."""

    strategy: Strategy
    several: bool
    bounded: bool
    proposals: list[Proposal] = field(default_factory=list)
    told: list[Result] = field(default_factory=list)

    def became(self, number: int) -> Result:
        proposal = self.proposals[number]
        score, cost = measured(proposal)
        common = {"number": number, "config": proposal.config, "attrs": proposal.attrs}
        if number % 6 == 5:
            return Result(**common, state="failed", values=None, failure="OOM")  # type: ignore[arg-type]
        if number % 7 == 6:
            score = math.nan
        values = (score, cost) if self.several else (score,)
        outcomes = (None if number % 9 == 8 else cost,) if self.bounded else ()
        state = "stopped" if number % 8 == 7 else "completed"
        return Result(**common, state=state, values=values, outcomes=outcomes)  # type: ignore[arg-type]

    def pending(self) -> list[Pending]:
        return [
            Pending(number=number, config=self.proposals[number].config)
            for number in range(len(self.told), len(self.proposals))
        ]

    def steps(self, count: int) -> Run:
        for _ in range(count):
            number = len(self.proposals)
            if number - len(self.told) >= 2:
                self.told.append(self.became(len(self.told)))
                self.strategy.tell(self.told[-1:])
            self.proposals += self.strategy.ask(number, 1, self.pending(), 100 + number)
        return self


@pytest.mark.slow
@pytest.mark.parametrize("name", SEVERAL)
@pytest.mark.parametrize("bounded", [False, True])
def test_several_objectives(name: str, bounded: bool) -> None:
    """Valid, repeatable, and, for those that keep no state of their own, the same after a restart."""
    constraints = BOUND if bounded else ()
    run = Run(made(name, BOTH, constraints), several=True, bounded=bounded).steps(18)
    assert len(run.proposals) == 18
    for proposal in run.proposals:
        assert proposal.config is not None and SPACE.violations(proposal.config) == []
    again = Run(made(name, BOTH, constraints), several=True, bounded=bounded).steps(18)
    assert [p.config for p in again.proposals] == [p.config for p in run.proposals]
    if run.strategy.replays_asks:
        return
    restored = made(name, BOTH, constraints)
    restored.tell(run.told[::-1])
    twin = Run(restored, True, bounded, list(run.proposals), list(run.told))
    assert [p.config for p in twin.steps(2).proposals] == [p.config for p in run.steps(2).proposals]


@pytest.mark.parametrize("name", ONE)
def test_one_objective_only_is_said_at_once(name: str) -> None:
    with pytest.raises(SpecError, match="takes one objective, and this study has 2"):
        strategies.check(Chosen(name=name), has_space=True, objectives=BOTH)


@pytest.mark.slow
@pytest.mark.parametrize("name", BOUNDED)
def test_a_constraint_is_learned(name: str) -> None:
    """Later trials keep the bound more often than random ones, though the objective pulls the other way."""
    run = Run(made(name, BOTH[:1], BOUND), several=False, bounded=True).steps(TRIALS.get(name, 60))
    kept = [measured(proposal)[1] <= 2.0 for proposal in run.proposals]
    sampled = [SPACE.sample(np.random.default_rng(n)) for n in range(400)]
    draws = [measured(Proposal(config=config, reason="drawn"))[1] <= 2.0 for config in sampled]
    assert np.mean(kept[24:]) > np.mean(draws) + 0.15


@pytest.mark.slow
@pytest.mark.parametrize("name", BOUNDED)
def test_nothing_keeps_the_constraint(name: str) -> None:
    """An impossible bound breaks nothing; with too little known it is no bound at all."""
    never = (OutcomeConstraint(metric="cost", relation="<=", bound=-1.0),)
    assert len(Run(made(name, BOTH[:1], never), several=False, bounded=True).steps(16).proposals) == 16
    unknown = Run(made(name, BOTH[:1], BOUND), several=False, bounded=False).steps(16)
    assert len(unknown.proposals) == 16
