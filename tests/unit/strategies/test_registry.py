"""Naming, describing and refusing strategies."""

from __future__ import annotations

import subprocess
import sys

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
        ("optuna:TPESampeler", {}, "Did you mean 'TPESampler'"),
        ("optuna:GridSampler", {}, "strategy='grid'"),
        ("random", {"seed": 3}, "random has no option 'seed'. It takes no options."),
        ("grid", {"points_per_flot": 3}, "Did you mean 'points_per_float'.*Allowed: points_per_float"),
        ("grid", {"points_per_float": 0}, "at least 1"),
        ("grid", {"points_per_float": 2.5}, "is not an integer"),
        ("sobol", {"scramble": 1}, "is not true or false"),
        ("tpe", {"n_startup_trial": 3}, "Did you mean 'n_startup_trials'"),
        ("tpe", {"multivariate": False}, "group=True needs multivariate=True"),
        ("nsga2", {"crossover_prob": 1.5}, "at most 1"),
        ("cmaes", {"use_separable_cma": True, "with_margin": True}, "Optuna refuses the options"),
        ("optuna:TPESampler", {"gamma": 3}, "takes an object, not JSON"),
        ("optuna:TPESampler", {"seed": 3}, "takes an object|is unknown"),
        ("optuna:tpe", {"n_startup_trial": 3}, "Did you mean 'n_startup_trials'"),
        ("optuna:BruteForceSampler", {}, "needs a finite space"),
    ],
)
def test_mistakes_are_explained(name: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        strategies.make(Chosen(name=name, options=options), SPACE, UP)


def test_one_objective_only() -> None:
    with pytest.raises(SpecError, match="takes one objective, and this study has 2"):
        strategies.check(Chosen(name="cmaes"), has_space=True, objectives=TWO)


@pytest.mark.parametrize("name", ["tpe", "nsga2", "random"])
def test_several_objectives(name: str) -> None:
    strategy = strategies.make(Chosen(name=name), SPACE, TWO)
    assert len(strategy.ask(0, 3, [], 1)) == 3


@pytest.mark.parametrize(
    ("short", "full"),
    [("optuna:gp", "optuna:GPSampler"), ("optuna:NSGA2", "optuna:NSGAIISampler"), ("tpe", "tpe")],
)
def test_short_names(short: str, full: str) -> None:
    assert strategies.describe(short).name == full


def test_describing_loads_no_library() -> None:
    code = (
        "import sys; from shoal.search.strategies import describe, names;"
        "[describe(name) for name in names()];"
        "sys.exit(any(name in sys.modules for name in ('optuna', 'torch', 'scipy', 'sklearn')))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_options_are_listed_with_defaults_and_bounds() -> None:
    (option,) = strategies.describe("grid").options
    assert (option.name, option.type, option.default, option.allowed) == ("points_per_float", "int", 5, "at least 1")
