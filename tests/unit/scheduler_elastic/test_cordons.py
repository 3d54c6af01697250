"""Cordoned and draining nodes."""

from shoal.scheduler.port import NodeCordoned, NodeDown, NodeUncordoned, NodeUp, StudyAdded
from shoal.tests.unit.scheduler_elastic.policy_head import Head, one


def test_nobody_starts_or_grows_on_a_cordoned_node() -> None:
    head = Head(2, 2)
    head.offer("s", 1, request=one(k_max=2))
    (node,) = head.nodes("s", 1)
    other = ({"n0", "n1"} - {node}).pop()
    head.send(NodeCordoned(at=1.0, node=other, reason="a fan is broken"))
    assert head.policy.cordoned() == {other: "a fan is broken"}
    head.at = 100.0
    head.offer("s", 2)
    head.offer("s", 3)
    head.wait(100.0)
    assert head.nodes("s", 1) | head.nodes("s", 2) == {node}
    assert head.workers("s", 3) == ()
    head.send(NodeUncordoned(at=300.0, node=other))
    assert head.nodes("s", 3) == {other}


def test_what_runs_on_a_cordoned_node_stays() -> None:
    head = Head(2)
    head.offer("s", 1)
    head.send(NodeCordoned(at=1.0, node="n0"))
    head.wait(1000.0)
    assert head.running == {("s", 1): 1}
    head.release("s", 1)
    head.offer("s", 2)
    assert not head.running


def test_draining_moves_those_who_can_pause() -> None:
    head = Head(2, 2)
    head.offer("s", 1)
    head.offer("s", 2, can_pause=False)
    (node,) = head.nodes("s", 1)
    assert head.nodes("s", 2) == {node}
    head.send(NodeCordoned(at=10.0, node=node, drain=True, reason="maintenance"))
    assert head.paused == [("s", 1)]
    assert "drained: maintenance" in next(a.reason for a in head.log if type(a).__name__ == "Pause")
    assert head.nodes("s", 1) == {"n0", "n1"} - {node}
    assert head.nodes("s", 2) == {node}


def test_a_node_that_comes_back_is_still_cordoned() -> None:
    head = Head(2)
    head.send(NodeCordoned(at=1.0, node="n0"))
    head.send(NodeDown(at=2.0, node="n0"))
    head.send(NodeUp(at=3.0, node="n0", gpus=("a", "b"), cpus=8, memory_gib=64.0))
    head.offer("s", 1)
    assert not head.running


def test_shares_do_not_count_what_nobody_may_use() -> None:
    head = Head(4, 4)
    head.send(NodeCordoned(at=0.0, node="n1"))
    for study in ("a", "b"):
        head.send(StudyAdded(at=0.0, study=study))
        for number in range(8):
            head.offer(study, number)
    studies = [study for study, _ in head.running]
    assert (studies.count("a"), studies.count("b")) == (2, 2)
    assert [row.owed for row in head.policy.shares(0.0)] == [2, 2]
