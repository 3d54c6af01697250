"""The elastic policy on small pools."""

import pytest

from shoal.scheduler.port import (
    EpochEnded,
    Ladder,
    Pause,
    Promote,
    Refuse,
    RungReached,
    StudyAdded,
    StudyEnded,
)
from shoal.tests.unit.scheduler_elastic.policy_head import Head, one


def test_a_lone_trial_grows_over_the_pool_and_shrinks_for_others() -> None:
    head = Head(4)
    head.offer("s", 1, request=one(k_max=4))
    assert head.running == {("s", 1): 4}
    head.at = 100.0
    for number in (2, 3, 4):
        head.offer("s", number, request=one(k_max=4))
        head.wait(40.0)
    assert head.running == {("s", n): 1 for n in (1, 2, 3, 4)}
    assert not head.paused


def test_growth_that_measures_worse_is_taken_back() -> None:
    head = Head(2)
    head.offer("s", 1, request=one(k_max=2))
    head.offer("s", 2, request=one(k_max=2))
    head.at = 50.0
    for number in (1, 2):
        head.send(EpochEnded(at=50.0, study="s", number=number, generation=1, epochs_done=1.0, epoch_s=40.0))
    head.release("s", 2)
    head.wait(60.0)
    assert head.running == {("s", 1): 2}
    head.at = 200.0
    head.send(EpochEnded(at=200.0, study="s", number=1, generation=1, epochs_done=2.0, epoch_s=41.0))
    head.wait(60.0)
    assert head.running == {("s", 1): 1}


def test_rungs_pause_and_promote() -> None:
    head = Head(1)
    ladder = Ladder(milestones=(1, 3), eta=3, planned=3, lower_is_better=True)
    head.send(StudyAdded(at=0.0, study="s", ladders=(ladder,)))
    for number in (1, 2, 3):
        head.offer("s", number)
    for number, value in ((1, 0.3), (2, 0.1), (3, 0.2)):
        head.at += 60.0
        assert list(head.running) == [("s", number)]
        event = RungReached(at=head.at, study="s", number=number, generation=1, rung=0, value=value)
        actions = head.send(event)
        assert isinstance(actions[0], Pause | Promote)
    assert list(head.running) == [("s", 2)], "the best third went on once it was certain"
    assert "rank 1 of 3" in head.log[-1].reason


def test_t54_what_can_never_fit_is_refused_with_the_reason() -> None:
    """T54: twelve workers on hosts of eight run over two; more than the pool has is refused."""
    head = Head(8, 8)
    (refused,) = head.offer("s", 1, request=one(k_min=32, k_max=32))
    assert isinstance(refused, Refuse)
    assert "never fits because" in refused.reason
    head.offer("s", 2, request=one(k_min=16, k_max=16))
    assert head.running == {("s", 2): 16}


def test_t65_an_impossible_request_of_high_priority_evicts_nobody() -> None:
    """T65."""
    head = Head(2)
    head.offer("low", 1)
    head.offer("low", 2)
    (refused,) = head.offer("high", 1, request=one(k_min=4, k_max=4), priority=9)
    assert isinstance(refused, Refuse)
    assert len(head.running) == 2


def test_t63_the_newest_is_evicted_and_resumes_first() -> None:
    """T63: two slots; e1, e2, e3 of low priority; e4 of high priority comes and goes."""
    head = Head(2)
    for name in ("e1", "e2", "e3"):
        head.send(StudyAdded(at=0.0, study=name, priority=40))
        head.offer(name, 1, priority=40)
    assert list(head.running) == [("e1", 1), ("e2", 1)]
    head.at = 100.0
    head.send(StudyAdded(at=100.0, study="e4", priority=50))
    head.offer("e4", 1, priority=50)
    assert head.paused == [("e2", 1)]
    assert set(head.running) == {("e1", 1), ("e4", 1)}
    head.at = 200.0
    head.release("e4", 1)
    head.send(StudyEnded(at=200.0, study="e4"))
    assert set(head.running) == {("e1", 1), ("e2", 1)}


def test_t64_of_two_gangs_one_runs_whole() -> None:
    """T64: two gangs of the size of the pool; one whole gang runs, the other is first in line."""
    head = Head(8, 8)
    head.offer("a", 1, request=one(k_min=16, k_max=16))
    head.offer("b", 1, request=one(k_min=16, k_max=16))
    assert list(head.running.values()) == [16]
    first = next(iter(head.running))
    head.at = 100.0
    head.release(*first)
    assert list(head.running.values()) == [16]
    assert first not in head.running


def test_t66_small_ones_pass_a_large_one_but_do_not_starve_it() -> None:
    """T66: one user floods; the other's large trial has its turn."""
    head = Head(4)
    for number in range(4):
        head.offer("flood", number, can_pause=False)
    head.offer("large", 1, request=one(k_min=4, k_max=4))
    assert ("large", 1) not in head.running
    number = 4
    for _ in range(30):
        head.wait(20.0)
        small = next((key for key in head.running if key[0] == "flood"), None)
        if small is None:
            break
        head.release(*small)
        head.offer("flood", number, can_pause=False)
        number += 1
    assert head.running == {("large", 1): 4}


def test_a_pool_without_gpus_shares_cpus() -> None:
    head = Head(0, cpus=4)
    for number in range(5):
        head.offer("s", number, request=one(gpus=0, cpus=1))
    assert len(head.running) == 4


def test_tenths_of_a_gpu_fill_it() -> None:
    head = Head(1)
    for number in range(11):
        head.offer("s", number, request=one(gpus="0.1"))
    assert len(head.running) == 10
    assert [n for _, n, _ in head.policy.waiting()] == [10]
    assert head.policy.room(one(gpus="0.1")) == 0


def test_a_study_of_higher_priority_takes_what_it_can_use() -> None:
    """Invariant 11: and it leaves every other study its smallest trial."""
    head = Head(8)
    for number in range(8):
        head.offer("low", number)
    head.at = 100.0
    head.send(StudyAdded(at=100.0, study="high", priority=1))
    for number in range(20):
        head.offer("high", number, priority=1)
    studies = [study for study, _ in head.running]
    assert (studies.count("high"), studies.count("low")) == (7, 1)
    assert all(isinstance(a, Pause) and a.involuntary for a in head.log if isinstance(a, Pause))


@pytest.mark.parametrize("weight", [1.0, 3.0])
def test_weights_divide_the_pool(weight: float) -> None:
    head = Head(8)
    head.send(StudyAdded(at=0.0, study="a", weight=weight))
    head.send(StudyAdded(at=0.0, study="b"))
    for number in range(10):
        head.offer("a", number)
        head.offer("b", number)
    studies = [study for study, _ in head.running]
    assert studies.count("a") == round(8 * weight / (1 + weight))
    assert len(studies) == 8
