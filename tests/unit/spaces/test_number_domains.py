"""Float and Int: bounds, steps, scales, and what is refused."""

import math

import numpy as np
import pytest

from shoal.errors import SpaceError
from shoal.spaces import Choice, Float, Int, Space


def test_T01_a_stepped_float_keeps_its_end_point_and_prints_clean() -> None:
    domain = Float(0.8, 1.0, step=0.1)
    assert list(domain.points(1)) == [0.8, 0.9, 1.0]
    assert domain.size() == 3
    assert {domain.from_unit(u) for u in np.linspace(0, 1, 50).tolist()} == {0.8, 0.9, 1.0}
    assert repr(list(Float(0.1, 0.7, step=0.1).points(1))) == "[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]"


def test_T03_the_documented_inclusive_bound_of_an_int_is_reached() -> None:
    rng = np.random.default_rng(0)
    domain = Int(1, 10, step=1)
    draws = [domain.sample(rng) for _ in range(20_000)]
    counts = np.bincount(draws)[1:]
    assert counts.size == 10
    assert counts.min() > 1_800 and counts.max() < 2_200


@pytest.mark.parametrize("domain", [Float, Int])
def test_T04_log_with_step_is_refused_and_the_alternative_named(domain: type) -> None:
    with pytest.raises(SpaceError, match="exclude each other") as error:
        domain(1, 2, log=True, step=1)
    assert "Ordinal" in error.value.remedy


@pytest.mark.parametrize("high", [math.factorial(50), 2**53 + 1, 2**63])
def test_T07_integers_are_exact_at_any_size(high: int) -> None:
    domain = Int(0, high)
    assert domain.size() == high + 1
    rng = np.random.default_rng(1)
    draws = [domain.sample(rng) for _ in range(200)]
    assert all(type(value) is int and 0 <= value <= high for value in draws)
    assert len({value % 2 for value in draws}) == 2, "odd and even ones: no rounding to multiples"
    assert domain.from_unit(0.0) == 0 and domain.contains(high) and not domain.contains(high + 1)
    assert domain.from_unit(1.0) == high
    space = Space(n=domain)
    config = space.from_flat({"n": high})
    assert space.configuration(config.to_json()).n == high


def test_T07_a_log_scale_that_doubles_cannot_carry_is_refused_at_definition() -> None:
    with pytest.raises(SpaceError, match="exact only up to"):
        Int(1, 2**53 + 1, log=True)


def test_a_log_scale_needs_positive_bounds_and_offers_zero_as_a_choice() -> None:
    with pytest.raises(SpaceError, match="low > 0") as error:
        Float(0.0, 1.0, log=True)
    assert "Choice(zero=None" in error.value.remedy
    space = Space(decay=Choice(zero=None, positive=Space(value=Float(1e-6, 1.0, log=True))))
    tags = {space.sample(np.random.default_rng(seed)).decay.choice for seed in range(20)}
    assert tags == {"zero", "positive"}


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Float(1.0, 0.0), "low is above high"),
        (lambda: Float(float("nan"), 1.0), "low is not finite"),
        (lambda: Float(0.0, float("inf")), "high is not finite"),
        (lambda: Float("0", 1.0), "low is not a number"),  # type: ignore[arg-type]
        (lambda: Float(True, 2.0), "low is not a number"),
        (lambda: Float(0.0, 1.0, step=0.3), "whole number of steps"),
        (lambda: Float(0.0, 1.0, step=-0.5), "positive"),
        (lambda: Float(0.0, 1.0, default=2.0), "default=2.0"),
        (lambda: Float(0.0, 1.0, prior=-1.0), "prior=-1.0"),
        (lambda: Int(3, 1), "low is above high"),
        (lambda: Int(1.5, 3), "low is a float"),  # type: ignore[arg-type]
        (lambda: Int(0, 10, step=4), "whole number of steps"),
        (lambda: Int(0, 10, step=0), "positive"),
        (lambda: Int(0, 8, log=True), "low >= 1"),
        (lambda: Int(0, 8, default=9), "default=9"),
    ],
)
def test_impossible_definitions_name_what_is_wrong_and_a_remedy(make: object, named: str) -> None:
    with pytest.raises(SpaceError) as error:
        make()  # type: ignore[operator]
    assert named in error.value.cause and error.value.remedy


def test_the_remedy_for_a_misfitting_step_works() -> None:
    with pytest.raises(SpaceError, match=r"high=0\.9 or high=1\.2"):
        Float(0.0, 1.0, step=0.3)
    assert list(Float(0.0, 0.9, step=0.3).points(1)) == [0.0, 0.3, 0.6, 0.9]


def test_a_single_point_and_the_widest_range_are_ranges_too() -> None:
    assert Float(1, 1).size() == 1 and Float(1, 1).from_unit(0.7) == 1.0 and Float(1, 1).to_unit(1.0) == 0.5
    widest = Float(-1.7e308, 1.7e308)
    assert math.isfinite(widest.from_unit(0.75)) and widest.to_unit(widest.from_unit(0.75)) == pytest.approx(0.75)


def test_log_ints_share_by_their_width_on_the_log_scale() -> None:
    domain = Int(1, 4, log=True)
    units = [(i + 0.5) / 10_000 for i in range(10_000)]
    share = sum(domain.from_unit(u) == 1 for u in units) / len(units)
    assert share == pytest.approx(math.log(1.5 / 0.5) / math.log(4.5 / 0.5), abs=1e-3)


def test_a_prior_draws_towards_its_value_and_keeps_the_ends_reachable() -> None:
    domain = Float(1e-5, 1.0, log=True, prior=1e-3)
    units = [(i + 0.5) / 1_000 for i in range(1_000)]
    logs = [math.log10(domain.from_unit(u)) for u in units]
    assert sum(abs(log + 3) < 1 for log in logs) > 600
    assert domain.from_unit(0.0) == pytest.approx(1e-5) and domain.from_unit(1.0) == pytest.approx(1.0)
    stepped = Int(0, 100, step=10, prior=20)
    values = [stepped.from_unit(u) for u in units]
    assert max(set(values), key=values.count) == 20 and set(values) <= set(range(0, 101, 10))


def test_numpy_numbers_become_plain_ones_and_types_are_checked() -> None:
    assert type(Int(1, 5).coerce(np.int64(3))) is int
    assert type(Float(0, 5).coerce(np.float32(0.5))) is float
    assert not Int(1, 5).contains(3.0) and not Int(0, 5).contains(True) and not Float(0, 1).contains(True)
    assert Float(0, 5).coerce(3) == 3.0 and type(Float(0, 5).coerce(3)) is float
    assert math.copysign(1, Float(-1, 1).coerce(-0.0)) == 1.0
