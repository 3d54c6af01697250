"""What the head may expect of any scheduling policy, behind `scheduler.port.Policy`."""

from collections.abc import Callable
from fractions import Fraction

import pytest

from shoal.scheduler.elastic_policy import ElasticPolicy
from shoal.scheduler.first_come import FirstComePolicy
from shoal.scheduler.port import (
    Action,
    NodeUp,
    Policy,
    Refuse,
    Request,
    Start,
    Tick,
    TrialOffered,
    TrialReleased,
    TrialWithdrawn,
)

POLICIES: list[Callable[[], Policy]] = [FirstComePolicy, ElasticPolicy]


@pytest.fixture(params=POLICIES, ids=lambda make: make.__name__)
def policy(request: pytest.FixtureRequest) -> Policy:
    made: Policy = request.param()
    made.step(NodeUp(at=0.0, node="a", gpus=("a0", "a1", "a2"), cpus=2, memory_gib=8.0))
    made.step(NodeUp(at=0.0, node="b", gpus=(), cpus=4, memory_gib=8.0))
    return made


def asks(gpus: str = "0", cpus: int = 0, k: int = 1, memory_gib: float | None = None) -> Request:
    return Request(k_min=k, k_max=k, gpus=Fraction(gpus), cpus=cpus, memory_gib=memory_gib)


def offer(policy: Policy, number: int, request: Request, *, generation: int = 1, at: float = 1.0) -> list[Action]:
    return policy.step(
        TrialOffered(at=at, study="s", number=number, generation=generation, request=request, priority=0, rung=0)
    )


def release(policy: Policy, number: int, *, generation: int = 1, at: float = 2.0) -> list[Action]:
    return policy.step(TrialReleased(at=at, study="s", number=number, generation=generation))


REQUESTS = [asks("1"), asks("0.3"), asks("2"), asks(cpus=1), asks(cpus=3), asks(cpus=1, memory_gib=3.0), asks("1", k=2)]


@pytest.mark.parametrize("request_", REQUESTS, ids=str)
def test_room_is_how_many_start(policy: Policy, request_: Request) -> None:
    room = policy.room(request_)
    assert room > 0
    started = [action for number in range(room) for action in offer(policy, number, request_)]
    assert [type(action) for action in started] == [Start] * room
    assert policy.room(request_) == 0
    assert offer(policy, room, request_) == []
    assert [number for _, number, _ in policy.waiting()] == [room]


@pytest.mark.parametrize("request_", REQUESTS, ids=str)
def test_a_start_is_what_was_asked_for(policy: Policy, request_: Request) -> None:
    (start,) = offer(policy, 7, request_, generation=3)
    assert isinstance(start, Start)
    assert (start.study, start.number, start.generation) == ("s", 7, 3)
    assert request_.k_min <= len(start.workers) <= request_.k_max
    for worker in start.workers:
        assert worker.cpus == request_.cpus
        assert len(worker.gpus) * worker.share == request_.gpus
    assert start.reason


def test_what_is_released_is_used_again(policy: Policy) -> None:
    for number in range(3):
        offer(policy, number, asks("1"))
    assert offer(policy, 3, asks("1")) == []
    (start,) = release(policy, 1)
    assert start.number == 3


def test_messages_of_the_past_change_nothing(policy: Policy) -> None:
    for number in range(3):
        offer(policy, number, asks("1"), generation=5)
    offer(policy, 3, asks("1"))
    for stale in (release(policy, 0, generation=4), offer(policy, 0, asks("1"), generation=5)):
        assert stale == []
    assert [number for _, number, _ in policy.waiting()] == [3]


def test_a_withdrawn_trial_leaves_the_line(policy: Policy) -> None:
    for number in range(4):
        offer(policy, number, asks("1"))
    policy.step(TrialWithdrawn(at=1.5, study="s", number=3))
    assert list(policy.waiting()) == []
    assert release(policy, 0) == []


def test_t54_what_never_fits_is_refused_with_a_reason(policy: Policy) -> None:
    """T54: not pending for ever."""
    (refusal,) = offer(policy, 0, asks("4"))
    assert isinstance(refusal, Refuse)
    assert "never fits" in refusal.reason
    assert policy.room(asks("4")) == 0


def test_everybody_who_waits_is_explained(policy: Policy) -> None:
    for number in range(6):
        offer(policy, number, asks("1"))
    waiting = policy.waiting()
    assert [number for _, number, _ in waiting] == [3, 4, 5]
    assert all(why for _, _, why in waiting)


def test_time_alone_starts_nothing_that_does_not_fit(policy: Policy) -> None:
    for number in range(5):
        offer(policy, number, asks("1"))
    assert [policy.step(Tick(at=float(at))) for at in range(0, 1000, 100)] == [[]] * 10
