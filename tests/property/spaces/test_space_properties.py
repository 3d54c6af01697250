"""Whatever the space: what goes out comes back, and units stay in range."""

import json
import pickle

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from space_trees import leaves, spaces

from shoal.spaces import Constant, Node, Space, node_from_json

quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
seeds = st.integers(0, 2**32 - 1)


@quick
@given(spaces, seeds)
def test_every_form_of_a_configuration_reads_back(space: Space, seed: int) -> None:
    config = space.sample(np.random.default_rng(seed))
    text = json.dumps(config.to_json())
    assert space.configuration(json.loads(text)) == config
    assert space.from_flat(config.flat()) == config
    assert space.validate(config) == config and space.violations(config) == []
    answers = {decision.path: value for decision, value in space.decisions_of(config)}
    assert space.build(lambda decision: answers[decision.path]) == config
    assert pickle.loads(pickle.dumps(config)) == config


@quick
@given(spaces, seeds)
def test_a_space_reads_back_and_draws_the_same(space: Space, seed: int) -> None:
    again = Space.from_json(json.loads(json.dumps(space.to_json())))
    assert again == space and hash(again) == hash(space)
    drawn = again.sample(np.random.default_rng(seed))
    assert drawn.key() == space.sample(np.random.default_rng(seed)).key()


@quick
@given(spaces, seeds)
def test_active_decisions_are_among_the_unrolled_ones_whose_paths_are_distinct(space: Space, seed: int) -> None:
    unrolled = space.all_decisions()
    paths = [decision.path for decision in unrolled]
    assert len(paths) == len(set(paths))
    config = space.sample(np.random.default_rng(seed))
    active = [decision for decision, _ in space.decisions_of(config)]
    assert set(active) <= set(unrolled)


@settings(max_examples=150, deadline=None)
@given(leaves, st.floats(0, 1))
def test_units_map_into_the_domain_and_back(domain: Node, u: float) -> None:
    if isinstance(domain, Constant):
        return
    value = domain.from_unit(u)  # type: ignore[attr-defined]
    assert domain.contains(value)  # type: ignore[attr-defined]
    place = domain.to_unit(value)  # type: ignore[attr-defined]
    assert 0.0 <= place <= 1.0
    back = domain.from_unit(place)  # type: ignore[attr-defined]
    size = domain.size()
    if size is not None and size <= 2**40:
        assert back == value and type(back) is type(value)
    else:
        assert np.isclose(float(back), float(value), rtol=1e-6, atol=1e-6 * (1 + abs(float(value))))
    again = node_from_json(json.loads(json.dumps(domain.to_json())))
    assert again == domain and repr(again) == repr(domain)
