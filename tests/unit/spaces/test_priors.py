"""`default=` with `prior=`: where draws go, what is refused, that JSON keeps it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shoal.errors import SpaceError
from shoal.spaces import Categorical, Float, Int, Ordinal, Space
from shoal.spaces.domain import Domain

LOG = {"low": 1e-4, "high": 1.0, "log": True}


def near(domain: Domain, values: set[Any], draws: int = 2000) -> float:
    rng = np.random.default_rng(0)
    return sum(domain.sample(rng) in values for _ in range(draws)) / draws


def test_the_stronger_the_belief_the_nearer_the_draws() -> None:
    rng = np.random.default_rng(0)
    spreads = []
    for prior in (None, "low", "medium", "high"):
        domain = Float(**LOG, default=1e-2, prior=prior)  # type: ignore[arg-type]
        draws = np.log10([domain.sample(rng) for _ in range(2000)])
        spreads.append(float(draws.std()))
        assert draws.min() > -4.0 - 1e-9 and draws.max() < 1e-9
    assert spreads == sorted(spreads, reverse=True)
    assert spreads[3] == pytest.approx(0.4, rel=0.1), "high: a tenth of four decades"


def test_a_value_is_a_medium_belief() -> None:
    by_value, by_default = Float(**LOG, prior=1e-2), Float(**LOG, default=1e-2, prior="medium")  # type: ignore[arg-type]
    assert [by_value.from_unit(u) for u in (0.1, 0.5, 0.9)] == [by_default.from_unit(u) for u in (0.1, 0.5, 0.9)]


@pytest.mark.parametrize(("prior", "share"), [("low", 0.4375), ("medium", 0.625), ("high", 0.8125)])
def test_a_category_gets_its_share(prior: Any, share: float) -> None:
    assert near(Categorical(["a", "b", "c", "d"], default="b", prior=prior), {"b"}) == pytest.approx(share, abs=0.03)


def test_ordered_values_near_the_default_are_believed_too() -> None:
    domain = Ordinal([1, 2, 4, 8, 16, 32, 64, 128], default=4, prior="medium")
    shares = [near(domain, {value}) for value in domain.values]
    assert shares[2] == max(shares) and shares[1] > shares[0] and shares[3] > shares[4] > shares[5] > shares[7]
    steps = Int(0, 100, step=10, default=100, prior="high")
    assert near(steps, {90, 100}) > 0.7


@pytest.mark.parametrize(
    "domain",
    [
        Float(**LOG, default=1e-2, prior="high"),  # type: ignore[arg-type]
        Float(0.0, 1.0, step=0.25, default=0.5, prior="low"),
        Int(1, 1000, log=True, default=7, prior="medium"),
        Int(0, 100, step=10, default=100, prior="high"),
        Ordinal(["s", "m", "l"], default="l", prior="high"),
        Categorical([True, 1, 1.0, None], default=1, prior="high"),
        Categorical(["only"], default="only", prior="low"),
        Float(2.0, 2.0, default=2.0, prior="high"),
    ],
)
def test_a_belief_survives_json_and_its_scale_can_be_walked_both_ways(domain: Domain) -> None:
    space = Space(x=domain)
    assert Space.from_json(space.to_json()) == space
    assert "prior=" in repr(domain)
    rng = np.random.default_rng(1)
    for _ in range(50):
        value = domain.sample(rng)
        assert domain.contains(value)
        back = domain.from_unit(domain.to_unit(value))
        assert back == value or back == pytest.approx(value)
        unbent = domain.unbent()
        assert unbent.contains(value) and unbent.from_unit(unbent.to_unit(value)) == pytest.approx(value)
    places = np.linspace(0.0, 1.0, 11)
    assert np.all(domain.log_prior(places) <= 1e-12)
    believed = domain.unbent().to_unit(domain.initial())
    assert domain.log_prior(np.array([believed]))[0] >= domain.log_prior(places).max() - 1e-9
    assert domain.unbent().log_prior(places).tolist() == [0.0] * 11


@pytest.mark.parametrize(
    ("make", "cause", "remedy"),
    [
        (lambda: Float(0.0, 1.0, prior="high"), "prior='high' says how good the default is", "Give default="),
        (lambda: Int(0, 9, default=3, prior="hihg"), "prior='hihg' is no strength", "'low', 'medium' or 'high'"),
        (lambda: Categorical(["a", "b"], prior="low"), "and there is none", "Give default="),
        (lambda: Categorical(["a", "b"], default="a", prior="b"), "prior='b' is no strength", "'medium'"),
        (lambda: Ordinal([1, 2], default=1, prior=2), "prior=2 is no strength", "'medium'"),
        (lambda: Float(0.0, 1.0, prior=3.0), "prior=3.0 is not a number from 0.0 to 1.0", "Move prior inside"),
    ],
)
def test_a_belief_that_cannot_be_is_refused(make: Any, cause: str, remedy: str) -> None:
    with pytest.raises(SpaceError) as caught:
        make()
    assert cause in caught.value.cause and remedy in caught.value.remedy
