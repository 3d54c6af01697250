"""Naming, describing and refusing strategies."""

from __future__ import annotations

import pytest

from shoal.errors import SpecError
from shoal.search import strategies
from shoal.search.spec import Chosen, Objective
from shoal.spaces import Float, Space

SPACE = Space(x=Float(0.0, 1.0))
UP = (Objective(metric="score", direction="maximize"),)
TWO = (*UP, Objective(metric="ms", direction="minimize"))


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("randm", {}, "Did you mean 'random'"),
        ("TPE", {}, "Did you mean 'tpe'"),
        ("random", {"seed": 3}, "random has no option 'seed'. It takes no options."),
        ("grid", {"points_per_flot": 3}, "Did you mean 'points_per_float'.*Allowed: points_per_float"),
        ("grid", {"points_per_float": 0}, "at least 1"),
        ("grid", {"points_per_float": 2.5}, "is not an integer"),
        ("sobol", {"scramble": 1}, "is not true or false"),
    ],
)
def test_mistakes_are_explained(name: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        strategies.make(Chosen(name=name, options=options), SPACE, UP)


def test_one_objective_only() -> None:
    with pytest.raises(SpecError, match="takes one objective, and this study has 2"):
        strategies.check(Chosen(name="cmaes"), has_space=True, objectives=TWO)


def test_random_takes_several_objectives() -> None:
    strategy = strategies.make(Chosen(name="random"), SPACE, TWO)
    assert len(strategy.ask(0, 3, [], 1)) == 3


def test_options_are_listed_with_defaults_and_bounds() -> None:
    (option,) = strategies.describe("grid").options
    assert (option.name, option.type, option.default, option.allowed) == ("points_per_float", "int", 5, "at least 1")
