"""Whatever the shape of a space: rows, features and moves of its cube mean what its configurations mean."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from space_trees import spaces

from shoal.search.strategies.cube import UnitCube
from shoal.search.strategies.moves import children
from shoal.spaces import Space
from shoal.spaces.encodings import ForestEncoding, GpEncoding


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(spaces, st.integers(0, 2**32 - 1))
def test_rows_are_configurations(space: Space, seed: int) -> None:
    rng = np.random.default_rng(seed)
    cube = UnitCube(space)
    configs = [space.sample(rng) for _ in range(6)]
    rows = cube.encode(configs, rng)
    assert np.allclose(cube.forest_features(rows), ForestEncoding(space).encode(configs))
    assert np.allclose(cube.gp_features(rows), GpEncoding(space).encode(configs))
    born = children(cube, rows, rng)
    assert born.shape == rows.shape and np.all((born >= 0) & (born <= 1))
    for row, mask in zip(born, cube.active(born), strict=True):
        child = cube.decode(row)
        assert space.validate(child) == child
        decided = {decision.path for decision, _ in space.decisions_of(child)}
        assert decided == {path for path, on in zip(cube.columns, mask, strict=True) if on}
