"""What a ladder remembers."""

import math

from shoal.scheduler.port import Ladder
from shoal.scheduler.rungs import Rungs


def rungs(planned: int = 9) -> Rungs:
    return Rungs(Ladder(milestones=(1, 3, 9), eta=3, planned=planned, lower_is_better=True))


def test_the_best_third_goes_on() -> None:
    ladder = rungs()
    for number in range(9):
        assert ladder.report(number, 0, float(number))
    assert [n for n in range(9) if ladder.useful(n) == 1.0] == [0, 1, 2]
    assert all(ladder.useful(n) == 0.0 for n in range(3, 9))


def test_missing_values_rank_last() -> None:
    ladder = rungs()
    for number, value in enumerate([math.nan, 5.0, None, math.inf]):
        ladder.report(number, 0, value)
    assert ladder.rank(1) == 1
    assert {ladder.rank(n) for n in (0, 2, 3)} == {2, 3, 4}


def test_higher_is_better_turns_the_order() -> None:
    ladder = Rungs(Ladder(milestones=(1, 3), eta=3, planned=3, lower_is_better=False))
    for number, value in enumerate([0.1, 0.9, 0.5]):
        ladder.report(number, 0, value)
    assert [ladder.rank(n) for n in range(3)] == [3, 1, 2]


def test_a_repeated_report_changes_nothing() -> None:
    ladder = rungs()
    ladder.report(0, 0, 1.0)
    assert not ladder.report(0, 0, 0.0)
    assert ladder.results[0] == [(1.0, 0)]


def test_a_lost_promotion_goes_to_the_next_best() -> None:
    ladder = rungs()
    for number in range(9):
        ladder.report(number, 0, float(number))
    ladder.promote(1)
    ladder.lose(1)
    assert ladder.useful(3) == 1.0
    assert ladder.useful(4) == 0.0


def test_lost_before_any_report_shrinks_the_plan() -> None:
    """T37: a rung is complete when nobody can report there any more, whatever was planned."""
    ladder = rungs(planned=9)
    for number in range(6):
        ladder.report(number, 0, float(number))
    assert ladder.useful(0) < 1.0 or ladder.quota(0) == 3
    for number in (6, 7, 8):
        ladder.lose(number)
    assert [n for n in range(6) if ladder.useful(n) == 1.0] == [0, 1]


def test_a_larger_plan_reopens_the_quota() -> None:
    ladder = rungs()
    for number in range(9):
        ladder.report(number, 0, float(number))
    ladder.replan(Ladder(milestones=(1, 3, 9), eta=3, planned=18, lower_is_better=True))
    assert 0.0 < ladder.useful(3) < 1.0
