"""What models make of outcome constraints, of borrowed results and of a person's beliefs."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.search.spec import Chosen, Objective
from shoal.search.strategies import describe, make, names
from shoal.search.strategies.cube import UnitCube
from shoal.search.strategies.feasible import Feasibility
from shoal.search.strategies.port import Result
from shoal.search.strategies.random_forest import Forest
from shoal.spaces import Float, Space
from shoal.tests.specs import BELIEVED

UP = (Objective(metric="score", direction="maximize"),)


def test_a_model_learns_where_the_constraints_are_kept() -> None:
    cube = UnitCube(Space(x=Float(0.0, 1.0)))
    rows = np.linspace(0.0, 1.0, 21)[:, None]
    distances = rows - 0.5  # kept in the lower half
    distances[20] = np.nan
    known = Feasibility.learned(Forest(cube, 30), rows, distances, np.random.default_rng(0))
    assert known is not None
    low, high = known.log_probability(np.array([[0.1], [0.9]]))
    assert np.exp(low) > 0.9 and np.exp(high) < 0.1
    belief = Forest(cube, 30).fit(rows, -rows[:, 0], np.random.default_rng(0))
    best = known.best(belief, rows)
    assert best is not None and -0.6 < best < -0.4, "the best is the best of those that keep them"
    none = Feasibility.learned(Forest(cube, 30), rows[12:], distances[12:], np.random.default_rng(0))
    assert none is not None and none.best(belief, rows[12:]) is None
    assert Feasibility.learned(Forest(cube, 30), rows, np.zeros((21, 0)), np.random.default_rng(0)) is None


@pytest.mark.parametrize("name", [name for name in names() if describe(name).borrows])
def test_a_strategy_begins_where_the_other_study_was_good(name: str) -> None:
    """And it may propose what only the other study has tried."""
    space = Space(x=Float(0.0, 1.0), y=Float(0.0, 1.0))
    rng = np.random.default_rng(0)
    configs = [space.sample(rng) for _ in range(60)]
    lent = [
        Result(
            number=-1 - n,
            config=config,
            state="completed",
            values=(-((config.x - 0.2) ** 2) - (config.y - 0.8) ** 2,),
            borrowed_from="old",
        )
        for n, config in enumerate(configs)
    ]

    def distance(results: list[Result]) -> float:
        strategy = make(Chosen(name=name), space, UP, seed=1)
        strategy.tell(results)
        found = [p.config for number in range(12) for p in strategy.ask(number, 1, [], number) if p.config is not None]
        return float(np.median([abs(config.x - 0.2) + abs(config.y - 0.8) for config in found]))

    assert distance(lent) < 0.5 * distance([])


@pytest.mark.parametrize("name", ["random_forest", "bayesian", "portfolio", "random"])
def test_a_strategy_looks_first_where_a_person_believes(name: str) -> None:
    strategy = make(Chosen(name=name), BELIEVED, UP, seed=0)
    near = 0
    for number in range(20):
        (proposal,) = strategy.ask(number, 1, [], number)
        assert proposal.config is not None
        near += 1e-4 < proposal.config.lr < 1e-2
        strategy.tell([Result(number=number, config=proposal.config, state="completed", values=(0.0,))])
    assert near >= 15, "a uniform draw is there in half of the cases"


def test_evidence_outweighs_a_wrong_belief() -> None:
    space = Space(x=Float(0.0, 1.0, default=0.1, prior="high"))
    strategy = make(Chosen(name="bayesian"), space, UP, seed=0)
    xs = []
    for number in range(30):
        (proposal,) = strategy.ask(number, 1, [], number)
        assert proposal.config is not None
        xs.append(proposal.config.x)
        strategy.tell([Result(number=number, config=proposal.config, state="completed", values=(proposal.config.x,))])
    assert max(xs) > 0.95
