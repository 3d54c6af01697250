"""What results teach: losses of every kind of end, fronts, improvement where it underflows."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shoal.search.spec import Objective
from shoal.search.strategies.fronts import front_ranks
from shoal.search.strategies.improvement import log_improvement
from shoal.search.strategies.port import Pending, Result
from shoal.search.strategies.told import Told
from shoal.spaces import Float, Space

SPACE = Space(x=Float(0.0, 1.0))
UP = (Objective(metric="score", direction="maximize"),)


def result(number: int, values: tuple[float, ...] | None, state: str = "completed", **more: object) -> Result:
    config = SPACE.configuration({"x": number / 100})
    return Result(number=number, config=config, state=state, values=values, **more)  # type: ignore[arg-type]


def test_every_end_has_a_loss() -> None:
    """Failed, NaN, infinite and infeasible trials are as bad as the worst, stopped ones no better than the middle."""
    told = Told(UP)
    told.tell(
        [
            result(6, (9.0,), "cancelled"),
            result(0, (3.0,)),
            result(5, (5.0,), "stopped"),
            result(1, (1.0,)),
            result(2, None, "failed"),
            result(3, (math.nan,)),
            result(4, None, "infeasible"),
            result(7, (math.inf,)),
            result(8, (2.0,)),
        ]
    )
    lessons = told.lessons()
    assert [lesson.number for lesson in lessons] == [0, 1, 2, 3, 4, 5, 7, 8]
    assert told.losses(np.random.default_rng(0)).tolist() == [-3.0, -1.0, -1.0, -1.0, -1.0, -2.0, -1.0, -2.0]


def test_nothing_finite_is_no_lesson_yet() -> None:
    told = Told(UP)
    told.tell([result(0, None, "failed"), result(1, (math.nan,))])
    assert len(told.losses(np.random.default_rng(0))) == 0


def test_who_proposed_comes_back() -> None:
    told = Told(UP)
    told.tell([result(0, (1.0,), attrs={"by": "forest"}), result(1, (1.0,), attrs=None)])
    assert [lesson.by for lesson in told.lessons()] == ["forest", ""]


def test_log_improvement_still_ranks_where_improvement_underflows() -> None:
    far = log_improvement(np.array([1.0, 1e2, 1e3, 1e6, 1e9]), np.ones(5), 0.0)
    assert np.all(np.isfinite(far)) and np.all(np.diff(far) < 0)


def test_fronts_come_before_crowding() -> None:
    """Two fronts: in the first the ends come before the middle, then the dominated ones, at last the failed."""
    losses = [(0.0, 4.0), (1.9, 2.1), (4.0, 0.0), (5.0, 5.0), None, (2.0, 2.0)]
    ranks = front_ranks(losses)
    assert sorted(ranks[[0, 2]].tolist()) == [0.0, 1.0]
    assert sorted(ranks[[1, 5]].tolist()) == [2.0, 3.0]
    assert ranks[3] == 4.0 and ranks[4] == 5.0
    assert len(front_ranks([None, None])) == 0


def test_trials_under_way_teach_what_their_curves_would_come_to() -> None:
    """A paused trial may never end; what it has shown counts, and one without a report is only in the way."""
    space = Space(x=Float(0.0, 1.0))
    told = Told((Objective(metric="loss", direction="minimize"),))
    config = space.configuration({"x": 0.5})
    curve = ((1, 4.0), (2, 3.0), (3, 2.0))
    told.tell([Result(number=0, config=config, state="completed", values=(2.0,), curve=curve)])
    waiting = [
        Pending(number=1, config=config, curve=((1, 4.0),)),
        Pending(number=2, config=config),
        Pending(number=3, config=config, curve=((1, math.nan),)),
    ]
    left = told.watch(waiting)
    assert [trial.number for trial in left] == [2]
    assert [lesson.number for lesson in told.lessons()] == [0, 1, 3]
    losses = told.losses(np.random.default_rng(0))
    assert losses[1] == pytest.approx(2.0) and np.isfinite(losses).all()
    told.tell([Result(number=1, config=config, state="completed", values=(1.0,), curve=((1, 4.0), (3, 1.0)))])
    assert told.watch([]) == [] and [lesson.number for lesson in told.lessons()] == [0, 1]
