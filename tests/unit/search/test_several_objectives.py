"""Several objectives and outcome constraints in a live study: what is judged, who is best, who is on the front."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import Any

import pytest

from shoal.errors import SpecError
from shoal.search import snapshot
from shoal.search.early_stopping import ASHA, check_rule, make_rule
from shoal.search.early_stopping.unstopped import UnstoppedRule
from shoal.search.editing import edit
from shoal.search.spec import Objective, OutcomeConstraint, StudySpec
from shoal.search.transitions import TrialStatus

ACC = Objective(metric="acc", direction="maximize")
MS = Objective(metric="ms", direction="minimize")
LIGHT = OutcomeConstraint(metric="mib", relation="<=", bound=10.0)

Start = Callable[..., Any]


def completed(driver: Any, *values: Any, **reported: float) -> int:
    """One more trial, which returns `values`, or reports metrics and returns nothing."""
    number = len(driver.state.trials)
    driver.propose(number)
    driver.assign(number)
    if reported:
        driver.report(number, 1, **reported)
    driver.end(number, value=list(values) if len(values) > 1 else values[0] if values else None)
    return number


def test_the_front_keeps_what_nothing_is_superior_to(study: Start) -> None:
    driver = study(objectives=(ACC, MS))
    for pair in [(0.5, 5.0), (0.4, 6.0), (0.6, 9.0), (0.5, 5.0), (0.6, 4.0), (0.7, 50.0)]:
        completed(driver, *pair)
    assert sorted(driver.state.front) == [4, 5], "4 is superior to 0, 2 and their like; a tie leaves the earlier"
    assert driver.state.best_number == 5, "the best in the first objective"
    assert driver.state.trials[5].named_values == {"acc": 0.7, "ms": 50.0}


def test_one_objective_has_a_front_of_one(study: Start) -> None:
    driver = study()
    for value in (0.2, 0.9, 0.9, 0.3):
        completed(driver, value)
    assert driver.state.front == [1] and driver.state.best_number == 1


@pytest.mark.parametrize(
    ("returned", "reported", "message"),
    [
        (0.5, {}, "returned 0.5 of type float, wanted 2 numbers (acc, ms)"),
        (None, {"acc": 0.5}, "never reported ms and returned no number (it reported acc)"),
        ({"acc": 0.5}, {}, "wanted 2 numbers (acc, ms)"),
    ],
)
def test_a_missing_objective_fails_the_trial_with_its_name(
    study: Start, returned: Any, reported: dict[str, float], message: str
) -> None:
    driver = study(objectives=(ACC, MS))
    number = completed(driver, *([] if returned is None else [returned]), **reported)
    record = driver.state.trials[number]
    assert record.status is TrialStatus.FAILED and message in record.message


def test_objectives_come_from_one_report(study: Start) -> None:
    driver = study(objectives=(ACC, MS))
    driver.propose(0)
    driver.assign(0)
    driver.report(0, 1, acc=0.5, ms=3.0)
    driver.report(0, 2, acc=0.6)
    driver.end(0)
    assert "the report of step 2, which counts, lacks ms" in driver.state.trials[0].message


def test_the_best_report_of_the_first_objective_counts_for_all(study: Start) -> None:
    driver = study(objectives=(ACC, MS), value_from="best")
    driver.propose(0)
    driver.assign(0)
    for step, (acc, ms) in enumerate([(0.5, 3.0), (0.9, 4.0), (0.6, 1.0)], start=1):
        driver.report(0, step, acc=acc, ms=ms)
    driver.end(0)
    assert driver.state.trials[0].values == (0.9, 4.0)


def test_what_breaks_a_constraint_is_never_the_best(study: Start) -> None:
    driver = study(constraints=(LIGHT,))
    completed(driver, acc=0.9, mib=30.0)
    completed(driver, acc=0.8, mib=20.0)
    assert driver.state.best is None and driver.state.closest.number == 1
    assert driver.state.excess(driver.state.trials[1]) == 1.0
    completed(driver, acc=0.1, mib=10.0)
    assert driver.state.best_number == 2, "the bound itself is inside"
    assert driver.state.closest is None
    assert driver.state.trials[0].status is TrialStatus.COMPLETED


def test_a_constraint_that_was_never_measured_fails_the_trial(study: Start) -> None:
    driver = study(constraints=(LIGHT,))
    number = completed(driver, acc=0.9)
    assert driver.state.trials[number].message == "never reported mib, which the study is subject to (mib <= 10)"


def test_constraint_on_an_objective_needs_no_report_of_its_own(study: Start) -> None:
    driver = study(objectives=(ACC, MS), constraints=(OutcomeConstraint(metric="ms", relation="<=", bound=5.0),))
    completed(driver, 0.9, 7.0)
    completed(driver, 0.5, 4.0)
    assert driver.state.front == [1]


def test_outcomes_reach_the_strategy(study: Start) -> None:
    driver = study(constraints=(LIGHT,))
    completed(driver, acc=0.9, mib=30.0)
    driver.propose(7)
    driver.assign(1)
    driver.end(1, outcome="failed", reason="boom")
    told = [result for instruction in driver.instructions for result in getattr(instruction, "results", ())]
    told += driver.state.untold_results()
    assert [(result.values, result.outcomes) for result in told] == [((0.9,), (30.0,)), (None, ())]


def test_a_snapshot_keeps_front_and_outcomes(study: Start) -> None:
    driver = study(objectives=(ACC, MS), constraints=(LIGHT,))
    for acc, ms, mib in [(0.5, 5.0, 1.0), (0.9, 9.0, 99.0), (0.6, 6.0, 2.0)]:
        completed(driver, acc=acc, ms=ms, mib=mib)
    body = json.loads(json.dumps(snapshot.to_json(driver.state)))
    twin = driver.fresh_state()
    snapshot.restore(twin, body, driver.state.last_seq)
    assert snapshot.to_json(twin) == snapshot.to_json(driver.state) == snapshot.to_json(driver.replayed())
    assert twin.front == [0, 2] and twin.trials[1].outcomes == (99.0,)


def test_the_spec_survives_json_and_keeps_its_goals(study: Start) -> None:
    spec = study(objectives=(ACC, MS), constraints=(LIGHT,)).spec
    assert StudySpec.from_json(json.loads(json.dumps(spec.to_json()))) == spec
    other = study(objectives=(ACC, MS)).spec
    with pytest.raises(SpecError, match="has subject_to mib <= 10 and is opened with nothing"):
        edit(spec, other)


def test_the_rule_looks_at_the_objective_it_names(study: Start) -> None:
    driver = study(objectives=(ACC, MS))
    assert driver.state.spec.watched == ACC
    watching = ASHA(max_epochs=9, metric="ms").chosen()
    check_rule(watching, (ACC, MS))
    driver.state.spec = replace(driver.spec, early_stopping=watching)
    assert driver.state.spec.watched == MS
    driver.propose(0)
    driver.assign(0)
    driver.report(0, 1, acc=0.9, ms=3.0)
    assert driver.rule.seen == [(0, 1, 3.0)]
    rule = make_rule(watching, MS)
    rule.observe(0, 1, 5.0)
    assert rule.verdict(0, can_pause=True).action == "pause"


def test_a_rule_over_all_objectives_is_shown_the_losses_of_each(study: Start) -> None:
    seen: list[Any] = []

    class Seeing(UnstoppedRule):
        def observe_all(self, number: int, step: int, losses: tuple[float, ...] | None) -> None:
            seen.append((number, step, losses))

    driver = study(objectives=(ACC, MS))
    driver.state.spec = replace(driver.spec, early_stopping=ASHA(max_epochs=9, metric="all").chosen())
    driver.state.rule = Seeing()
    driver.propose(0)
    driver.assign(0)
    driver.report(0, 1, acc=0.9, ms=3.0)
    driver.report(0, 2, acc=0.9)
    assert seen == [(0, 1, (-0.9, 3.0)), (0, 2, None)]
    driver.state.observe_again()
    assert seen[2:] == seen[:2]


def test_bounds_from_either_side() -> None:
    assert OutcomeConstraint.parse("acc", ">= 0.9").excess(0.45) == 0.5
    assert OutcomeConstraint.parse("acc", ">=0.9").excess(0.95) == 0.0
    assert OutcomeConstraint.parse("drift", "<= 0").excess(2.0) == 2.0
    assert OutcomeConstraint.parse("acc", "<= -1e-3").distance(-1e-3) == 0.0
    assert OutcomeConstraint.parse("acc", "<= 1").excess(float("nan")) == inf
    assert OutcomeConstraint.parse("acc", "<= 1").excess(None) == inf
