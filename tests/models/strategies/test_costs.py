"""Cost-aware acquisition: cheap places first, cost fades, and nothing is won by being tiny."""

import numpy as np
import pytest

from shoal.search import strategies
from shoal.search.spec import Chosen, Objective
from shoal.search.strategies.costs import Costs
from shoal.search.strategies.cube import UnitCube
from shoal.search.strategies.port import Result
from shoal.search.strategies.random_forest import Forest
from shoal.spaces import Float, Space

SPACE = Space(x=Float(0.0, 1.0), size=Float(0.0, 1.0))
DOWN = (Objective(metric="loss", direction="minimize"),)


def result(number: int, x: float, size: float, **changes: object) -> Result:
    facts: dict[str, object] = {"state": "completed", "values": ((x - 0.3) ** 2,), "cost_s": 10.0 ** (3.0 * size)}
    return Result(number=number, config=SPACE.configuration({"x": x, "size": size}), **{**facts, **changes})  # type: ignore[arg-type]


def mean_size(name: str, **options: object) -> float:
    """The mean size of 15 trials that the strategy proposes after 15 at random."""
    strategy = strategies.make(Chosen(name=name, options=options), SPACE, DOWN, seed=1)
    rng = np.random.default_rng(0)
    strategy.tell([result(number, *rng.random(2)) for number in range(15)])
    sizes = []
    for number in range(15, 30):
        (proposal,) = strategy.ask(number, 1, (), number)
        assert proposal.config is not None
        sizes.append(proposal.config["size"])
        strategy.tell([result(number, proposal.config["x"], proposal.config["size"])])
    return float(np.mean(sizes))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["random_forest", "bayesian"])
def test_cheap_trials_are_preferred(name: str) -> None:
    """The size changes nothing but the cost, by a factor of a thousand."""
    assert mean_size(name, cost_aware=True, cost_horizon=1000) < 0.6 * mean_size(name)


@pytest.mark.slow
def test_after_the_horizon_cost_counts_no_more() -> None:
    assert mean_size("random_forest", cost_aware=True, cost_horizon=15) == mean_size("random_forest")


def test_the_exponent_falls_from_one_to_nothing() -> None:
    costs = Costs(horizon=50)
    assert [costs.exponent(known) for known in (0, 25, 50, 80)] == [1.0, 0.5, 0.0, 0.0]


def penalty_at(results: list[Result], sizes: list[float]) -> np.ndarray:
    cube, costs = UnitCube(SPACE), Costs(horizon=10**9)
    costs.tell(results)
    rng = np.random.default_rng(0)
    penalty = costs.penalty(Forest(cube, 60), lambda config: cube.encode([config], rng)[0], len(results), rng)
    assert penalty is not None
    return penalty(np.array([[0.5, size] for size in sizes]))


def test_the_cheapest_tenth_gains_no_more() -> None:
    spread = [result(number, 0.5, number / 19) for number in range(20)]
    tiny, small, middle = penalty_at(spread, [0.0, 0.05, 0.5])
    assert tiny == small < middle


def test_a_stopped_trial_costs_by_the_epoch() -> None:
    """Of two trials of one size the one that was stopped after a tenth of its epochs was no cheaper."""
    full = [result(n, 0.5, n / 9, curve=tuple((e, 1.0) for e in range(1, 11))) for n in range(10)]
    costs = Costs(horizon=100)
    costs.tell([*full, result(10, 0.5, 1.0, state="stopped", cost_s=100.0, curve=((1, 1.0),))])
    known = [cost for _, cost in costs.known()]
    assert known[-1] == pytest.approx(known[-2])


def test_unknown_costs_change_nothing() -> None:
    costs = Costs(horizon=10)
    costs.tell([result(0, 0.1, 0.1, state="failed", values=None), result(1, 0.1, 0.1, cost_s=0.0)])
    assert costs.known() == []
    cube = UnitCube(SPACE)
    assert costs.penalty(Forest(cube, 5), lambda config: cube.draw(np.random.default_rng(0), 1)[0], 2,
                         np.random.default_rng(0)) is None  # fmt: skip
