"""Connections between workers: what goes through them, and that whoever waits for one that has gone finds out."""

import json
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest
import torch
from torch.distributed import HashStore

from shoal.trial_runner.flats import Flats
from shoal.trial_runner.group import PeerLost
from shoal.trial_runner.mesh import Places, connect_all
from shoal.trial_runner.socket_group import SocketGroup

ONE_NODE = Places(nodes=["", ""])


class Off:
    """Implements `Interrupt`: calls the group off once it is told to."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()

    def call_off(self) -> None:
        os.write(self._write, b"x")

    def fileno(self) -> int:
        return self._read

    def look(self) -> None:
        os.set_blocking(self._read, False)
        try:
            os.read(self._read, 1)
        except BlockingIOError:
            return
        raise PeerLost("called off")

    def close(self) -> None:
        os.close(self._read)
        os.close(self._write)


@pytest.fixture
def off() -> Iterator[Off]:
    with closing(Off()) as made:
        yield made


def formed(nodes: Sequence[str], interrupt: Off | None = None) -> list[SocketGroup]:
    """The groups of workers on these nodes, all in this process."""
    store = HashStore()
    places = Places(nodes=nodes, host="127.0.0.1" if len(set(nodes)) > 1 else "")
    with ThreadPoolExecutor(len(nodes)) as pool:
        joining = [pool.submit(connect_all, store, 1, rank, places, interrupt) for rank in range(len(nodes))]
        return [SocketGroup(rank, peers.result(), interrupt) for rank, peers in enumerate(joining)]


def together(groups: list[SocketGroup], do: Callable[[SocketGroup], Any]) -> list[Any]:
    with ThreadPoolExecutor(len(groups)) as pool:
        return [done.result() for done in [pool.submit(do, group) for group in groups]]


@pytest.mark.parametrize("nodes", [[""] * 2, [""] * 4, [""] * 8, ["", "b"], ["", "", "b", "c"]])
@pytest.mark.parametrize("length", [3, 700_001])
def test_sums_of_several_types_at_once(nodes: list[str], length: int) -> None:
    """Whole, and by halves; what is larger than a socket's memory too; on one node and over several."""
    k = len(nodes)

    def add(group: SocketGroup) -> tuple[float, float, float]:
        flats = Flats([(torch.float64, 2), (torch.float32, length), (torch.uint8, 5)])
        for part in flats.parts:
            part.fill_(group.rank + 1)
        group.tree_sum(flats)
        assert all(bool((part == part[0]).all()) for part in flats.parts)
        return tuple(float(part[0]) for part in flats.parts)  # type: ignore[return-value]

    groups = formed(nodes)
    assert together(groups, add) == [(k * (k + 1) / 2,) * 3] * k
    assert together(groups, lambda group: group.agree({"from": group.rank})) == [{"from": 0}] * k
    for group in groups:
        group.leave()


def test_leaving_is_noticed_though_a_forked_process_holds_the_sockets() -> None:
    first, second = formed(["", ""])
    child = os.fork()
    if child == 0:  # as a DataLoader's process does
        signal.pause()
        os._exit(0)
    try:
        waiting = threading.Thread(target=second.leave)
        waiting.start()
        with pytest.raises(PeerLost):
            first.tree_sum(Flats.of(torch.ones(4)))
        waiting.join()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_a_meeting_can_be_called_off(off: Off) -> None:
    off.call_off()
    with pytest.raises(PeerLost, match="called off"):
        connect_all(HashStore(), 1, 0, ONE_NODE, off)


def test_who_waits_for_a_silent_worker_can_be_told(off: Off) -> None:
    """A node that is frozen or cut off closes no connection."""
    first, silent = formed(["", "b"], off)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(first.tree_sum, Flats.of(torch.ones(4)))
        off.call_off()
        with pytest.raises(PeerLost, match="called off"):
            waiting.result()
    first.leave()
    silent.leave()


def test_strangers_are_turned_away() -> None:
    """Whatever else connects is no worker of the group."""
    store = HashStore()

    def intrude() -> None:
        while not store.check(["1/0"]):
            pass
        address = json.loads(store.get("1/0"))["path"]
        with socket.socket(socket.AF_UNIX) as stranger:
            stranger.connect(address)
            stranger.sendall(b"\0" * 20)

    intruder = threading.Thread(target=intrude)
    intruder.start()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(connect_all, store, 1, 0, ONE_NODE)
        intruder.join()
        second = pool.submit(connect_all, store, 1, 1, ONE_NODE)
        groups = [SocketGroup(0, first.result()), SocketGroup(1, second.result())]
    assert together(groups, lambda group: group.agree(group.rank)) == [0, 0]
