"""What Optuna's samplers are shown, and that they learn from it."""

from __future__ import annotations

import warnings

import pytest
from optuna.trial import TrialState

from shoal.search.spec import Chosen, Objective
from shoal.search.strategies import make
from shoal.search.strategies.optuna_strategy import OptunaStrategy
from shoal.search.strategies.port import Pending, Result
from shoal.spaces import Float, Space

SPACE = Space(x=Float(0.0, 1.0))
UP = (Objective(metric="score", direction="maximize"),)
DOWN = (Objective(metric="loss", direction="minimize"),)


def tpe(objectives: tuple[Objective, ...] = UP, **options: object) -> OptunaStrategy:
    strategy = make(Chosen(name="tpe", options=options), SPACE, objectives)
    assert isinstance(strategy, OptunaStrategy)
    return strategy


def at(x: float) -> object:
    return SPACE.configuration({"x": x})


@pytest.mark.parametrize(("objectives", "good"), [(UP, 0.9), (DOWN, 0.1)], ids=["maximize", "minimize"])
def test_learns_in_the_right_direction(objectives: tuple[Objective, ...], good: float) -> None:
    strategy = tpe(objectives)
    strategy.tell(
        [Result(number=i, config=at(i / 30), state="completed", values=(i / 30,)) for i in range(30)]  # type: ignore[arg-type]
    )
    proposals = strategy.ask(30, 10, [], 4)
    mean = sum(p.config.x for p in proposals if p.config is not None) / 10
    assert abs(mean - good) < 0.25


def test_states_that_optuna_sees() -> None:
    strategy = tpe()
    ends = [
        ("completed", (0.5,), TrialState.COMPLETE),
        ("completed", (float("nan"),), TrialState.FAIL),
        ("stopped", (0.2,), TrialState.PRUNED),
        ("failed", None, TrialState.FAIL),
        ("infeasible", None, TrialState.FAIL),
        ("cancelled", None, TrialState.FAIL),
    ]
    strategy.tell(
        [
            Result(number=i, config=at(i / 10), state=state, values=values, curve=((1, 0.1), (3, 0.2)))  # type: ignore[arg-type]
            for i, (state, values, _) in enumerate(ends)
        ]
    )
    strategy.ask(7, 1, [Pending(number=6, config=at(0.7))], 0)  # type: ignore[arg-type]
    trials = strategy._study.get_trials(deepcopy=False)
    assert [trial.state for trial in trials[:6]] == [state for *_, state in ends]
    assert trials[2].intermediate_values == {1: 0.1, 3: 0.2}
    assert [(trial.number, trial.state) for trial in trials[6:]] == [(6, TrialState.RUNNING), (7, TrialState.RUNNING)]
    assert trials[6].params == {"x": 0.7}


def test_a_proposal_nobody_runs_is_forgotten() -> None:
    strategy = tpe()
    strategy.ask(0, 2, [], 0)
    strategy.ask(2, 1, [Pending(number=1, config=at(0.5))], 1)  # type: ignore[arg-type]
    assert [trial.number for trial in strategy._study.get_trials(deepcopy=False)] == [1, 2]


def test_pending_trials_move_the_proposal() -> None:
    results = [Result(number=i, config=at(i / 30), state="completed", values=(-abs(i / 30 - 0.5),)) for i in range(30)]  # type: ignore[arg-type]
    alone, among = tpe(), tpe()
    alone.tell(results)
    among.tell(results)
    pending = [Pending(number=30 + i, config=at(0.5 + i / 1000)) for i in range(8)]  # type: ignore[arg-type]
    assert alone.ask(38, 1, [], 3)[0].config != among.ask(38, 1, pending, 3)[0].config


def test_no_warning_reaches_the_user() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in ("tpe", "cmaes", "nsga2"):
            strategy = make(Chosen(name=name), SPACE, UP)
            strategy.tell(
                [Result(number=i, config=at(i / 20), state="completed", values=(1.0,)) for i in range(20)]  # type: ignore[arg-type]
            )
            assert strategy.ask(20, 1, [], 0)
