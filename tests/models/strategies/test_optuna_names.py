"""Names and options of Optuna's samplers as strategies."""

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
        ("optuna:TPESampeler", {}, "Did you mean 'TPESampler'"),
        ("optuna:GridSampler", {}, "strategy='grid'"),
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


@pytest.mark.parametrize("name", ["tpe", "nsga2"])
def test_several_objectives(name: str) -> None:
    strategy = strategies.make(Chosen(name=name), SPACE, TWO)
    assert len(strategy.ask(0, 3, [], 1)) == 3


@pytest.mark.parametrize(
    ("short", "full"),
    [("optuna:gp", "optuna:GPSampler"), ("optuna:NSGA2", "optuna:NSGAIISampler"), ("tpe", "tpe")],
)
def test_short_names(short: str, full: str) -> None:
    assert strategies.describe(short).name == full
