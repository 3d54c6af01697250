"""Early stopping by the place over all objectives."""

from __future__ import annotations

import math
from typing import Any

import pytest

from shoal.errors import SpecError
from shoal.search.early_stopping import ASHA, Median, Patience, check_rule, make_rule
from shoal.search.early_stopping.all_objectives import AllObjectivesRule
from shoal.search.spec import Objective

ACC = Objective(metric="acc", direction="maximize")
MS = Objective(metric="ms", direction="minimize")


def rule(**options: Any) -> AllObjectivesRule:
    made = make_rule(ASHA(**{"max_epochs": 9, "metric": "all", **options}).chosen(), ACC)
    assert isinstance(made, AllObjectivesRule)
    return made


def test_what_no_other_trial_is_superior_to_goes_on() -> None:
    """Six trials at the first rung: the two on the front go on, though a third one is second in the first objective."""
    asha = rule()
    losses = {0: (0.0, 9.0), 1: (1.0, 9.5), 2: (5.0, 0.0), 3: (6.0, 1.0), 4: (7.0, 9.9), 5: (9.0, 9.9)}
    for number, own in losses.items():
        asha.observe_all(number, 1, own)
    assert {promotion.number for promotion in asha.promotions(range(6))} == {0, 2}
    verdict = asha.verdict(1, can_pause=True)
    assert verdict.action == "pause" and verdict.reason.startswith("over all objectives: rung 0 (1 epoch)")
    assert "over all objectives: " in asha.farewell(5)


def test_the_answer_is_a_function_of_the_set_of_reports() -> None:
    reports = [(n, step, (float(n % 3), float((n * step) % 4))) for n in range(9) for step in (1, 3)]
    forth, back = rule(), rule()
    for number, step, losses in reports:
        forth.observe_all(number, step, losses)
        forth.verdict(number, can_pause=True)
    for number, step, losses in sorted(reports, key=lambda one: (-one[0], one[1])):
        back.observe_all(number, step, losses)
    for number in range(9):
        assert forth.verdict(number, can_pause=True) == back.verdict(number, can_pause=True)
    assert forth.promotions(range(9)) == back.promotions(range(9))


def test_missing_and_not_finite_objectives() -> None:
    asha = rule(form="stopping")
    for number in range(6):
        asha.observe_all(number, 1, (float(number), 1.0))
    asha.observe_all(6, 1, (math.nan, 0.0))
    assert asha.verdict(6, can_pause=True).action == "stop"
    asha.observe_all(7, 1, None)
    assert asha.verdict(7, can_pause=True).action == "continue", "no decision without a value"
    asha.observe_all(7, 1, (0.0, 0.0))
    assert asha.verdict(7, can_pause=True).action == "continue", "the first report of a step counts"
    lonely = rule(form="stopping")
    lonely.observe_all(0, 1, (math.inf, 0.0))
    assert lonely.verdict(0, can_pause=True).action in ("stop", "continue")


def test_the_median_rule_takes_places_too() -> None:
    median = make_rule(Median(metric="all", min_peers=2).chosen(), ACC)
    assert isinstance(median, AllObjectivesRule)
    for step in (1, 2, 3):
        for number in range(6):
            median.observe_all(number, step, (float(number), float(number)))
    assert median.verdict(5, can_pause=False).action == "stop"
    assert median.verdict(0, can_pause=False).action == "continue"


def test_rules_that_do_not_compare_trials_refuse() -> None:
    check_rule(ASHA(max_epochs=9, metric="all").chosen(), (ACC, MS))
    with pytest.raises(SpecError, match="patience cannot look at all objectives"):
        check_rule(Patience(metric="all").chosen(), (ACC, MS))
    with pytest.raises(SpecError, match="cannot be called 'all'"):
        Objective(metric="all", direction="maximize")
