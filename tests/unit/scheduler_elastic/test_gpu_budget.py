"""Budgets of GPU-hours."""

from shoal.scheduler.port import Ladder, StudyAdded, TrialEnded
from shoal.tests.unit.scheduler_elastic.policy_head import Head


def budgeted(hours: float, *, spent: float = 0.0) -> Head:
    """Two GPUs and a study of nine trials whose epochs are taken for a minute."""
    head = Head(2)
    ladder = Ladder(milestones=(1, 3), eta=3, planned=9, lower_is_better=True)
    head.send(StudyAdded(at=0.0, study="s", ladders=(ladder,), gpu_hours=hours, spent_gpu_hours=spent))
    for number in range(9):
        head.offer("s", number, epoch_s=60.0)
    return head


def test_no_new_trial_starts_on_a_spent_budget() -> None:
    head = budgeted(hours=3 / 60)  # three epochs
    assert list(head.running) == [("s", 0), ("s", 1)]
    head.at = 60.0
    head.report("s", 0, 0, 0.5)
    assert ("s", 2) in head.running, "two are used, one more is committed"
    head.report("s", 1, 0, 0.6)
    assert ("s", 3) not in head.running
    reasons = [why for _, _, why in head.policy.waiting()]
    assert all("0.05 GPU-hours are spent or promised" in why for why in reasons)


def test_then_the_furthest_is_carried_to_the_top_and_the_rest_stopped() -> None:
    head = budgeted(hours=3 / 60)
    head.at = 60.0
    head.report("s", 0, 0, 0.5)
    head.report("s", 1, 0, 0.6)
    head.at = 120.0
    head.report("s", 2, 0, 0.4)
    assert list(head.running) == [("s", 2)], "the best of the rung, and nobody else"
    head.at += 120.0
    head.report("s", 2, 1, 0.3)
    head.release("s", 2)
    head.send(TrialEnded(at=head.at, study="s", number=2))
    assert sorted(head.stopped) == [("s", n) for n in range(9) if n != 2]
    (row,) = head.policy.shares(head.at)
    assert row.used_gpu_hours <= 3 / 60 + 2 / 60, "no more than one training beyond the budget"


def test_what_was_spent_before_counts() -> None:
    head = budgeted(hours=1.0, spent=1.0)
    assert not head.running


def test_more_hours_let_it_go_on() -> None:
    head = budgeted(hours=2 / 60)
    assert len(head.running) == 2
    head.at = 60.0
    head.report("s", 0, 0, 0.5)
    head.report("s", 1, 0, 0.6)
    assert ("s", 2) not in head.running
    head.send(StudyAdded(at=61.0, study="s", ladders=(), gpu_hours=1.0))
    assert len(head.running) == 2
    assert ("s", 2) in head.running
