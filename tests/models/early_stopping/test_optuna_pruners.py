"""Optuna's pruners as rules, by hand-made examples."""

from __future__ import annotations

import pytest

from shoal.errors import SpecError
from shoal.search.early_stopping import make_rule, to_chosen
from shoal.search.early_stopping.port import StoppingRule, Verdict
from shoal.search.spec import Chosen, Objective

UP = Objective(metric="acc", direction="maximize")


def curve(rule: StoppingRule, number: int, *values: float) -> Verdict:
    """Report one value an epoch; the verdict after the last."""
    for step, value in enumerate(values, start=1):
        rule.observe(number, step, value)
    return rule.verdict(number, can_pause=True)


def test_optuna_successive_halving_prunes_like_optuna() -> None:
    options = {"min_resource": 1, "reduction_factor": 3}
    rule = make_rule(Chosen(name="optuna:SuccessiveHalvingPruner", options=options), UP)
    actions = [curve(rule, number, value).action for number, value in enumerate([0.5, 0.4, 0.6, 0.55, 0.3, 0.58, 0.57])]
    assert actions == ["continue", "stop", "continue", "stop", "stop", "continue", "stop"]


def test_optuna_median_sees_all_other_trials_as_completed() -> None:
    rule = make_rule(Chosen(name="optuna:median", options={"n_startup_trials": 3}), UP)
    for number in range(3):
        curve(rule, number, 0.5, 0.6)
    assert curve(rule, 3, 0.1, 0.2).action == "stop"
    assert curve(rule, 4, 0.1, 0.7).action == "continue"
    assert "Optuna's MedianPruner" in rule.verdict(4, can_pause=True).reason


def test_a_study_may_be_given_a_name_alone() -> None:
    assert to_chosen("optuna:hyperband").name == "optuna:hyperband"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("optuna:Hyperbnd", "Did you mean 'hyperband'"),
        (Chosen(name="optuna:percentile", options={"percentile": 101}), "Optuna refuses"),
        (Chosen(name="optuna:PatientPruner", options={"wrapped_pruner": 1, "patience": 1}), "takes an object"),
    ],
)
def test_mistakes_are_explained(given: object, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        to_chosen(given)  # type: ignore[arg-type]
