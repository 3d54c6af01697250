"""Freeze-thaw: ASHA's decisions, and full trainings of whom the forecasts favour."""

import math

import pytest

from shoal.search.early_stopping import make_rule
from shoal.search.early_stopping.freeze_thaw import FreezeThawRule
from shoal.search.forecasts import forecasts
from shoal.search.spec import Chosen, Objective

UP = Objective(metric="score", direction="maximize")
DOWN = Objective(metric="loss", direction="minimize")


def rule(objective: Objective = DOWN, **options: object) -> FreezeThawRule:
    made = make_rule(Chosen(name="freeze_thaw", options={"max_epochs": 9, **options}), objective)
    assert isinstance(made, FreezeThawRule)
    return made


def trained(made: FreezeThawRule, number: int, values: list[float]) -> None:
    for step, value in enumerate(values, start=1):
        made.observe(number, step, value)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_without_a_share_it_is_asha(sign: float) -> None:
    objective = DOWN if sign > 0 else UP
    ours, asha = rule(objective, full_share=0), make_rule(Chosen(name="asha", options={"max_epochs": 9}), objective)
    for number in range(9):
        for made in (ours, asha):
            made.observe(number, 1, sign * ((number * 5) % 9))
        assert ours.verdict(number, can_pause=True) == asha.verdict(number, can_pause=True)
    assert ours.promotions(range(9)) == asha.promotions(range(9))


def test_the_most_promising_is_thawed_when_a_full_training_is_due() -> None:
    """Trial 3 is worse than 4 so far, but those that began like it went on to be good."""
    made = rule(full_share=1.0)
    trained(made, 0, [5.0, 4.0, 3.0, 2.5, 2.2, 2.0, 1.9, 1.8, 1.7])
    trained(made, 1, [2.0] * 9)
    trained(made, 2, [4.9, 4.0, 3.0, 2.5, 2.2, 2.0, 1.9, 1.8, 1.7])
    for number in range(5, 11):
        made.observe(number, 1, 8.0)
    made.observe(3, 1, 4.95)
    made.observe(4, 1, 2.01)
    waiting = [3, 4, *range(5, 11)]
    by_rung = [promotion.number for promotion in made.promotions(waiting)]
    assert by_rung[0] == 4, "at the rung its value counts"
    trained(made, 4, [2.01, 2.0, 2.0])
    (promotion, *_) = [p for p in made.promotions([3, 4]) if "trains in full" in p.reason]
    assert promotion.number == 3 and "at epoch 9" in promotion.reason


def test_no_more_than_its_share() -> None:
    made = rule(full_share=0.1)
    for number in range(3):
        trained(made, number, [3.0 - number] * 9)
    made.observe(3, 1, 5.0)
    assert made.promotions([3]) == []


def test_a_rule_of_one_epoch_and_broken_values() -> None:
    made = rule(max_epochs=1)
    made.observe(0, 1, math.nan)
    assert made.verdict(0, can_pause=True).finished
    made = rule()
    for number, value in enumerate([math.nan, math.inf, 1.0, 2.0]):
        made.observe(number, 1, value)
    assert made.verdict(0, can_pause=True).action == "stop"
    assert made.farewell(0).endswith("nothing is expected of it")
    assert "nothing is expected" not in made.farewell(2)


def test_copies_come_to_what_their_original_came_to() -> None:
    found = forecasts(
        {0: [(1, 5.0), (3, 4.0), (9, 1.0)], 1: [(1, 1.0), (3, 1.0), (9, 1.0)], 2: [(1, 5.0), (3, 4.0)], 3: [(1, 1.0)]}
    )
    assert found[2].mean == pytest.approx(1.0, abs=0.3)
    assert found[3].mean == pytest.approx(1.0, abs=0.3)
    assert found[0].deviation == 0.0 < found[3].deviation


def test_forecasts_of_few_and_of_nothing() -> None:
    assert forecasts({}) == {}
    assert forecasts({0: []}) == {}
    lone = forecasts({4: [(1, 2.0), (2, 1.5)]})
    assert lone[4].mean == 1.5
    assert forecasts({0: [(1, math.nan)], 1: [(1, 1.0)]})[0].mean == math.inf


def test_forecasts_move_with_the_scale() -> None:
    """Losses times ten and shifted give forecasts times ten and shifted."""
    curves = {0: [(1, 5.0), (3, 4.0)], 1: [(1, 2.0), (3, 1.5)], 2: [(1, 4.0)], 3: [(1, 3.0)], 4: [(1, 1.0)]}
    scaled = {number: [(step, 10.0 * loss - 7.0) for step, loss in curve] for number, curve in curves.items()}
    before, after = forecasts(curves), forecasts(scaled)
    for number in curves:
        assert after[number].mean == pytest.approx(10.0 * before[number].mean - 7.0)
        assert after[number].deviation == pytest.approx(10.0 * before[number].deviation)
