"""Rules that leave a tiny part of a space, or nothing."""

import numpy as np
import pytest

from shoal.errors import SpaceError
from shoal.spaces import Configuration, Float, Int, Space, require


def draws(space: Space, number: int, seed: int = 0) -> list[Configuration]:
    rng = np.random.default_rng(seed)
    return [space.sample(rng) for _ in range(number)]


def test_T13_a_tiny_valid_region_is_found_and_spread_over() -> None:
    names = [f"x{i}" for i in range(10)]

    def total(s: object) -> object:
        value = s[names[0]]  # type: ignore[index]
        for name in names[1:]:
            value = value + s[name]  # type: ignore[index]
        return value <= 1

    space = Space(rules=[require(total)], **{name: Float(0, 1) for name in names})
    sums = [sum(config.values()) for config in draws(space, 60)]
    assert max(sums) <= 1
    assert 0.7 < float(np.mean(sums)) < 0.99, "the uniform distribution on the simplex has mean 10/11"
    firsts = [config.x0 for config in draws(space, 60, seed=1)]
    assert max(firsts) > 0.15


def test_T13_an_unsatisfiable_space_is_told_apart_from_a_small_one() -> None:
    finite = Space(a=Int(1, 5), b=Int(1, 5), rules=[require(lambda s: s.a + s.b > 10)])
    with pytest.raises(SpaceError, match=r"None of the 25 configurations is valid: require\(\(a \+ b\) > 10\)"):
        finite.sample(np.random.default_rng(0))
    infinite = Space(a=Float(0, 1), b=Float(0, 1), rules=[require(lambda s: s.a + s.b > 3)])
    with pytest.raises(SpaceError, match=r"empty or nearly so: require\(\(a \+ b\) > 3\) is broken by 64 of 64"):
        infinite.sample(np.random.default_rng(0))
    with pytest.raises(SpaceError, match="leaves no value of 'a'"):
        Space(a=Int(1, 5), rules=[require(lambda s: s.a > 5)])
