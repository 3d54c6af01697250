"""ASHA by hand-made examples."""

from __future__ import annotations

import math

import pytest

from shoal.search.early_stopping import ASHA, Hyperband, make_rule
from shoal.search.early_stopping.asha import dealt
from shoal.search.early_stopping.port import StoppingRule
from shoal.search.early_stopping.rungs import bracket_count, bracket_sizes, milestones
from shoal.search.spec import Objective

UP = Objective(metric="acc", direction="maximize")
DOWN = Objective(metric="loss", direction="minimize")


def asha(objective: Objective = UP, **options: object) -> StoppingRule:
    return make_rule(ASHA(**{"max_epochs": 27, **options}).chosen(), objective)  # type: ignore[arg-type]


def action(rule: StoppingRule, number: int, step: int, value: float | None, *, can_pause: bool = True) -> str:
    rule.observe(number, step, value)
    return rule.verdict(number, can_pause=can_pause).action


def test_pauses_at_rungs_until_it_is_in_the_top_third() -> None:
    rule = asha()
    assert [action(rule, number, 1, value) for number, value in enumerate([0.5, 0.6])] == ["pause", "pause"]
    assert rule.promotions([0, 1]) == []
    assert action(rule, 2, 1, 0.7) == "continue"
    assert rule.promotions([0, 1]) == []
    assert [action(rule, n, 1, 0.1) for n in (3, 4, 5)] == ["pause"] * 3
    (promotion,) = rule.promotions([0, 1, 3, 4, 5])
    assert (promotion.number, promotion.rung) == (1, 0)
    assert promotion.reason == "rung 0 (1 epoch): 0.6 is rank 2 of 6, within the top 2"


def test_reason_says_rank_and_what_is_needed() -> None:
    rule = asha(min_epochs=9)
    for number in range(14):
        rule.observe(number, 9, 0.9 - number / 100)
    assert rule.verdict(8, can_pause=True).reason == "rung 0 (9 epochs): 0.82 is rank 9 of 14, needs the top 4"
    assert rule.farewell(8) == "rung 0 (9 epochs): 0.82 is rank 9 of 14, needed the top 4"


def test_highest_rung_first() -> None:
    """Algorithm 2 looks at the rungs from the top."""
    rule = asha()
    for number in range(9):
        rule.observe(number, 1, number / 10)
    for number in (6, 7, 8):
        rule.observe(number, 3, number / 10)
    rule.observe(9, 1, 0.95)
    rule.observe(10, 1, 0.96)
    rule.observe(11, 1, 0.94)
    assert [(p.number, p.rung) for p in rule.promotions(range(12))] == [(8, 1), (10, 0), (9, 0), (11, 0)]


def test_between_rungs_it_goes_on() -> None:
    rule = asha()
    for number in range(3):
        rule.observe(number, 1, float(number))
    rule.observe(2, 2, 0.0)
    verdict = rule.verdict(2, can_pause=True)
    assert (verdict.action, verdict.reason) == ("continue", "epoch 2: next decision at epoch 3")


@pytest.mark.parametrize("can_pause", [True, False])
def test_max_epochs_finishes(can_pause: bool) -> None:
    rule = asha()
    rule.observe(0, 27, None)
    verdict = rule.verdict(0, can_pause=can_pause)
    assert (verdict.action, verdict.finished) == ("stop", True)
    assert "27 of 27 epochs" in verdict.reason


def test_stopping_form_keeps_the_best_while_few() -> None:
    rule = asha(form="stopping")
    values = [0.5, 0.4, 0.6, 0.55, 0.3, 0.58, 0.57]
    actions = [action(rule, number, 1, value) for number, value in enumerate(values)]
    assert actions == ["continue", "stop", "continue", "stop", "stop", "continue", "stop"]


def test_trials_that_cannot_pause_are_stopped_instead() -> None:
    rule = asha()
    assert action(rule, 0, 1, 0.5, can_pause=False) == "continue"
    assert action(rule, 1, 1, 0.4, can_pause=False) == "stop"
    assert action(rule, 2, 1, 0.3) == "pause"


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("objective", [UP, DOWN], ids=["maximize", "minimize"])
def test_what_is_not_finite_ranks_last_and_stops(objective: Objective, bad: float) -> None:
    rule = asha(objective)
    assert action(rule, 0, 1, bad) == "stop"
    for number in (1, 2, 3):
        rule.observe(number, 1, float(number))
    assert rule.promotions([0]) == []
    assert "rank 4 of 4" in rule.verdict(0, can_pause=True).reason


