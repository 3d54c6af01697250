"""How several objectives are learned one by one, and that the front gets better for it."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.search.spec import Chosen, Objective
from shoal.search.strategies import make
from shoal.search.strategies.cube import UnitCube
from shoal.search.strategies.directions import Direction
from shoal.search.strategies.port import Result
from shoal.search.strategies.several_objectives import EachForest
from shoal.search.strategies.trend import Trend
from shoal.spaces import Categorical, Choice, Configuration, Float, Space

TWO = (Objective(metric="a", direction="minimize"), Objective(metric="b", direction="minimize"))
SPACE = Space(**{f"x{i}": Float(0.0, 1.0) for i in range(6)})
MIXED = Space(x=Float(0.0, 1.0), kind=Categorical(["a", "b"]), op=Choice(conv=Space(k=Float(0.0, 1.0)), pool=None))


def dtlz2(config: Configuration) -> tuple[float, float]:
    """Deb et al. 2005, DTLZ2 with two objectives: the front is a quarter of a circle, x1 to x5 at a half."""
    g = sum((config[f"x{i}"] - 0.5) ** 2 for i in range(1, 6))
    angle = config["x0"] * np.pi / 2
    return float((1 + g) * np.cos(angle)), float((1 + g) * np.sin(angle))


def hypervolume(points: list[tuple[float, float]], limit: float = 2.0) -> float:
    """The share of the square up to `limit` that is dominated."""
    area, lowest = 0.0, limit
    for first, second in sorted(points):
        if first < limit and second < lowest:
            area, lowest = area + (limit - first) * (lowest - second), second
    return area / limit**2


def test_a_trend_finds_what_is_smooth_and_leaves_noise_alone() -> None:
    cube, rng = UnitCube(MIXED), np.random.default_rng(0)
    rows = cube.draw(rng, 40)
    bowl = (rows[:, :1] - 0.5) ** 2
    assert np.allclose(Trend(cube, rows, bowl)(rows), bowl, atol=0.02)
    noise = rng.standard_normal((40, 1))
    fitted = Trend(cube, rows, noise)(rows)
    assert fitted.std() < 0.6 * noise.std()
    assert np.allclose(Trend(cube, rows[:3], np.ones((3, 2)))(rows), 1.0), "a constant stays one"


def test_a_belief_knows_both_objectives_and_looks_in_its_direction() -> None:
    cube, rng = UnitCube(SPACE), np.random.default_rng(1)
    rows = cube.draw(rng, 60)
    table = np.stack([rows[:, 0], 1.0 - rows[:, 0]], axis=1)
    model = EachForest(cube, 20, 0.1)
    one, other = (model.fit(rows, table, Direction(np.array(w)), rng) for w in ([0.9, 0.1], [0.1, 0.9]))
    assert np.allclose(one.expected(rows), table, atol=0.1)
    ends = np.array([[0.05] + [0.5] * 5, [0.95] + [0.5] * 5])
    assert one.mean(ends)[0] < one.mean(ends)[1] and other.mean(ends)[0] > other.mean(ends)[1]
    means, deviations = one.moments(ends)
    assert means.shape == deviations.shape == (2,) and np.all(deviations >= 0.1)
    longer = model.extended(one, ends, rng)
    assert len(longer.rows) == 62 and np.allclose(longer.table[60:], one.expected(ends))


@pytest.mark.slow
def test_the_forest_beats_random_trials_on_a_smooth_front() -> None:
    found = {}
    for name in ("random_forest", "random"):
        strategy = make(Chosen(name=name), SPACE, TWO, seed=0)
        points: list[tuple[float, float]] = []
        for number in range(40):
            (proposal,) = strategy.ask(number, 1, [], number)
            assert proposal.config is not None
            points.append(dtlz2(proposal.config))
            strategy.tell([Result(number=number, config=proposal.config, state="completed", values=points[-1])])
        found[name] = hypervolume(points)
    assert found["random_forest"] > found["random"] + 0.05


def test_trials_without_values_and_stopped_ones_break_nothing() -> None:
    strategy = make(Chosen(name="random_forest", options={"n_startup_trials": 4, "n_trees": 10}), MIXED, TWO, seed=0)
    rng = np.random.default_rng(3)
    ends: list[tuple[str, tuple[float, ...] | None]] = [
        ("completed", (1.0, 2.0)), ("failed", None), ("stopped", (0.5, 9.0)), ("completed", (1e300, -1e300)),
        ("completed", (1.0, 2.0)), ("completed", (float("nan"), 1.0)), ("infeasible", None),
    ]  # fmt: skip
    for number, (state, values) in enumerate(ends):
        config = MIXED.sample(rng)
        strategy.tell([Result(number=number, config=config, state=state, values=values)])  # type: ignore[arg-type]
    found = strategy.ask(7, 3, [], 5)
    assert len({proposal.config.key() for proposal in found if proposal.config is not None}) == 3
