"""Decisions written down, and played again."""

import math
from fractions import Fraction

import pytest

from shoal.scheduler.elastic_policy import ElasticPolicy
from shoal.scheduler.port import (
    Action,
    Ladder,
    NodeUp,
    Pause,
    PoolEvent,
    Refuse,
    Resize,
    RungReached,
    Start,
    StudyAdded,
    Tick,
    TrialHeld,
    TrialOffered,
    TrialRemembered,
    WorkersLost,
    WorkerSlot,
)
from shoal.scheduler.recording import RecordedPolicy, decision_of, first_difference, line_of
from shoal.tests.unit.scheduler_elastic.policy_head import one

SLOT = WorkerSlot(gpus=("a.0",), share=Fraction(1, 3), cpus=0, node="a")
OFFER = TrialOffered(
    at=0.1, study="s", number=3, generation=2, request=one(4, gpus="1/3"), priority=0, rung=1, speedups=(1.0, 1.9)
)
EVENTS: list[PoolEvent] = [
    NodeUp(at=0.0, node="a", gpus=("a.0", "a.1"), cpus=4, memory_gib=0.1 + 0.2),
    StudyAdded(at=1.5, study="s", ladders=(Ladder(milestones=(1, 3), eta=3, planned=9, lower_is_better=True),)),
    OFFER,
    TrialHeld(at=2.0, offer=OFFER, workers=(SLOT,)),
    TrialRemembered(at=2.0, study="s", number=1, bracket=0, reached=((0, 0.5), (1, -math.inf)), ended=True),
    RungReached(at=2.0, study="s", number=3, generation=2, rung=0, value=None),
    WorkersLost(at=2.0, study="s", number=3, generation=2, loss=1, workers=()),
    Tick(at=1e9 + 1 / 3),
]
ABOUT = {"study": "s", "number": 3, "generation": 2, "reason": "why: 1/3"}
ACTIONS: list[Action] = [
    Start(**ABOUT, node="a", workers=(SLOT,)),  # type: ignore[arg-type]
    Resize(**ABOUT, resize=1, workers=(SLOT, SLOT)),  # type: ignore[arg-type]
    Pause(**ABOUT, involuntary=True),  # type: ignore[arg-type]
    Refuse(**ABOUT),  # type: ignore[arg-type]
]


def test_everything_comes_back_as_it_was() -> None:
    assert decision_of(line_of(EVENTS, ACTIONS)) == (EVENTS, ACTIONS)
    (unknown,), _ = decision_of(
        line_of([RungReached(at=0.0, study="s", number=0, generation=1, rung=0, value=math.nan)], [])
    )
    assert isinstance(unknown, RungReached) and unknown.value is not None and math.isnan(unknown.value)


def test_a_tick_takes_few_bytes() -> None:
    assert len(line_of([Tick(at=1764576000.123)], [])) < 70


def recorded() -> list[str]:
    """Three trials for two GPUs; the first ends."""
    lines: list[str] = []
    policy = RecordedPolicy(ElasticPolicy(), lines.append)
    policy.step(NodeUp(at=0.0, node="a", gpus=("a.0", "a.1"), cpus=4, memory_gib=8.0))
    for number in range(3):
        offer = TrialOffered(
            at=1.0, study="s", number=number, generation=1, request=one(), priority=0, rung=0, can_pause=False
        )
        policy.step(offer)
        assert policy.room(one()) == max(0, 1 - number)
        assert policy.cordoned() == {}
        assert len(policy.shares(2.0)) == 1
    assert [number for _, number, _ in policy.waiting()] == [2]
    return lines


def test_a_fresh_policy_decides_the_same() -> None:
    assert first_difference(recorded(), ElasticPolicy()) == ""


def test_the_first_other_decision_is_named() -> None:
    lines = recorded()
    told = first_difference([lines[0], lines[1], *lines[3:]], ElasticPolicy())
    assert told.startswith("decision 3, at 1.0: recorded []")
    assert "Start" in told


@pytest.mark.parametrize("line", ["", "[]", '{"events": [["Policy", {}]], "actions": []}', '{"events": []}'])
def test_what_is_no_decision_is_refused(line: str) -> None:
    with pytest.raises(ValueError):
        decision_of(line)


def test_questions_leave_no_trace() -> None:
    """Who asks when changes no number of a study's books."""
    asked, left_alone = ElasticPolicy(), ElasticPolicy()
    for policy in (asked, left_alone):
        policy.step(NodeUp(at=0.0, node="a", gpus=("a.0", "a.1"), cpus=4, memory_gib=8.0))
        policy.step(StudyAdded(at=0.0, study="s", gpu_hours=1.0))
        policy.step(
            TrialOffered(at=0.1, study="s", number=0, generation=1, request=one(), priority=0, rung=0, can_pause=False)
        )
    for tenth in range(1, 100):
        asked.shares(0.1 + tenth / 10)
        asked.waiting()
    for policy in (asked, left_alone):
        policy.step(Tick(at=20.7))
    assert asked.shares(30.3) == left_alone.shares(30.3)
    (row,) = asked.shares(30.3)
    assert row.used_gpu_hours == pytest.approx(30.2 / 3600)
