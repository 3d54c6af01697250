"""Trials with workers on several nodes: agents of their own, which know of each other and nothing of a cluster."""

import contextlib
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from shoal.tests.process.conftest import Node
from shoal.tests.process.test_elastic_trials import end, prepare, same
from shoal.trial_runner.messages import Ended, FailAt, KillTrial, Reported, Resized, ResizeTrial, Slot, Started

SLOWLY = {"epochs": 8, "step_s": 0.05}


def pool(folder: Path) -> list[Node]:
    """Nodes a, b and c, introduced to each other."""
    nodes = [Node(folder / name, name) for name in "abc"]
    for node in nodes:
        node.others = [other for other in nodes if other is not node]
        for other in node.others:
            door = other.agent.door
            assert door is not None
            node.agent.perform(door)
    return nodes


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Node]]:
    made = pool(tmp_path_factory.mktemp("pool"))
    for node in made:
        prepare(node, **SLOWLY)
    yield made
    for node in made:
        node.agent.close()


@pytest.fixture
def home(nodes: list[Node]) -> Node:
    """Node a, which has heard of nothing yet."""
    for node in nodes:
        node.others = [other for other in nodes if other is not node]
        node.seen.clear()
    return nodes[0]


@pytest.fixture(scope="module")
def undisturbed(nodes: list[Node]) -> tuple[Any, Any]:
    """How the trial ends on one worker."""
    nodes[0].seen.clear()
    launch(nodes[0], 0, "a")
    return end(nodes[0], 0)


def on(places: str) -> tuple[Slot, ...]:
    return tuple(Slot(node=place) for place in places)


def launch(home: Node, number: int, places: str, **more: Any) -> None:
    home.launch(number, slots=on(places), max_workers=8, max_shards=8, seed=7, **more)


def resized(home: Node, number: int, places: str) -> Resized:
    home.agent.perform(ResizeTrial(study="s", number=number, generation=1, resize=3, slots=on(places)))
    told: Resized = home.wait_for(Resized, number)
    return told


def workers_of(node: Node) -> list[psutil.Process]:
    """Processes of trials, among those that stand by and the fork server's others: they have a log."""
    servers = [child for child in psutil.Process().children() if str(node.study_dir) in " ".join(child.cmdline())]
    forked = [child for server in servers for child in server.children()]
    return [process for process in forked if any("log-worker" in file.path for file in process.open_files())]


def guests(node: Node) -> int:
    return len(workers_of(node))


def reported(home: Node, number: int, times: int = 1) -> None:
    for _ in range(times):
        home.answer(home.wait_for(Reported, number), "continue")


def test_a_trial_over_three_nodes_ends_as_on_one(home: Node, undisturbed: Any) -> None:
    launch(home, 1, "aabc")
    reported(home, 1)
    assert [guests(node) for node in home.others] == [1, 1]
    assert [node.agent.guests_of for node in home.others] == [["s#1"], ["s#1"]]
    same(undisturbed, end(home, 1))
    assert not [event for event in home.seen if isinstance(event, Resized)], "it was launched with them"
    for node in home.others:
        assert not [event for event in node.seen if isinstance(event, Started | Reported | Ended)]
        home.turn_until(lambda node=node: not guests(node))  # type: ignore[misc]


def test_it_grows_over_nodes_and_shrinks_again(home: Node, undisturbed: Any) -> None:
    launch(home, 2, "a")
    for places in ("ab", "abbccccc", "aabb", "a"):
        reported(home, 2)
        told = resized(home, 2, places)
        assert told.ok and sorted(slot.node for slot in told.slots) == sorted(places), told
        assert told.slots[0].node == "a", "rank 0 is at home"
    same(undisturbed, end(home, 2))


@pytest.mark.parametrize(("number", "places"), [(3, "abcc"), (4, "aabb")])
def test_guests_that_die_leave_no_trace(home: Node, undisturbed: Any, number: int, places: str) -> None:
    launch(home, number, places)
    reported(home, number, 2)
    victims = [worker for node in home.others for worker in workers_of(node)]
    assert len(victims) == len(places.replace("a", ""))
    for worker in victims:
        worker.kill()
    told = home.wait_for(Resized, number)
    while len(told.slots) > places.count("a"):  # they die one after the other
        told = home.wait_for(Resized, number)
    assert {slot.node for slot in told.slots} == {"a"}
    same(undisturbed, end(home, number))


