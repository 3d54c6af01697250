"""The runner over many agents: who is told what, and what the head hears when agents fail."""

import select
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from shoal.errors import PoolError
from shoal.tests.process.cluster.fleets import FakeAgent, FakeFleet
from shoal.trial_runner.cluster.cluster_runner import ClusterRunner
from shoal.trial_runner.cluster.ports import Holder, RunningTrial
from shoal.trial_runner.messages import (
    Ended,
    KillTrial,
    LaunchTrial,
    NodeDraining,
    NodeJoined,
    NodeLost,
    PauseTrial,
    Prepared,
    PrepareStudy,
    Reported,
    Slot,
    Started,
)

PATIENCE_S = 30.0
HOLDER = Holder(owner="here", fence=1, text="the tests", store="file:///nowhere", probe="probe")


class Head:
    """Drives a runner as the head does."""

    def __init__(self, fleet: FakeFleet) -> None:
        self.fleet = fleet
        self.notices: list[str] = []
        self.runner = ClusterRunner(fleet, HOLDER, notice=self.notices.append, silence_s=0.25)
        self.seen: list[Any] = []
        self._unread: deque[Any] = deque()

    def open(self, *kept: RunningTrial, study: bool = True) -> list[NodeJoined]:
        nodes = self.runner.open(wait_s=PATIENCE_S)
        self.runner.keep(kept)
        if study:
            self.prepare()
            assert self.next(Prepared).ok
        return nodes

    def prepare(self) -> None:
        self.runner.perform(
            PrepareStudy(study="s", entry={}, space=None, code="c", archive=None, study_dir=Path("nowhere"), standby=4)
        )

    def next(self, kind: type[Any]) -> Any:
        """The next event of a kind."""
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            while self._unread:
                event = self._unread.popleft()
                if isinstance(event, kind):
                    return event
            self._unread.extend(self.turn())
        raise AssertionError(f"no {kind.__name__}; seen: {self.seen}; notices: {self.notices}")

    def turn(self) -> list[Any]:
        """Wait for something to happen, a tenth of a second at most."""
        select.select(self.runner.waitables(), [], [], 0.1 if self.runner.next_due_s() is None else 0.0)
        events = self.runner.drain()
        self.seen += events
        return events

    def wait_until_told(self, agent: FakeAgent, kind: type[Any]) -> Any:
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            for told in agent.told:
                if isinstance(told, kind):
                    return told
            time.sleep(0.005)
        raise AssertionError(f"never told {kind.__name__}: {agent.told}")


@pytest.fixture
def head() -> Iterator[Callable[..., Head]]:
    made: list[Head] = []

    def make(*nodes: str) -> Head:
        made.append(Head(FakeFleet(*nodes)))
        return made[-1]

    yield make
    for one in made:
        one.runner.close()


def launch(node: str, number: int = 0, generation: int = 1) -> LaunchTrial:
    return LaunchTrial(
        study="s", number=number, generation=generation, config={}, seed=1, metric="score", direction="maximize",
        slots=(Slot(node=node, gpus=(f"{node}-0",)),), max_workers=1, max_shards=1,
    )


def report(number: int = 0, generation: int = 1, step: int = 1) -> Reported:
    return Reported(study="s", number=number, generation=generation, step=step, metrics={}, can_pause=True)


def running(number: int, generation: int = 1) -> RunningTrial:
    started = launch("a", number, generation)
    return RunningTrial(launch=started, code="c", slots=started.slots)


def test_every_node_is_prepared_and_a_trial_goes_where_it_is_placed(head: Callable[..., Head]) -> None:
    one = head("a", "b")
    assert [node.node for node in one.open()] == ["a", "b"]
    one.runner.perform(launch("b"))
    assert one.wait_until_told(one.fleet.agents["b"], LaunchTrial).number == 0
    one.runner.perform(PauseTrial(study="s", number=0, generation=1, reason="x"))
    one.wait_until_told(one.fleet.agents["b"], PauseTrial)
    assert [type(told) for told in one.fleet.agents["a"].told] == [PrepareStudy]
    assert one.fleet.agents["a"].told[0].standby == 1, "no more workers wait than the node has GPUs"  # type: ignore[union-attr]


def test_only_the_present_generation_on_its_own_node_is_heard(head: Callable[..., Head]) -> None:
    one = head("a", "b")
    one.open()
    one.runner.perform(launch("a", generation=2))
    one.fleet.agents["b"].say(report(generation=2, step=7))
    one.fleet.agents["a"].say(report(generation=1, step=8), report(generation=2, step=9))
    assert one.next(Reported).step == 9


def test_a_silent_node_is_lost_with_its_trials_and_comes_back_empty(head: Callable[..., Head]) -> None:
    one = head("a", "b")
    one.open()
    agent = one.fleet.agents["a"]
    one.runner.perform(launch("a"))
    one.wait_until_told(agent, LaunchTrial)
    agent.set(silent=True)
    assert one.next(NodeLost).node == "a"
    ended = one.next(Ended)
    assert (ended.number, ended.outcome, ended.failure) == (0, "failed", "LOST")
    agent.say(report(step=5))  # it trained on while nobody heard it
    agent.set(silent=False)
    assert one.next(NodeJoined).node == "a"
    assert agent.greetings == [False, True], "it is told to end whatever it still ran"
    assert not any(isinstance(event, Reported) for event in one.seen)


