"""Pools of different devices."""

from random import Random

import pytest

from shoal.scheduler.device_speed import DeviceSpeeds
from shoal.scheduler.port import EpochEnded, NodeDown
from shoal.tests.unit.scheduler_elastic.policy_head import Head, one

FAST_AND_SLOW: tuple[dict[str, object], ...] = (
    {"device_model": "t4", "speed": 0.25},
    {"device_model": "a100", "speed": 1.0},
)


def test_the_fast_devices_are_filled_first() -> None:
    head = Head(2, 2, node=FAST_AND_SLOW)
    for number in range(3):
        head.offer("s", number)
    assert [head.nodes("s", n) for n in range(3)] == [{"n1"}, {"n1"}, {"n0"}]


def test_a_trial_never_works_on_two_models() -> None:
    head = Head(2, 2, node=FAST_AND_SLOW)
    head.offer("s", 1, request=one(k_max=4))
    head.wait(100.0)
    assert len(head.workers("s", 1)) == 2
    assert head.nodes("s", 1) == {"n1"}


@pytest.mark.parametrize("exact", [True, False])
def test_an_exact_trial_stays_on_the_model_it_trained_on(exact: bool) -> None:
    head = Head(2, 2, node=FAST_AND_SLOW)
    head.offer("s", 1, exact=exact)
    head.at = 60.0
    head.send(EpochEnded(at=60.0, study="s", number=1, generation=1, epochs_done=1.0, epoch_s=60.0))
    head.release("s", 1)
    head.send(NodeDown(at=61.0, node="n1"))
    head.offer("s", 1, exact=exact, epochs_done=1.0)
    assert head.nodes("s", 1) == (set() if exact else {"n0"})


def test_speeds_are_learned_from_unlike_trials() -> None:
    random = Random(0)
    speeds = DeviceSpeeds({"a": 1.0, "b": 1.0})
    for _ in range(200):
        speeds.observe("a", random.lognormvariate(0.0, 0.5))
        speeds.observe("b", 3.0 * random.lognormvariate(0.0, 0.5))
    assert speeds.value("a") == 1.0 or speeds.value("b") == 1.0, "one of them is the yardstick"
    assert speeds.value("a") / speeds.value("b") == pytest.approx(3.0, rel=0.15)


def test_what_is_learned_decides_where_the_next_one_goes() -> None:
    """Both models claim the same speed; measured, the second is twice as slow."""
    models: tuple[dict[str, object], ...] = ({"device_model": "b"}, {"device_model": "a"})
    head = Head(1, 1, node=models)
    for number in range(40):
        head.at += 60.0
        head.offer("s", number)
        head.offer("s", 1000 + number)
        for n in (number, 1000 + number):
            (node,) = head.nodes("s", n)
            seconds = 120.0 if node == "n0" else 60.0
            head.send(EpochEnded(at=head.at, study="s", number=n, generation=1, epochs_done=1.0, epoch_s=seconds))
            head.release("s", n)
    head.offer("s", 5000)
    assert head.nodes("s", 5000) == {"n1"}
