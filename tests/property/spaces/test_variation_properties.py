"""Whatever the operators return is valid and honours the rules; encodings read back."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from space_trees import spaces

from shoal.spaces import (
    Configuration,
    Float,
    Int,
    Repeat,
    Space,
    crossover,
    distance,
    forbid,
    mutate,
    mutate_unseen,
    neighbours,
    require,
)  # fmt: skip
from shoal.spaces.encodings import ForestEncoding, GpEncoding, TokenEncoding

quick = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
seeds = st.integers(0, 2**32 - 1)

RULED = Space(
    x=Float(0, 5),
    y=Float(0, 10),
    n=Int(1, 9),
    layers=Repeat(Space(width=Int(1, 64), skip=Int(0, 1)), 1, 5),
    rules=[
        require(lambda s: s.y >= s.x),
        require(lambda s: s.layers.nondecreasing("width")),
        forbid(lambda s: (s.n > 5) & (s.layers.count < 2)),
        require(lambda s: s.layers.sum("width") <= 150),
    ],
)


def valid(config: Configuration) -> bool:
    widths = [layer.width for layer in config.layers]
    tall = config.n > 5 and len(widths) < 2
    return config.y >= config.x and widths == sorted(widths) and sum(widths) <= 150 and not tall


def close(first: Configuration, second: Configuration) -> bool:
    """Equal but for the last digits of continuous numbers."""
    return distance(first, second) < 1e-6 and first.flat().keys() == second.flat().keys()


@quick
@given(seeds)
def test_T14_every_child_honours_the_rules(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = RULED.sample(rng), RULED.sample(rng)
    for child in (crossover(first, second, rng), mutate(first, rng), *list(neighbours(first, rng))[:10]):
        assert valid(child) and RULED.validate(child) == child


@quick
@given(spaces, seeds)
def test_operators_stay_in_any_space(space: Space, seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = space.sample(rng), space.sample(rng)
    mutant = mutate(first, rng)
    assert space.validate(mutant) == mutant
    assert mutant != first or space.size() == 1 or distance(mutant, first) == 0.0
    child = crossover(first, second, rng)
    assert space.validate(child) == child
    near = [config for config, _ in zip(neighbours(first, rng), range(8), strict=False)]
    assert len({config.key() for config in near}) == len(near) and first not in near
    assert all(space.validate(config) == config for config in near)


@quick
@given(spaces, seeds)
def test_distance_is_symmetric_and_zero_only_to_itself(space: Space, seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = space.sample(rng), space.sample(rng)
    assert distance(first, first) == 0.0
    assert distance(first, second) == pytest.approx(distance(second, first))
    assert 0.0 <= distance(first, second) <= 1.0


@quick
@given(spaces, seeds)
def test_numeric_encodings_read_back(space: Space, seed: int) -> None:
    config = space.sample(np.random.default_rng(seed))
    for encoding in (ForestEncoding(space), GpEncoding(space)):
        rows = encoding.encode([config, config])
        assert rows.shape == (2, len(encoding.columns)) and np.isfinite(rows).all()
        assert ((rows >= -1) & (rows <= 1) | (rows == np.round(rows))).all()
        assert close(encoding.decode(rows[1]), config)


@quick
@given(spaces, seeds)
def test_tokens_read_back_up_to_their_bin(space: Space, seed: int) -> None:
    config = space.sample(np.random.default_rng(seed))
    encoding = TokenEncoding(space, bins=64)
    tokens = encoding.encode(config)
    assert all(0 <= option < encoding.options[position] for position, option in tokens)
    back = encoding.decode(tokens)
    assert encoding.encode(back) == tokens
    assert distance(back, config) <= 1 / 64 + 1e-9


def test_T82_an_exhausted_neighbourhood_is_said_and_a_random_one_given() -> None:
    space = Space(a=Int(0, 1), b=Int(0, 1))
    rng = np.random.default_rng(0)
    first = space.from_flat({"a": 0, "b": 0})
    keys = {config.key() for config in space.grid(1)}
    last = space.from_flat({"a": 1, "b": 1})
    found = mutate_unseen(first, rng, keys - {last.key()})
    assert found.config == last and found.reason.startswith("neighbourhood exhausted")
    everything = mutate_unseen(first, rng, keys)
    assert everything.config.key() in keys and "all seen before" in everything.reason
    assert mutate_unseen(first, rng, {first.key()}).reason == "mutation"


def test_an_element_can_come_and_go_anywhere() -> None:
    space = Space(layers=Repeat(Space(width=Int(1, 1000)), 1, 4))
    config = space.validate({"layers": [{"width": 100}, {"width": 200}, {"width": 300}]})
    widths = [tuple(layer.width for layer in near.layers) for near in neighbours(config, np.random.default_rng(0))]
    shorter = {w for w in widths if len(w) == 2}
    assert shorter == {(100, 200), (100, 300), (200, 300)}
    longer = [w for w in widths if len(w) == 4]
    assert all(set(w) >= {100, 200, 300} for w in longer)
    assert {next(i for i, x in enumerate(w) if x not in (100, 200, 300)) for w in longer} == {0, 1, 2, 3}


def test_the_gp_kernel_is_one_on_the_diagonal_and_positive() -> None:
    rng = np.random.default_rng(0)
    encoding = GpEncoding(RULED)
    rows = encoding.encode([RULED.sample(rng) for _ in range(40)])
    kernel = encoding.kernel(rows, rows, np.full(len(encoding.columns), 0.7))
    assert np.allclose(np.diag(kernel), 1.0) and np.allclose(kernel, kernel.T)
    assert np.linalg.eigvalsh(kernel).min() > -1e-9


def test_forest_columns_have_names_and_activity() -> None:
    space = Space(x=Float(0, 1), layers=Repeat(Space(width=Int(1, 3)), 1, 2))
    encoding = ForestEncoding(space)
    assert encoding.columns == ("x", "layers", "layers[0].width", "layers[1].width?", "layers[1].width")
    row = encoding.encode([space.from_flat({"x": 0.25, "layers": 1, "layers[0].width": 2})])[0]
    assert row.tolist() == [0.25, 0.25, 0.5, 0.0, -1.0]