def test_a_dead_agent_gets_a_successor(head: Callable[..., Head]) -> None:
    one = head("a", "b")
    one.open()
    one.fleet.agents["a"].set(dead=True)
    successor = one.fleet.add("a")
    assert one.next(NodeLost).node == "a"
    assert one.next(NodeJoined).node == "a"
    assert [type(told) for told in successor.told] == [PrepareStudy]


def test_an_agent_that_is_on_its_way_out_at_the_start_gets_a_successor(head: Callable[..., Head]) -> None:
    one = head("a")
    dying = one.fleet.agents["a"]
    dying.set(dead=True)
    timer = threading.Timer(0.3, one.fleet.add, ["a"])
    timer.start()
    assert [node.node for node in one.open()] == ["a"]
    timer.join()


def test_a_launch_on_a_node_that_has_just_gone_is_lost(head: Callable[..., Head]) -> None:
    one = head("a")
    one.open()
    one.runner.perform(launch("elsewhere"))
    assert one.next(Ended).failure == "LOST"


def test_a_node_that_joins_later_is_prepared_first(head: Callable[..., Head]) -> None:
    one = head("a")
    one.open()
    agent = FakeAgent("b")
    agent.slow_to_prepare = True
    one.fleet.agents["b"] = agent
    while not agent.told:
        one.turn()
    assert not any(isinstance(event, NodeJoined) for event in one.seen)
    agent.say(Prepared(study="s", ok=True, note=""))
    assert one.next(NodeJoined).node == "b"


def test_a_node_that_cannot_import_the_code_is_left_out(head: Callable[..., Head]) -> None:
    one = head("a", "b")
    one.fleet.agents["b"].cannot_import = "no module named torch"
    one.open()
    lost = one.next(NodeLost)
    assert (lost.node, "no module named torch" in lost.reason) == ("b", True)


def test_code_that_no_node_can_import_fails_the_study(head: Callable[..., Head]) -> None:
    one = head("a", "b")
    for agent in one.fleet.agents.values():
        agent.cannot_import = "no module named torch"
    one.open(study=False)
    one.prepare()
    prepared = one.next(Prepared)
    assert (prepared.ok, prepared.note) == (False, "no module named torch")
    assert not any(isinstance(event, NodeLost) for event in one.seen)


def test_the_last_node_that_was_waited_for_may_die(head: Callable[..., Head]) -> None:
    one = head("a", "b")
    one.fleet.agents["b"].slow_to_prepare = True
    one.open(study=False)
    one.prepare()
    one.wait_until_told(one.fleet.agents["b"], PrepareStudy)
    one.fleet.agents["b"].set(silent=True)
    assert one.next(Prepared).ok


def test_trials_of_a_former_head_go_on_or_are_killed(head: Callable[..., Head]) -> None:
    one = head("a")
    agent = one.fleet.agents["a"]
    agent.trials = (running(0), running(1))
    agent.say(report(0, step=3), report(1, step=3))
    one.open(running(0), study=False)
    assert one.next(Reported).number == 0
    assert one.wait_until_told(agent, KillTrial).number == 1
    one.prepare()
    one.next(Prepared)
    assert [event.number for event in one.seen if isinstance(event, Reported)] == [0]


def test_instructions_that_got_lost_are_sent_again(head: Callable[..., Head], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.trial_runner.cluster.watched_agent.RESEND_S", 0.05)
    one = head("a")
    one.open()
    agent = one.fleet.agents["a"]
    agent.lose_batches = 1
    one.runner.perform(launch("a"))
    one.wait_until_told(agent, LaunchTrial)
    agent.say(Started(study="s", number=0, generation=1, start_s=0.1, pids=(1,)))
    one.next(Started)


def test_nodes_of_another_head_are_left_alone(head: Callable[..., Head]) -> None:
    one = head("a", "b")
    one.fleet.agents["b"].held_by = "digits (on other-host)"
    assert [node.node for node in one.open()] == ["a"]
    assert any("held by digits" in notice for notice in one.notices)
    alone = head("c")
    alone.fleet.agents["c"].held_by = "digits (on other-host)"
    with pytest.raises(PoolError, match="held by digits"):
        alone.runner.open(wait_s=PATIENCE_S)


def test_a_person_drains_a_node_and_uses_it_again(head: Callable[..., Head]) -> None:
    one = head("a")
    one.open()
    one.fleet.agents["a"].set(draining=True)
    assert one.next(NodeDraining).draining
    one.fleet.agents["a"].set(draining=False)
    assert not one.next(NodeDraining).draining


def test_agents_leave_when_the_head_does(head: Callable[..., Head]) -> None:
    one = head("a", "b")
    one.open()
    one.runner.close()
    assert all(agent.left for agent in one.fleet.agents.values())