def test_a_guest_that_only_falls_silent_is_ended(home: Node, undisturbed: Any) -> None:
    launch(home, 5, "ab", fail_at=FailAt(rank=1, epoch=2, step=1, how="stop"))
    assert home.wait_for(Resized, 5).slots == on("a")
    same(undisturbed, end(home, 5))
    home.turn_until(lambda: not guests(home.others[0]))


def test_a_node_that_is_frozen_is_given_up_and_changes_nothing_when_it_wakes(home: Node, undisturbed: Any) -> None:
    """Its agent and its workers stop: nothing is closed, nothing is said."""
    launch(home, 6, "ab")
    reported(home, 6, 2)
    frozen = home.others.pop(0)  # nobody drives its agent from here on
    (guest,) = workers_of(frozen)
    guest.suspend()
    assert home.wait_for(Resized, 6).slots == on("a")
    guest.resume()
    same(undisturbed, end(home, 6))
    home.others.append(frozen)
    home.turn_until(lambda: not guest.is_running())


def test_when_none_is_left_at_home_it_is_lost_and_goes_on_from_its_checkpoint(home: Node, undisturbed: Any) -> None:
    launch(home, 7, "abbb")
    reported(home, 7, 2)
    (started,) = [event for event in home.seen if isinstance(event, Started)]
    os.kill(started.pids[0], signal.SIGKILL)
    ended = home.wait_for(Ended, 7)
    assert (ended.outcome, ended.failure) == ("failed", "LOST")
    home.turn_until(lambda: not guests(home.others[0]))
    launch(home, 7, "ac", generation=2, reported_step=2)
    again = end(home, 7)
    same(undisturbed, (again[0], list(dict(again[1]).items())))


def test_a_node_is_told_to_send_the_guests_of_a_lost_home_away(home: Node) -> None:
    launch(home, 8, "ab")
    reported(home, 8)
    there = home.others[0]
    there.agent.perform(KillTrial(study="s", number=8, generation=1, reason="its home is gone"))
    assert home.wait_for(Resized, 8).slots == on("a")
    home.turn_until(lambda: not guests(there))
    end(home, 8)


def test_a_guest_that_uses_too_much_memory_ends_the_trial(home: Node) -> None:
    launch(home, 9, "ab", memory_gib=0.001)
    ended = home.wait_for(Ended, 9)
    assert ended.failure == "OOM" and "memory_gib" in ended.reason


def test_a_node_that_nobody_knows_is_no_reason_to_stop(home: Node, undisturbed: Any) -> None:
    launch(home, 10, "az")
    told = home.wait_for(Resized, 10)
    assert told.slots == on("a") and "z is not known" in told.reason
    same(undisturbed, end(home, 10))


CALL = b'{"kind":"come","token":"guessed","study":"s","memory_gib":null}\n'


@pytest.mark.parametrize("sent", [CALL, b"GET / HTTP/1.1\r\n\r\n", b"[]\n", b'{"a":1}\n'])
def test_strangers_get_no_worker(home: Node, sent: bytes) -> None:
    door = home.others[0].agent.door
    assert door is not None
    before = workers_of(home.others[0])
    with socket.create_connection((door.host, door.port)) as stranger:
        stranger.sendall(sent)
        stranger.settimeout(0.05)
        answer, received = b"", b"-"
        while received:
            home.turn()
            with contextlib.suppress(TimeoutError):
                received = stranger.recv(4096)
                answer += received
    assert b"usage" not in answer and workers_of(home.others[0]) == before


def test_a_study_that_is_not_prepared_there_is_refused_with_the_reason(tmp_path: Path) -> None:
    nodes = pool(tmp_path)
    prepare(nodes[0])
    launch(nodes[0], 0, "ab")
    told = nodes[0].wait_for(Resized, 0)
    assert told.slots == on("a") and "not prepared" in told.reason
    assert nodes[0].wait_for(Ended, 0).outcome == "completed"
    for node in nodes:
        node.agent.close()
