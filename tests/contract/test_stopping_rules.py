"""What every registered stopping rule owes."""

from __future__ import annotations

import math
import random

import pytest

from shoal.errors import SpecError
from shoal.search import early_stopping
from shoal.search.early_stopping.port import StoppingRule
from shoal.search.spec import Chosen, Objective

UP = Objective(metric="score", direction="maximize")
DOWN = Objective(metric="score", direction="minimize")

REQUIRED: dict[str, dict[str, object]] = {
    "asha": {"max_epochs": 9},
    "hyperband": {"max_epochs": 9},
    "freeze_thaw": {"max_epochs": 9},
    "percentile": {"keep_percent": 25.0},
    "threshold": {"upper": 5.0},
    "optuna:PercentilePruner": {"percentile": 25.0},
    "optuna:PatientPruner": {"patience": 2},
    "optuna:ThresholdPruner": {"upper": 5.0},
    "optuna:HyperbandPruner": {"max_resource": 9},
}
NAMES = early_stopping.names()
SET_BASED = [name for name in NAMES if not name.startswith("optuna:")]

VALUES = [0.5, math.nan, 0.9, None, math.inf, -math.inf, 0.1, 0.7, 0.7]


def made(name: str, objective: Objective = UP) -> StoppingRule:
    return early_stopping.make_rule(Chosen(name=name, options=REQUIRED.get(name, {})), objective)


def reports(seed: int, trials: int = 12, epochs: int = 9) -> list[tuple[int, int, float | None]]:
    """Each trial's reports in order, trials interleaved at random."""
    rng = random.Random(seed)
    last = dict.fromkeys(range(trials), 0)
    told = []
    while len(told) < trials * epochs // 2:
        number = rng.choice([n for n, step in last.items() if step < epochs])
        last[number] += 1
        told.append((number, last[number], rng.choice([rng.random(), rng.random(), rng.choice(VALUES)])))
    return told


@pytest.mark.parametrize("objective", [UP, DOWN], ids=["maximize", "minimize"])
@pytest.mark.parametrize("name", NAMES)
def test_every_verdict_has_a_reason(name: str, objective: Objective) -> None:
    """T27, T32: values of every kind, missing, repeated, decreasing; nobody who cannot pause is paused."""
    rule = made(name, objective)
    for seed in range(3):
        for number, step, value in reports(seed):
            rule.observe(number, step, value)
            rule.observe(number, step, 123.0)
            rule.observe(number, step - 1, 321.0)
            for can_pause in (True, False):
                verdict = rule.verdict(number, can_pause=can_pause)
                assert verdict.reason
                assert can_pause or verdict.action != "pause"
                assert verdict.action == "stop" or not verdict.finished
    for closing in (False, True):
        for promotion in rule.promotions(range(12), closing=closing):
            assert promotion.reason
    assert all(rule.farewell(number) for number in range(14))


@pytest.mark.parametrize("name", NAMES)
def test_questions_change_nothing(name: str) -> None:
    """A rule that is asked all the time answers like one that is asked once."""
    asked, silent = made(name), made(name)
    for number, step, value in reports(5):
        for rule in (asked, silent):
            rule.observe(number, step, value)
        for other in range(12):
            asked.verdict(other, can_pause=other % 2 == 0)
        asked.promotions(range(12))
        asked.promotions(range(12), closing=True)
    assert [asked.verdict(n, can_pause=True) for n in range(12)] == [
        silent.verdict(n, can_pause=True) for n in range(12)
    ]
    assert asked.promotions(range(12)) == silent.promotions(range(12))


@pytest.mark.parametrize("name", NAMES)
def test_the_first_report_of_a_step_counts(name: str) -> None:
    """T32: repeated and decreasing steps are ignored, whatever they say."""
    plain, noisy = made(name), made(name)
    for number, step, value in reports(6):
        plain.observe(number, step, value)
        noisy.observe(number, step, value)
        noisy.observe(number, step, 1e9)
        noisy.observe(number, max(step - 1, 0), -1e9)
        assert plain.verdict(number, can_pause=True) == noisy.verdict(number, can_pause=True)


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_metric_decides_nothing(name: str) -> None:
    """T27: no decision at a report without the metric; the next one counts again."""
    rule = made(name)
    for number in range(8):
        rule.observe(number, 1, 0.5 + number / 100)
    rule.observe(8, 1, None)
    assert rule.verdict(8, can_pause=True).action == "continue"
    rule.observe(8, 2, 0.4)
    assert rule.verdict(8, can_pause=True).reason


@pytest.mark.parametrize("name", NAMES)
def test_an_unknown_trial_goes_on(name: str) -> None:
    rule = made(name)
    assert rule.verdict(3, can_pause=True).action == "continue"
    assert rule.promotions([3, 4]) == []


@pytest.mark.parametrize("name", SET_BASED)
def test_order_between_trials_does_not_matter(name: str) -> None:
    """The state is that of the set of reports: interleaved otherwise, the answers are the same."""
    told = reports(7)
    one, other = made(name), made(name)
    for report in told:
        one.observe(*report)
    for report in sorted(told):
        other.observe(*report)
    assert [one.verdict(n, can_pause=True) for n in range(12)] == [other.verdict(n, can_pause=True) for n in range(12)]
    assert one.promotions(range(12)) == other.promotions(range(12))
    assert [one.farewell(n) for n in range(12)] == [other.farewell(n) for n in range(12)]


@pytest.mark.parametrize("name", NAMES)
def test_a_constant_objective_stops_nobody_for_being_worse(name: str) -> None:
    """T24: with equal values nobody is worse; rungs still let only a part through, ties by trial number."""
    rule = made(name)
    for number in range(9):
        rule.observe(number, 1, 10.0 if name not in ("threshold", "optuna:ThresholdPruner") else 1.0)
    actions = [rule.verdict(number, can_pause=False).action for number in range(9)]
    assert actions[0] == "continue"
    is_halving = any(word in name.lower() for word in ("asha", "hyperband", "halving", "freeze_thaw"))
    assert is_halving or set(actions) == {"continue"}


@pytest.mark.parametrize("name", NAMES)
def test_description_is_complete(name: str) -> None:
    info = early_stopping.describe(name)
    assert info.name == name and info.summary
    assert all(option.help for option in info.options)


@pytest.mark.parametrize("name", NAMES)
def test_unknown_options_are_refused(name: str) -> None:
    options = {**REQUIRED.get(name, {}), "max_epoch": 3}
    with pytest.raises(SpecError, match="max_epoch"):
        early_stopping.to_chosen(Chosen(name=name, options=options))