def test_all_values_bad_promotes_nobody() -> None:
    rule = asha()
    for number in range(6):
        rule.observe(number, 1, math.nan)
    assert rule.promotions(range(6), closing=True) == []


def test_minimize() -> None:
    """T36: of two trials the smaller is better."""
    rule = asha(DOWN, form="stopping")
    assert action(rule, 0, 1, 1.0) == "continue"
    assert action(rule, 1, 1, 0.0) == "continue"
    assert action(rule, 2, 1, 0.5) == "stop"


def test_a_report_past_several_milestones_counts_at_the_highest() -> None:
    """T32: one trial reports after 10 and 20 epochs, another after 5 and 15."""
    rule = asha()
    rule.observe(0, 10, 0.5)
    rule.observe(1, 5, 0.4)
    assert "rung 2 (9 epochs): 0.5 is rank 1 of 1" in rule.verdict(0, can_pause=True).reason
    assert "rung 1 (3 epochs): 0.4 is rank 1 of 1" in rule.verdict(1, can_pause=True).reason
    rule.observe(1, 15, 0.45)
    assert "rung 2 (9 epochs): 0.45 is rank 2 of 2" in rule.verdict(1, can_pause=True).reason
    rule.observe(0, 20, 0.6)
    assert rule.verdict(0, can_pause=True).action == "continue"


def test_a_rung_waits_for_the_first_value() -> None:
    """T27: a missing metric at a rung's epoch defers the decision to the next report that has it."""
    rule = asha()
    assert action(rule, 0, 1, None) == "continue"
    assert action(rule, 0, 2, 0.5) == "pause"


def test_trials_starting_together_are_all_compared() -> None:
    """T34: four at once; each is in rung 0, trial 0 too."""
    rule = asha()
    for number in range(4):
        rule.observe(number, 1, number / 10)
    assert all("of 4" in rule.farewell(number) for number in range(4))


@pytest.mark.parametrize("trials", [1, 2, 5, 20])
@pytest.mark.parametrize(("max_epochs", "eta"), [(1, 2), (2, 3), (7, 2), (10, 3), (81, 3), (100, 7)])
def test_a_study_always_comes_to_an_end(max_epochs: int, eta: int, trials: int) -> None:
    """T37: 20 trials, odd pairs of (max_epochs, eta): somebody is trained in full, and no promotion waits for ever."""
    rule = asha(max_epochs=max_epochs, reduction_factor=eta)
    epoch = dict.fromkeys(range(trials), 0)
    running, paused, finished = list(epoch), set[int](), set[int]()
    for _ in range(trials * max_epochs + trials):
        while running:
            number = running.pop(0)
            epoch[number] += 1
            rule.observe(number, epoch[number], (number * 7) % trials + epoch[number] / 1000)
            verdict = rule.verdict(number, can_pause=True)
            if verdict.action == "continue":
                running.append(number)
            (finished if verdict.finished else paused if verdict.action == "pause" else set()).add(number)
        promoted = rule.promotions(sorted(paused)) or rule.promotions(sorted(paused), closing=True)
        if not promoted:
            break
        for promotion in promoted:
            paused.remove(promotion.number)
            running.append(promotion.number)
    assert not running
    assert finished
    assert rule.promotions(sorted(paused), closing=True) == []


def test_brackets_are_counted_exactly() -> None:
    """T30: logarithms in floating point would say 5 and 3."""
    assert bracket_count(1, 243, 3) == 6
    assert bracket_count(1, 1000, 10) == 4
    assert bracket_count(5, 5, 3) == 1
    assert milestones(1, 243, 3) == (1, 3, 9, 27, 81)
    assert milestones(1, 1000, 10) == (1, 10, 100)
    assert milestones(4, 27, 2) == (4, 8, 16)


def test_hyperband_deals_trials_in_proportion() -> None:
    sizes = bracket_sizes(3, 3)
    order = dealt(sizes)
    assert [order.count(bracket) for bracket in range(3)] == list(sizes)
    assert len(set(order[:6])) == 3


def test_hyperband_compares_each_bracket_from_its_own_rung() -> None:
    rule = make_rule(Hyperband(max_epochs=9).chosen(), UP)
    brackets = dealt(bracket_sizes(3, 3))
    first = [brackets.index(bracket) for bracket in range(3)]
    for number in first:
        rule.observe(number, 1, 0.5)
    assert [rule.verdict(number, can_pause=True).action for number in first] == ["pause", "continue", "continue"]
    for number in first[1:]:
        rule.observe(number, 3, 0.5)
    assert [rule.verdict(number, can_pause=True).action for number in first[1:]] == ["pause", "continue"]
