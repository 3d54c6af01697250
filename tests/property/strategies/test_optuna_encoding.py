"""A value goes to Optuna and comes back as it was, in every kind of domain."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from shoal.search.strategies.optuna_encoding import encoding_of
from shoal.spaces import Categorical, Domain, Float, Int, Ordinal

bounded = st.floats(-1e6, 1e6)


@st.composite
def domains(draw: st.DrawFn) -> Domain:
    match draw(st.sampled_from(["float", "log", "step", "int", "big", "stride", "listed", "ordinal"])):
        case "float":
            low = draw(bounded)
            return Float(low, low + draw(st.floats(0, 1e6)))
        case "log":
            low = draw(st.floats(1e-9, 1e3))
            return Float(low, low * draw(st.floats(1, 1e6)), log=True)
        case "step":
            return Float(0.0, 0.1 * draw(st.integers(1, 50)), step=0.1) if draw(st.booleans()) else Float(1, 3, step=1)
        case "int":
            low = draw(st.integers(-(10**6), 10**6))
            return Int(low, low + draw(st.integers(0, 10**6)))
        case "big":
            return Int(-(10**30), draw(st.integers(0, 10**40)))
        case "stride":
            step = draw(st.integers(1, 9))
            return Int(-3, -3 + step * draw(st.integers(0, 20)), step=step)
        case "listed":
            return Categorical(draw(st.lists(st.sampled_from([True, 1, 1.0, None, "a"]), min_size=1, unique_by=repr)))
    return Ordinal(draw(st.lists(st.integers(-5, 99), min_size=1, unique=True)))


def is_exact(domain: Domain) -> bool:
    return not (isinstance(domain, Int) and domain.high - domain.low > 2**53)


@given(domains(), st.floats(0, 1))
def test_round_trip(domain: Domain, u: float) -> None:
    encoding = encoding_of(domain)
    value: Any = domain.from_unit(u)
    param = encoding.param(value)
    assert encoding.distribution._contains(encoding.distribution.to_internal_repr(param))
    back = encoding.value(param)
    assert domain.contains(back) and type(back) is type(value)
    if is_exact(domain):
        assert repr(back) == repr(value)
