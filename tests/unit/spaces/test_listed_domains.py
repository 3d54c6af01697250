"""Ordinal, Categorical, Constant: values keep their types and are never indices."""

import json
import pickle

import numpy as np
import pytest

from shoal.errors import SpaceError
from shoal.spaces import Categorical, Constant, Ordinal, Space

AWKWARD = [[64, 64], {"k": 3}, None, True, 1, 1.0, (1, 2), float("inf"), {"$tuple": 1}, {1: "a"}, "1"]


def test_T08_awkward_choices_round_trip_with_their_types() -> None:
    space = Space(c=Categorical(AWKWARD))
    again = Space.from_json(json.loads(json.dumps(space.to_json())))
    assert again == space
    for value in AWKWARD:
        config = space.from_flat({"c": value})
        back = again.configuration(json.loads(json.dumps(config.to_json())))
        assert back.c == value and type(back.c) is type(value)
        assert back == config and back.key() == config.key()
    assert len({space.from_flat({"c": value}).key() for value in AWKWARD}) == len(AWKWARD)


def test_T08_a_number_that_a_browser_rewrote_still_finds_its_value() -> None:
    space = Space(c=Categorical([0.0, 1.0, "x"]), d=Ordinal([1, 2.5]))
    assert type(space.configuration({"c": 1, "d": 1.0}).c) is float
    assert type(space.configuration({"c": 1, "d": 1.0}).d) is int
    both = Space(c=Categorical([1, 1.0]))
    assert both.from_flat({"c": 1.0}).to_json() == {"c": {"$float": "1.0"}}


def test_T10_values_not_indices_come_back() -> None:
    space = Space(rate=Categorical([0.1, 0.9]))
    config = space.sample(np.random.default_rng(0))
    assert config.rate in (0.1, 0.9) and config.flat() == {"rate": config.rate}
    assert space.from_flat({"rate": 0.9}).rate == 0.9
    assert {value for c in space.grid(1) for value in c.values()} == {0.1, 0.9}


def test_T42_long_choices_are_carried_whole_and_cut_only_in_messages() -> None:
    long = "x" * 3000
    space = Space(prompt=Categorical([long, long + "y"]))
    config = space.from_flat({"prompt": long})
    assert Space.from_json(space.to_json()).configuration(config.to_json()).prompt == long
    with pytest.raises(SpaceError) as error:
        space.from_flat({"prompt": long + "z"})
    assert len(str(error.value)) < 500


def test_a_configuration_has_its_own_copy_of_a_mutable_value() -> None:
    space = Space(shape=Categorical([[64, 64], [32]]))
    first = space.from_flat({"shape": [64, 64]})
    first.shape.append(1)
    assert space.from_flat({"shape": [64, 64]}).shape == [64, 64]


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Categorical([]), "no values"),
        (lambda: Categorical("abc"), "not a list"),
        (lambda: Categorical([1, 2, 1]), "1 is listed twice"),
        (lambda: Categorical([print]), "builtin_function_or_method"),
        (lambda: Ordinal([1, 2], default=3), "the default 3"),
        (lambda: Categorical(["adam"], default="adm"), "Did you mean 'adam'"),
        (lambda: Constant(object()), "object"),
    ],
)
def test_impossible_lists_are_refused(make: object, named: str) -> None:
    with pytest.raises(SpaceError, match=named) as error:
        make()  # type: ignore[operator]
    assert error.value.remedy


def test_an_ordinal_keeps_its_order_and_starts_in_the_middle() -> None:
    domain = Ordinal(["small", "medium", "large"])
    assert [domain.from_unit(u) for u in (0.1, 0.5, 0.9)] == ["small", "medium", "large"]
    assert domain.initial() == "medium" and domain.index("large") == 2
    assert Categorical(["a", "b"]).initial() == "a" and Categorical([None, 1], default=None).has_defaults()


def test_listed_domains_pickle_without_losing_whether_they_have_a_default() -> None:
    for domain in (Categorical([None, 1]), Categorical([None, 1], default=None)):
        again = pickle.loads(pickle.dumps(domain))
        assert again == domain and again.has_defaults() == domain.has_defaults()


def test_a_constant_is_in_every_configuration_and_in_no_decision() -> None:
    space = Space(kind=Constant([1, 2]), on=Categorical([True, False]))
    config = space.sample(np.random.default_rng(0))
    assert config.kind == [1, 2] and "kind" not in config.flat()
    assert [decision.path for decision in space.all_decisions()] == ["on"]
    assert space.validate({"on": True}).kind == [1, 2]
    with pytest.raises(SpaceError, match="always"):
        space.validate({"on": True, "kind": 3})
