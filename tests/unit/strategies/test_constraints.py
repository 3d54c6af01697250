"""What outcome constraints, borrowed results and beliefs of a person do to what a strategy is taught."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.search.spec import Objective, OutcomeConstraint
from shoal.search.strategies.cube import UnitCube
from shoal.search.strategies.fronts import front_ranks
from shoal.search.strategies.improvement import log_probability_below
from shoal.search.strategies.port import Result
from shoal.search.strategies.told import BORROWED, Told
from shoal.spaces import Float, Space
from shoal.tests.specs import BELIEVED

SPACE = Space(x=Float(0.0, 1.0))
UP = (Objective(metric="score", direction="maximize"),)
LIGHT = (OutcomeConstraint(metric="mib", relation="<=", bound=10.0),)


def result(number: int, value: float | None, outcome: float | None = None, **more: object) -> Result:
    config = SPACE.configuration({"x": abs(number) / 1000})
    state = "failed" if value is None else "completed"
    values = None if value is None else (value,)
    outcomes = () if outcome is None else (outcome,)
    return Result(number=number, config=config, state=state, values=values, outcomes=outcomes, **more)  # type: ignore[arg-type]


def test_debs_order_puts_every_trial_that_keeps_the_constraints_first() -> None:
    told = Told(UP, LIGHT)
    told.tell([result(0, 9.0, 30.0), result(1, 1.0, 5.0), result(2, 3.0, 10.0), result(3, 8.0, 11.0), result(4, None)])
    losses = told.losses(np.random.default_rng(0))
    assert losses[0] == -9.0, "a model still learns what the objective is outside of the constraints"
    assert np.argsort(told.penalised(losses)).tolist() == [2, 1, 3, 0, 4]
    assert told.distances()[:4, 0].tolist() == [2.0, -0.5, 0.0, pytest.approx(0.1)]
    assert np.isnan(told.distances()[4, 0]), "a trial that failed says nothing about the constraint"


def test_without_constraints_nothing_is_penalised() -> None:
    told = Told(UP)
    told.tell([result(0, 9.0), result(1, 1.0), result(2, None)])
    losses = told.losses(np.random.default_rng(0))
    assert told.penalised(losses).tolist() == losses.tolist()


def test_fronts_rank_what_breaks_constraints_by_how_far() -> None:
    losses = [(0.0, 0.0), (1.0, 0.0), None, (0.0, 1.0), (9.0, 9.0), (0.0, 0.0)]
    ranks = front_ranks(losses, [0.5, 0.0, np.inf, 0.0, 0.0, 0.1])
    assert sorted(ranks[[1, 3]].tolist()) == [0.0, 1.0]
    assert ranks[[4, 5, 0, 2]].tolist() == [2.0, 3.0, 4.0, 5.0]


def test_probability_below_still_ranks_far_away() -> None:
    far = log_probability_below(np.array([1.0, 10.0, 1e3, 1e6]), np.ones(4), 0.0)
    assert np.all(np.isfinite(far)) and np.all(np.diff(far) < 0)


def test_borrowed_results_take_this_studys_scale_and_fade() -> None:
    told = Told(UP)
    told.tell([result(-1 - n, 1000.0 * n, borrowed_from="old") for n in range(BORROWED + 20)])
    assert len(told.lessons()) == BORROWED
    told.tell([result(n, float(n % 3)) for n in range(30)])
    lessons, losses = told.lessons(), told.losses(np.random.default_rng(0))
    assert len(lessons) == BORROWED, "with every result of the study's own one of them is forgotten"
    own = losses[BORROWED - 30 :]
    lent = losses[: BORROWED - 30]
    assert own.tolist() == [-float(n % 3) for n in range(30)]
    assert lent.mean() == pytest.approx(own.mean()) and lent.std() == pytest.approx(own.std())
    assert np.all(np.diff(lent) > 0), "their order stays: the lower the number, the better they were"
    told.tell([result(n, 0.5) for n in range(30, BORROWED)])
    assert not any(lesson.borrowed_from for lesson in told.lessons())


def test_rows_of_the_cube_know_what_a_person_believes() -> None:
    cube = UnitCube(BELIEVED)
    default = BELIEVED.default()
    assert default is not None
    rng = np.random.default_rng(0)
    (row,) = cube.encode([default], rng)
    assert cube.decode(row) == default
    rows = cube.draw(rng, 400)
    assert cube.log_prior(np.array([row]))[0] == pytest.approx(0.0, abs=0.05)
    assert np.all(cube.log_prior(rows) <= 1e-9) and cube.log_prior(rows).min() < -3
    assert cube.encode([cube.decode(one) for one in rows], rng).shape == rows.shape
    kinds = [cube.decode(one).kind for one in rows]
    assert 0.7 < kinds[::2].count("c") / 200 < 0.9, "high: three quarters, and a fourth of the rest"
    assert 0.15 < kinds[1::2].count("c") / 200 < 0.35, "so that a wrong belief can be found out"
    again = cube.encode([cube.decode(one) for one in rows[:50]], rng)
    active = cube.active(rows[:50])
    assert np.allclose(again[active], rows[:50][active], atol=0.01)
    flat = UnitCube(SPACE)
    assert flat.log_prior(flat.draw(rng, 5)).tolist() == [0.0] * 5
