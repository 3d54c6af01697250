"""Workers that die, resizes that fail, nodes that go: what the elastic policy makes of them."""

import itertools

import pytest

from shoal.scheduler.port import (
    NodeCordoned,
    NodeDown,
    NodeUncordoned,
    NodeUp,
    Pause,
    Resize,
    ResizeRefused,
    Start,
    TrialReleased,
    TrialResized,
    TrialStarted,
    WorkersLost,
)
from shoal.tests.unit.scheduler_elastic.policy_head import Head, one


def grown(*gpus: int) -> Head:
    """One trial on the whole pool."""
    head = Head(*gpus)
    head.offer("s", 1, request=one(k_max=sum(gpus)))
    assert head.running == {("s", 1): sum(gpus)}
    head.at = 100.0
    return head


def lose(head: Head, *kept: int, loss: int = 1) -> WorkersLost:
    workers = head.workers("s", 1)
    return WorkersLost(
        at=head.at, study="s", number=1, generation=1, loss=loss, workers=tuple(workers[i] for i in kept)
    )


def test_a_trial_that_goes_on_with_fewer_workers_gives_the_rest_back() -> None:
    head = grown(4)
    head.obedient = False
    actions = head.send(lose(head, 0, 1))
    assert [type(a) for a in actions] == [Resize], "and grows again at once: a loss is no voluntary resize"
    assert len(head.workers("s", 1)) == 4


def test_a_loss_that_is_told_twice_counts_once() -> None:
    head = grown(4)
    event = lose(head, 0)
    head.send(event)
    assert len(head.workers("s", 1)) == 4, "regrown"
    assert head.send(event) == []
    assert len(head.workers("s", 1)) == 4


def test_a_gang_with_too_few_survivors_waits_for_more() -> None:
    head = Head(4)
    head.offer("s", 1, request=one(k_min=4, k_max=4))
    head.at, head.obedient = 10.0, False
    (pause,) = head.send(lose(head, 0, 3))
    assert isinstance(pause, Pause)
    assert pause.involuntary
    assert "2 of its workers are left, and it needs 4" in pause.reason


def test_a_loss_voids_the_resize_that_is_under_way() -> None:
    head = Head(4)
    head.offer("s", 1, request=one(k_max=4))
    head.at = 100.0
    head.offer("s", 2, request=one(k_max=4))
    head.obedient = False
    resize = next(a for a in head.log if isinstance(a, Resize) and len(a.workers) == 2)
    head.at = 150.0
    head.send(lose(head, 0))
    late = TrialResized(at=150.0, study="s", number=1, generation=1, resize=resize.resize, stall_s=3.0)
    before = head.workers("s", 1)
    head.send(late)
    assert head.workers("s", 1) == before


def growing() -> tuple[Head, Resize]:
    """A trial on one of two GPUs that was told to take the second."""
    head = Head(2)
    head.offer("s", 1, request=one(k_max=2))
    head.offer("s", 2, request=one(k_max=2))
    head.at, head.obedient = 100.0, False
    actions = head.send(TrialReleased(at=100.0, study="s", number=2, generation=1))
    (resize,) = [a for a in actions if isinstance(a, Resize)]
    assert len(resize.workers) == 2
    return head, resize


def test_a_refused_resize_frees_what_it_had_taken() -> None:
    head, resize = growing()
    refused = ResizeRefused(at=101.0, study="s", number=1, generation=1, resize=resize.resize)
    head.send(refused)
    assert len(head.workers("s", 1)) == 1
    assert head.policy.room(one()) == 1
    assert head.send(refused) == [], "told twice"
    assert len(head.workers("s", 1)) == 1


