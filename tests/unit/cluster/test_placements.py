"""Where trials are, and how one goes over to another node."""

from dataclasses import replace
from typing import Any

import pytest

from shoal.trial_runner.cluster.placements import Outcome, Placements
from shoal.trial_runner.messages import (
    Ended,
    KillTrial,
    LaunchTrial,
    PauseTrial,
    Reported,
    Resized,
    ResizeTrial,
    Slot,
    Started,
)

NODES = ("a", "b")


def slots(*nodes: str) -> tuple[Slot, ...]:
    return tuple(Slot(node=node, gpus=(f"{node}-{index}",)) for index, node in enumerate(nodes))


def launch(*nodes: str, **changes: Any) -> LaunchTrial:
    facts: dict[str, Any] = {
        "config": {}, "seed": 1, "metric": "score", "direction": "maximize", "max_workers": 4, "max_shards": 4,
        **changes,
    }
    return LaunchTrial(study="s", number=0, generation=2, slots=slots(*nodes), **facts)


def order(*nodes: str, resize: int = 5) -> ResizeTrial:
    return ResizeTrial(study="s", number=0, generation=2, resize=resize, slots=slots(*nodes))


def ended(outcome: Any = "paused", reason: str = "", **phases_s: float) -> Ended:
    return Ended(study="s", number=0, generation=2, outcome=outcome, reason=reason, phases_s=phases_s)


def report(step: int) -> Reported:
    return Reported(study="s", number=0, generation=2, step=step, metrics={}, can_pause=True)


STARTED = Started(study="s", number=0, generation=2, start_s=0.1, pids=(1,))


def table(*nodes: str, **changes: Any) -> Placements:
    made = Placements()
    made.launch(launch(*nodes, **changes), NODES, now=0.0)
    return made


def moving(**changes: Any) -> tuple[Placements, PauseTrial]:
    """A trial that was on node a, reported step 3 and has been told to let go."""
    made = table("a", **changes)
    made.hear("a", report(3), NODES, now=1.0)
    ((node, pause),) = made.tell(order("b"), NODES).posts
    assert node == "a" and isinstance(pause, PauseTrial)
    return made, pause


def test_a_trial_goes_over_to_another_node() -> None:
    made, pause = moving(time_limit_s=100.0)
    gone_over = made.hear("a", ended(reason=pause.reason, user=2.0), NODES, now=10.0)
    assert gone_over.events == (), "the head hears of no end"
    ((node, again),) = gone_over.posts
    assert node == "b"
    assert again == launch("b", moved=True, reported_step=3, time_limit_s=90.0)
    started = made.hear("b", STARTED, NODES, now=12.5)
    (resized,) = started.events
    assert isinstance(resized, Resized)
    assert (resized.ok, resized.resize, resized.slots, resized.stall_s) == (True, 5, slots("b"), 2.5)
    (end,) = made.hear("b", ended("completed", user=1.0), NODES, now=20.0).events
    assert isinstance(end, Ended) and end.phases_s == {"user": 3.0}


def test_a_pause_that_the_head_has_decided_is_no_move() -> None:
    made, _ = moving()
    end = ended(reason="rung 1: rank 9 of 10")
    assert made.hear("a", end, NODES, now=2.0) == Outcome(events=(end,))
    assert made.tell(order("b"), NODES) == Outcome()


def test_a_trial_that_ends_before_it_can_move_has_ended() -> None:
    made, _ = moving()
    end = ended("completed", "the function returned")
    assert made.hear("a", end, NODES, now=2.0) == Outcome(events=(end,))


def test_nothing_is_heard_from_the_node_that_it_has_left() -> None:
    made, pause = moving()
    made.hear("a", ended(reason=pause.reason), NODES, now=2.0)
    assert made.hear("a", report(9), NODES, now=3.0) == Outcome()
    assert made.lose("a", "silent") == Outcome()


def test_a_node_that_goes_while_a_trial_is_on_its_way_to_it() -> None:
    made, pause = moving()
    (end,) = made.hear("a", ended(reason=pause.reason), ("a",), now=2.0).events
    assert isinstance(end, Ended) and (end.outcome, end.failure) == ("failed", "LOST")
    made, pause = moving()
    made.hear("a", ended(reason=pause.reason), NODES, now=2.0)
    (end,) = made.lose("b", "silent").events
    assert isinstance(end, Ended) and end.failure == "LOST"


def test_what_cannot_be_moved_stays() -> None:
    made = table("a")
    (resized,) = made.tell(order("c"), NODES).events
    assert isinstance(resized, Resized)
    assert (resized.ok, resized.resize, resized.slots) == (False, 5, slots("a"))
    made.tell(order("b"), NODES)
    (resized,) = made.tell(order("b", resize=6), NODES).events
    assert isinstance(resized, Resized) and (resized.ok, resized.resize) == (False, 6)


@pytest.mark.parametrize("places", ["aa", "ab", "ba"])
def test_a_resize_that_leaves_its_home_is_the_agents(places: str) -> None:
    made = table("a")
    wanted = order(*places)
    assert made.tell(wanted, NODES) == Outcome(posts=(("a", wanted),))
    done = Resized(
        study="s", number=0, generation=2, resize=5, ok=True, slots=wanted.slots, stall_s=0.1, reason="1 to 2 workers"
    )
    assert made.hear("a", done, NODES, now=1.0) == Outcome(events=(done,))


def test_a_trial_over_several_nodes_is_at_home_on_the_first() -> None:
    made = Placements()
    wanted = launch("b", "a", "a", "c")
    assert made.launch(wanted, NODES, now=0.0) == Outcome(posts=(("b", wanted),))
    assert made.hear("b", report(1), NODES, now=1.0).events == (report(1),)
    assert made.hear("a", report(2), NODES, now=1.0) == Outcome(), "guests report to their home"


def test_when_its_home_is_lost_its_guests_are_sent_away() -> None:
    made = table("a", "b", "c", "b")
    assert made.lose("c", "silent") == Outcome(), "its agent notices, and says with what it goes on"
    outcome = made.lose("a", "silent")
    (end,) = outcome.events
    assert isinstance(end, Ended) and end.failure == "LOST"
    assert [node for node, _ in outcome.posts] == ["b", "c"]
    assert all(isinstance(told, KillTrial) and told.generation == 2 for _, told in outcome.posts)


def test_a_trial_whose_home_is_taken_from_it_moves_with_its_guests() -> None:
    made = table("a", "b")
    ((node, pause),) = made.tell(order("b", "c"), NODES).posts
    assert node == "a" and isinstance(pause, PauseTrial)
    ((node, again),) = made.hear("a", ended(reason=pause.reason), NODES, now=2.0).posts
    assert node == "b" and isinstance(again, LaunchTrial)
    assert again.slots == slots("b", "c") and again.moved


def test_a_past_generation_is_told_nothing_and_heard_of_nothing() -> None:
    made = table("a")
    kill = KillTrial(study="s", number=0, generation=1, reason="x")
    assert made.tell(kill, NODES) == Outcome()
    assert made.hear("a", replace(report(1), generation=1), NODES, now=1.0) == Outcome()
    assert made.hear("b", report(1), NODES, now=1.0) == Outcome()
    made.forget("s")
    assert made.hear("a", report(1), NODES, now=1.0) == Outcome()
