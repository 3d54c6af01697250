"""Random rules: the stored expression says what Python says, and nothing that breaks a rule comes out."""

import json
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shoal.errors import SpaceError
from shoal.spaces import (
    Choice,
    Configuration,
    Float,
    Int,
    Ordinal,
    Repeat,
    Rule,
    Space,
    crossover,
    forbid,
    mutate,
    require,
)
from shoal.spaces.symbols import Symbol

quick = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
seeds = st.integers(0, 2**32 - 1)

NODES = {
    "a": Int(0, 6),
    "b": Float(0, 6, step=0.5),
    "c": Ordinal([1, 2, 4]),
    "o": Choice(x=Space(d=Int(0, 6)), y=None),
    "r": Repeat(Space(e=Int(0, 6)), 1, 3),
}
Condition = Callable[[Any], Any]


numbers: st.SearchStrategy[Condition] = st.recursive(
    st.one_of(
        st.sampled_from(["a", "b", "c"]).map(lambda name: lambda s: s[name]),
        st.integers(-3, 9).map(lambda value: lambda s: value),
    ),
    lambda inner: st.builds(
        lambda op, left, right: lambda s: op(left(s), right(s)),
        st.sampled_from([operator.add, operator.sub, operator.mul]),
        inner,
        inner,
    ),
    max_leaves=3,
)
comparisons: st.SearchStrategy[Condition] = st.builds(
    lambda op, left, right: lambda s: op(left(s), right(s)),
    st.sampled_from([operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]),
    st.sampled_from(["a", "b", "c"]).map(lambda name: lambda s: s[name]),
    numbers,
)
tags: st.SearchStrategy[Condition] = st.sampled_from(["x", "y"]).map(lambda tag: lambda s: s.o == tag)
conditions: st.SearchStrategy[Condition] = st.recursive(
    st.one_of(comparisons, tags),
    lambda inner: st.one_of(
        st.builds(lambda left, right: lambda s: left(s) & right(s), inner, inner),
        st.builds(lambda left, right: lambda s: left(s) | right(s), inner, inner),
        inner.map(lambda one: lambda s: negated(one(s))),
    ),
    max_leaves=5,
)


def negated(value: Any) -> Any:
    return ~value if isinstance(value, Symbol) else not value


def listed_constant(condition: Condition) -> bool:
    """Whether the condition compares `c` with something that `c` can never be: that is an error of its own."""
    try:
        Space(rules=[require(condition)], **NODES)
    except SpaceError as error:
        return "not one of its values" in error.cause or "leaves no value" in error.cause
    return False


@quick
@given(conditions, seeds)
def test_a_stored_rule_says_what_python_says(condition: Condition, seed: int) -> None:
    if listed_constant(condition):
        return
    free = Space(**NODES)
    space = Space(rules=[require(condition)], **NODES)
    again = Space.from_json(json.loads(json.dumps(space.to_json())))
    assert again == space and repr(again.rules) == repr(space.rules)
    forbidding = Rule("forbid", space.rules[0].expression)
    rng = np.random.default_rng(seed)
    for _ in range(20):
        config = free.sample(rng)
        said = bool(condition(config))
        assert (space.violations(config) == []) is said
        assert (again.violations(config) == []) is said
        assert space.holds(config) is said
        assert (forbidding.shortfall(config) == 0.0) is not said


@quick
@given(st.lists(st.tuples(st.booleans(), conditions), min_size=1, max_size=3), seeds)
def test_nothing_that_breaks_a_rule_comes_out(rules: list[tuple[bool, Condition]], seed: int) -> None:
    rng = np.random.default_rng(seed)
    try:
        space = Space(rules=[(require if want else forbid)(condition) for want, condition in rules], **NODES)
    except SpaceError:
        return

    def valid(config: Configuration) -> bool:
        return all(bool(condition(config)) is want for want, condition in rules)

    try:
        first, second = space.sample(rng), space.sample(rng)
    except SpaceError as error:
        assert "random draws" in error.cause
        assert not any(valid(config) for config in (Space(**NODES).sample(rng) for _ in range(200)))
        return
    for config in (first, second, mutate(first, rng), crossover(first, second, rng), space.repair(first, rng)):
        assert valid(config) and space.violations(config) == []


@quick
@given(st.integers(0, 6), seeds)
def test_rules_over_elements_say_what_python_says(bound: int, seed: int) -> None:
    cases: list[tuple[Condition, Condition]] = [
        (lambda s: s.r.all(lambda e: e.e <= bound), lambda c: all(e.e <= bound for e in c.r)),
        (lambda s: s.r.any(lambda e: e.e == bound), lambda c: any(e.e == bound for e in c.r)),
        (lambda s: s.r.sum("e") > bound, lambda c: sum(e.e for e in c.r) > bound),
        (
            lambda s: s.r.max("e") - s.r.min("e") < bound,
            lambda c: max(e.e for e in c.r) - min(e.e for e in c.r) < bound,
        ),
        (lambda s: s.r.nondecreasing("e"), lambda c: [e.e for e in c.r] == sorted(e.e for e in c.r)),
        (lambda s: s.r.count * bound >= s.a, lambda c: len(c.r) * bound >= c.a),
        (lambda s: s.o.d <= bound, lambda c: c.o == "y" or c.o.d <= bound),
    ]
    rng = np.random.default_rng(seed)
    configs = [Space(**NODES).sample(rng) for _ in range(10)]
    for symbolic, python in cases:
        space = Space(rules=[require(symbolic)], **NODES)
        assert [space.holds(config) for config in configs] == [python(config) for config in configs]