def test_refused_resizes_are_asked_for_ever_more_rarely() -> None:
    head, resize = growing()
    asked_at = [100.0]
    for _ in range(4):
        head.send(ResizeRefused(at=head.at, study="s", number=1, generation=1, resize=resize.resize))
        while True:
            head.at += 5.0
            actions = head.policy.steps([])
            head.wait(0.0)
            if head.log and head.log[-1] is not resize and isinstance(head.log[-1], Resize):
                resize = head.log[-1]
                break
        asked_at.append(head.at)
        assert not actions
    waits = [b - a for a, b in itertools.pairwise(asked_at)]
    assert waits == sorted(waits)
    assert waits[-1] > 4 * waits[0]


def test_a_trial_over_two_nodes_goes_on_where_it_survives() -> None:
    head = grown(4, 4)
    head.obedient = False
    survivors = tuple(slot for slot in head.workers("s", 1) if slot.node == "n1")
    head.send(NodeDown(at=100.0, node="n0"))
    assert head.policy.step(TrialStarted(at=100.0, study="s", number=1, generation=1, start_s=1.0)) == []
    head.send(WorkersLost(at=100.5, study="s", number=1, generation=1, loss=1, workers=survivors))
    assert head.nodes("s", 1) == {"n1"}
    assert len(head.workers("s", 1)) == 4


def test_a_trial_on_the_lost_node_alone_is_offered_again() -> None:
    head = Head(2, 2)
    head.offer("s", 1, request=one(k_max=2))
    (node,) = head.nodes("s", 1)
    head.at = 100.0
    head.send(NodeDown(at=100.0, node=node))
    assert head.workers("s", 1) == ()
    (start, *_) = head.offer("s", 1)
    assert isinstance(start, Start)
    assert start.node != node


def test_growth_onto_a_node_that_goes_down_is_undone() -> None:
    """The trial was to move to the larger node; that one is lost, and the trial stays where it is."""
    head = Head(1)
    head.offer("s", 1, request=one(k_max=2))
    head.at, head.obedient = 100.0, False
    (resize,) = head.send(NodeUp(at=100.0, node="n1", gpus=("a", "b"), cpus=8, memory_gib=64.0))
    assert isinstance(resize, Resize)
    assert {slot.node for slot in resize.workers} == {"n1"}
    head.send(NodeDown(at=101.0, node="n1"))
    head.send(ResizeRefused(at=101.0, study="s", number=1, generation=1, resize=resize.resize))
    assert head.nodes("s", 1) == {"n0"}


def test_a_trial_that_died_somewhere_is_rather_started_elsewhere() -> None:
    head = Head(2, 2)
    head.offer("s", 1)
    (node,) = head.nodes("s", 1)
    head.at = 10.0
    head.send(TrialReleased(at=10.0, study="s", number=1, generation=1, lost=True))
    head.offer("s", 1)
    assert head.nodes("s", 1) != {node}


@pytest.mark.parametrize("nodes", [9, 10])
def test_three_strikes_cordon_a_node_if_it_is_a_tenth_of_the_pool_at_most(nodes: int) -> None:
    head = Head(*[1] * nodes)
    others = [f"n{i}" for i in range(1, nodes)]
    for node in others:
        head.send(NodeCordoned(at=0.0, node=node))
    for number in range(3):
        head.offer("s", number)
        assert head.nodes("s", number) == {"n0"}
        head.at += 60.0
        head.send(TrialReleased(at=head.at, study="s", number=number, generation=1, lost=True))
    for node in others:
        head.send(NodeUncordoned(at=head.at, node=node))
    assert head.policy.cordoned() == ({"n0": "3 losses within an hour"} if nodes == 10 else {})
    assert head.policy.room(one()) == 9
    head.at += 3601.0
    head.wait(0.0)
    assert head.policy.cordoned() == {}
    assert head.policy.room(one()) == nodes


def test_a_trial_that_dies_everywhere_is_to_blame_itself() -> None:
    head = Head(*[1] * 30)
    for generation in range(1, 13):
        head.offer("s", 1)
        head.at += 10.0
        head.send(TrialReleased(at=head.at, study="s", number=1, generation=generation, lost=True))
    assert head.policy.cordoned() == {}
