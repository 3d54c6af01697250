"""Median, percentile, patience, threshold and none, by hand-made examples."""

from __future__ import annotations

import math

import pytest

from shoal.errors import SpecError
from shoal.search.early_stopping import (
    ASHA,
    Median,
    NoStopping,
    Patience,
    Percentile,
    Threshold,
    describe,
    make_rule,
    to_chosen,
)
from shoal.search.early_stopping.port import StoppingRule, Verdict
from shoal.search.spec import Chosen, Objective

UP = Objective(metric="acc", direction="maximize")
DOWN = Objective(metric="loss", direction="minimize")


def curve(rule: StoppingRule, number: int, *values: float | None) -> Verdict:
    """Report one value an epoch; the verdict after the last."""
    for step, value in enumerate(values, start=1):
        rule.observe(number, step, value)
    return rule.verdict(number, can_pause=True)


def test_median_stops_what_is_worse_than_half_of_its_peers() -> None:
    rule = make_rule(Median(min_peers=3, warmup_epochs=0).chosen(), UP)
    for number, value in enumerate([0.2, 0.4, 0.6]):
        curve(rule, number, value, value)
    assert curve(rule, 3, 0.3, 0.35).action == "stop"
    assert rule.verdict(3, can_pause=True).reason == (
        "epoch 2: best so far 0.35 is worse than 0.4, the median of 3 peers"
    )
    assert curve(rule, 4, 0.3, 0.5).action == "continue"


def test_median_compares_with_running_averages() -> None:
    rule = make_rule(Median(min_peers=1, warmup_epochs=0).chosen(), UP)
    curve(rule, 0, 0.0, 1.0, 1.0)
    assert curve(rule, 1, 0.1, 0.55).action == "continue"
    assert curve(rule, 2, 0.1, 0.4).action == "stop"


def test_too_few_peers_decide_nothing() -> None:
    """T33: minimize; A 4, 2; B 3; C 4, 3, 1. C is alone at its third report and is not stopped."""
    rule = make_rule(Median(min_peers=1, warmup_epochs=0).chosen(), DOWN)
    curve(rule, 0, 4.0, 2.0)
    curve(rule, 1, 3.0)
    verdict = curve(rule, 2, 4.0, 3.0, 1.0)
    assert (verdict.action, verdict.reason) == ("continue", "epoch 3: 0 peers, needs 1 for a decision")


def test_median_waits_for_warmup_and_intervals() -> None:
    rule = make_rule(Median(min_peers=1, warmup_epochs=2, interval_epochs=3).chosen(), UP)
    curve(rule, 0, *[1.0] * 9)
    actions = [curve(rule, 1, *[0.0] * epochs).action for epochs in range(1, 10)]
    assert actions == ["continue", "continue", "stop", "continue", "continue", "stop", "continue", "continue", "stop"]


def test_median_ranks_what_is_not_finite_last() -> None:
    rule = make_rule(Median(min_peers=2, warmup_epochs=0).chosen(), UP)
    curve(rule, 0, 0.5)
    curve(rule, 1, math.nan)
    assert curve(rule, 2, math.inf).action == "continue"  # halfway from 0.5 to no value is no value
    curve(rule, 3, 0.4)
    curve(rule, 4, 0.3)
    assert curve(rule, 5, math.nan).action == "stop"
    assert curve(rule, 6, 0.6).action == "continue"


def test_percentile_keeps_a_smaller_share() -> None:
    rule = make_rule(Percentile(keep_percent=25.0, min_peers=4, warmup_epochs=0).chosen(), DOWN)
    for number in range(5):
        curve(rule, number, float(number))
    assert curve(rule, 5, 0.9).action == "continue"
    verdict = curve(rule, 6, 1.5)
    assert verdict.action == "stop"
    assert "the 25 % mark of 6 peers" in verdict.reason


def test_patience_completes_a_converged_trial() -> None:
    rule = make_rule(Patience(epochs=3, min_delta=0.1).chosen(), UP)
    assert curve(rule, 0, 0.5, 0.55, 0.59).action == "continue"
    verdict = curve(rule, 0, 0.5, 0.55, 0.59, 0.6)
    assert (verdict.action, verdict.finished) == ("stop", True)
    assert curve(rule, 1, 0.5, 0.55, 0.59, 0.61).action == "continue"


def test_patience_stops_a_trial_without_any_finite_value() -> None:
    rule = make_rule(Patience(epochs=2).chosen(), UP)
    assert curve(rule, 0, math.nan).action == "continue"
    verdict = curve(rule, 0, math.nan, math.inf)
    assert (verdict.action, verdict.finished) == ("stop", False)


@pytest.mark.parametrize(("value", "action"), [(0.5, "continue"), (1.5, "stop"), (-0.5, "stop"), (math.nan, "stop")])
def test_threshold(value: float, action: str) -> None:
    rule = make_rule(Threshold(lower=0.0, upper=1.0, warmup_epochs=1).chosen(), UP)
    assert curve(rule, 0, value).action == "continue"
    assert curve(rule, 0, value, value).action == action


def test_none_never_stops() -> None:
    rule = make_rule(NoStopping().chosen(), UP)
    assert curve(rule, 0, math.nan).action == "continue"


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (None, "none"),
        (ASHA(max_epochs=9), "asha"),
        ("median", "median"),
        (Chosen(name="patience", options={"epochs": 3}), "patience"),
    ],
)
def test_what_a_study_may_be_given(given: object, name: str) -> None:
    assert to_chosen(given).name == name  # type: ignore[arg-type]


def test_options_are_filled_in() -> None:
    assert to_chosen(Chosen(name="asha", options={"max_epochs": 9})).options == {
        "max_epochs": 9,
        "min_epochs": 1,
        "reduction_factor": 3,
        "form": "promotion",
    }


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("medain", "Did you mean 'median'"),
        ("asha", "asha needs max_epochs"),
        (Chosen(name="median", options={"min_pears": 2}), "Did you mean 'min_peers'"),
        (Chosen(name="asha", options={"max_epochs": "9"}), "max_epochs='9' is not an integer"),
        (Chosen(name="asha", options={"max_epochs": True}), "is not an integer"),
        (Chosen(name="asha", options={"max_epochs": 3, "form": "pausing"}), "'promotion' or 'stopping'"),
        (Chosen(name="threshold"), "neither lower nor upper"),
        (Chosen(name="percentile", options={"keep_percent": 0}), "above 0"),
        (3, "is no stopping rule"),
    ],
)
def test_mistakes_are_explained(given: object, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        to_chosen(given)  # type: ignore[arg-type]


@pytest.mark.parametrize("make", [lambda: ASHA(max_epochs=0), lambda: ASHA(max_epochs=2, min_epochs=3)])
def test_impossible_epochs_are_refused(make: object) -> None:
    with pytest.raises(SpecError, match="epochs"):
        make()  # type: ignore[operator]


def test_described_options_are_those_of_the_class() -> None:
    options = {option.name: option for option in describe("asha").options}
    assert options["max_epochs"].required
    assert (options["reduction_factor"].default, options["reduction_factor"].allowed) == (3, "at least 2")
