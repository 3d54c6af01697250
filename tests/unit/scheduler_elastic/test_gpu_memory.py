"""Packing GPUs by the memory that trials declare, are predicted to need, and were measured to need."""

import pytest

from shoal.scheduler.port import MemoryMeasured, Pause, Refuse, Request
from shoal.tests.unit.scheduler_elastic.policy_head import Head, one


def head_with(*gpus: int, gib: float = 16.0) -> Head:
    return Head(*gpus, node=tuple({"gpu_memory_gib": gib} for _ in gpus))


def tenth(gib: float | None = None) -> Request:
    made = one(gpus="0.1")
    return Request(k_min=1, k_max=1, gpus=made.gpus, cpus=0, gpu_memory_gib=gib)


def measured(head: Head, number: int, gib: float) -> list[object]:
    generation = head.generations["s", number]
    event = MemoryMeasured(at=head.at, study="s", number=number, generation=generation, gpu_memory_gib=gib)
    return list(head.send(event))


def test_declared_memory_bounds_who_shares() -> None:
    """14.4 of 16 GiB are promised: four of 3.5, not ten of a tenth."""
    head = head_with(1)
    for number in range(6):
        head.offer("s", number, request=tenth(3.5))
    assert len(head.running) == 4


def test_memory_decides_nothing_where_it_is_not_known() -> None:
    head = Head(1)
    for number in range(10):
        head.offer("s", number, request=tenth(3.5))
    assert len(head.running) == 10


def test_who_says_nothing_is_promised_its_share() -> None:
    head = head_with(1)
    for number in range(11):
        head.offer("s", number, request=tenth())
    assert len(head.running) == 10


def test_what_no_gpu_has_is_refused() -> None:
    head = head_with(2)
    (refused,) = head.offer("s", 1, request=tenth(15.0))
    assert isinstance(refused, Refuse)
    assert "15 GiB on each GPU" in refused.reason
    assert "GPUs of 16 GiB" in refused.reason


def test_peers_are_predicted_from_what_was_measured() -> None:
    head = head_with(1)
    head.offer("s", 0, request=tenth())
    measured(head, 0, 4.0)  # 4.4 with the margin, rounded to eighths: 4.5
    for number in range(1, 9):
        head.offer("s", number, request=tenth())
    assert len(head.running) == 3, "one that was promised a tenth, and two of 4.5 in 14.4 GiB"


def test_the_newest_leaves_a_gpu_that_would_overflow() -> None:
    head = head_with(1)
    for number in range(3):
        head.at += 10.0
        head.offer("s", number, request=tenth())
    head.obedient = False
    assert measured(head, 0, 6.0) == []
    assert measured(head, 1, 6.0) == []
    (pause,) = measured(head, 2, 6.0)
    assert isinstance(pause, Pause)
    assert (pause.number, pause.involuntary) == (2, True)
    assert "n0.0 would run out of memory: its 3 trials" in pause.reason


def test_a_measured_trial_asks_for_what_it_needs_when_it_comes_back() -> None:
    head = head_with(1, 1)
    for number in range(3):
        head.at += 10.0
        head.offer("s", number, request=tenth())
    assert len({s.node for n in range(3) for s in head.workers("s", n)}) == 1
    for number in range(3):
        measured(head, number, 6.0)
    assert head.paused == [("s", 2)]
    assert head.nodes("s", 2) != head.nodes("s", 0), "it found the GPU with room"


@pytest.mark.parametrize("gib", [20.0, 100.0])
def test_one_that_fills_a_gpu_gets_one_for_itself(gib: float) -> None:
    head = head_with(1, 1)
    for number in range(2):
        head.offer("s", number, request=tenth())
    measured(head, 1, gib)
    assert head.nodes("s", 0) != head.nodes("s", 1)
    assert head.nodes("s", 1)
