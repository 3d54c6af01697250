"""Outcome constraints in the strategies that are made of Optuna's samplers, and in Optuna's own loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import optuna
import pytest
from optuna.trial import TrialState

from shoal.optuna import BayesianSampler, EvolutionSampler, RandomForestSampler
from shoal.search.spec import Chosen, Objective, OutcomeConstraint
from shoal.search.strategies import describe, make
from shoal.search.strategies.optuna_strategy import OUTSIDE, OptunaStrategy
from shoal.search.strategies.port import Result
from shoal.spaces import Float, Space

SPACE = Space(x=Float(0.0, 1.0), y=Float(0.0, 1.0))
UP = (Objective(metric="score", direction="maximize"),)
RANGE = (
    OutcomeConstraint(metric="mib", relation="<=", bound=10.0),
    OutcomeConstraint(metric="mib", relation=">=", bound=2.0),
)


def told(name: str, *ends: tuple[str, tuple[float | None, ...]]) -> list[Any]:
    """The trials that Optuna's sampler sees, for each (state, outcomes)."""
    strategy = make(Chosen(name=name), SPACE, UP, constraints=RANGE)
    assert isinstance(strategy, OptunaStrategy)
    strategy.tell(
        [
            Result(
                number=number,
                config=SPACE.configuration({"x": number / 10, "y": 0.5}),
                state=state,  # type: ignore[arg-type]
                values=(5.0,),
                outcomes=outcomes,
            )
            for number, (state, outcomes) in enumerate(ends)
        ]
    )
    return strategy._study.get_trials(deepcopy=False)


ENDS = (
    ("completed", (15.0, 15.0)),
    ("completed", (4.0, 4.0)),
    ("completed", (None, None)),
    ("stopped", (1.0, 1.0)),
    ("completed", (float("inf"), float("inf"))),
)


@pytest.mark.parametrize("name", ["tpe", "gp", "nsga2", "optuna:NSGAIIISampler"])
def test_a_sampler_that_knows_constraints_is_shown_the_distances(name: str) -> None:
    trials = told(name, *ENDS)
    outside, inside, unknown, stopped, endless = trials
    assert outside.constraints == {"mib <= 10": 0.5, "mib >= 2": -6.5} and outside.values == [5.0]
    assert max(inside.constraints.values()) <= 0
    assert unknown.state == endless.state == TrialState.FAIL, "it cannot be placed"
    assert stopped.constraints["mib >= 2"] == 0.5


def test_a_sampler_that_only_ranks_is_told_a_worse_value() -> None:
    outside, inside, unknown, *_ = told("cmaes", *ENDS)
    assert outside.values == [-1.5 * OUTSIDE] and inside.values == [5.0] and not outside.constraints
    assert unknown.state == TrialState.FAIL


def test_one_that_looks_at_no_results_says_so() -> None:
    assert not any(trial.constraints for trial in told("optuna:qmc", *ENDS))
    assert not describe("optuna:qmc").constraints


def drawn(trial: optuna.Trial) -> float:
    """The best is at x = 1, where the constraint is broken."""
    x, y = trial.suggest_float("x", 0.0, 1.0), trial.suggest_float("y", 0.0, 1.0)
    trial.set_constraint("weight", x - 0.3)
    return x - y * 0.01


@pytest.mark.slow
@pytest.mark.parametrize("sampler", [BayesianSampler, RandomForestSampler, EvolutionSampler])
def test_constraints_set_in_an_optuna_objective_are_learned(sampler: type[Any]) -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction="maximize", sampler=sampler(seed=2))
    study.optimize(drawn, n_trials=60)
    kept = [trial.params["x"] <= 0.3 for trial in study.trials[30:]]
    assert np.mean(kept) > 0.5, "random trials keep it three times in ten"
    best = max(trial.params["x"] for trial in study.trials if trial.params["x"] <= 0.3)
    assert best > 0.25
