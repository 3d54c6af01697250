"""Rows of a cube say the same as configurations, and moves among rows are moves among configurations."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.search.strategies.cube import UnitCube
from shoal.search.strategies.moves import best_rows, children
from shoal.spaces import Categorical, Choice, Constant, Float, Int, Ordinal, Repeat, Space, distance
from shoal.spaces.encodings import ForestEncoding, GpEncoding

SPACES = {
    "flat": Space(lr=Float(1e-4, 1e-1, log=True), width=Int(1, 64, log=True), kind=Categorical(["a", True, None])),
    "nested": Space(
        outer=Choice(
            one=Space(inner=Choice(x=Space(depth=Int(1, 4)), y=None), rate=Float(0.0, 1.0)),
            two=Space(rate=Float(0.0, 1.0), size=Ordinal([1, 2, 8])),
            three=None,
        ),
        fixed=Constant(3),
    ),
    "repeat": Space(layers=Repeat(Space(width=Int(8, 64), op=Categorical(["x", "y", "z"])), 0, 3)),
    "huge": Space(n=Int(0, 10**40), single=Int(2, 2), step=Float(0.0, 1.0, step=0.25)),
}


@pytest.mark.parametrize("name", SPACES)
def test_features_are_those_of_the_encodings(name: str) -> None:
    space = SPACES[name]
    rng = np.random.default_rng(1)
    configs = [space.sample(rng) for _ in range(40)]
    cube = UnitCube(space)
    rows = cube.encode(configs, rng)
    assert np.allclose(cube.forest_features(rows), ForestEncoding(space).encode(configs))
    assert np.allclose(cube.gp_features(rows), GpEncoding(space).encode(configs))


@pytest.mark.parametrize("name", SPACES)
def test_rows_are_configurations(name: str) -> None:
    """Drawn rows build, know what is active, and come back from their configuration."""
    space = SPACES[name]
    cube = UnitCube(space)
    rows = cube.draw(np.random.default_rng(2), 40)
    active = cube.active(rows)
    again = cube.encode([cube.decode(row) for row in rows], np.random.default_rng(3))
    assert np.allclose(again[active], rows[active], atol=1e-9)
    for row, mask in zip(rows, active, strict=True):
        decided = {decision.path for decision, _ in space.decisions_of(cube.decode(row))}
        assert decided == {path for path, on in zip(cube.columns, mask, strict=True) if on}


@pytest.mark.parametrize("name", SPACES)
def test_children_differ_in_one_or_two_decisions(name: str) -> None:
    space = SPACES[name]
    cube = UnitCube(space)
    rng = np.random.default_rng(4)
    parents = cube.draw(rng, 60)
    born = children(cube, parents, rng)
    changed = 0
    for parent, child in zip(parents, born, strict=True):
        before, after = cube.decode(parent), cube.decode(child)
        changed += before != after
        shared = before.flat().keys() & after.flat().keys()
        assert sum(before.flat()[path] != after.flat()[path] for path in shared) <= 2
        assert distance(before, after) <= 1.0
    assert changed > 40  # a second move may undo the first


def test_a_space_of_one_point_has_no_moves() -> None:
    cube = UnitCube(Space(a=Int(3, 3), b=Constant("x")))
    parents = cube.draw(np.random.default_rng(0), 5)
    assert np.array_equal(children(cube, parents, np.random.default_rng(1)), parents)


def test_local_search_climbs_where_candidates_do_not_reach() -> None:
    """A needle in eight dimensions, from a handful of random rows."""
    space = Space(**{f"x{i}": Float(0.0, 1.0) for i in range(8)})
    cube = UnitCube(space)
    rng = np.random.default_rng(5)

    def score(rows: np.ndarray) -> np.ndarray:
        return -np.sum((rows - 0.3) ** 2, axis=1)

    candidates = cube.draw(rng, 50)
    ranked = best_rows(cube, score, candidates, candidates[:0], rng)
    heights = score(ranked)
    assert np.all(np.diff(heights) <= 0)
    assert heights[0] > score(candidates).max() / 2
