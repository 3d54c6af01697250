"""Connections between workers: what goes through them, and that whoever waits for one that has gone finds out."""

import os
import signal
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch.distributed import HashStore

from shoal.trial_runner.flats import Flats
from shoal.trial_runner.group import PeerLost
from shoal.trial_runner.mesh import connect_all
from shoal.trial_runner.socket_group import SocketGroup


def formed(k: int, ask: Callable[[], None] = lambda: None, store: Any = None) -> list[SocketGroup]:
    """The groups of k workers, all in this process."""
    store = HashStore() if store is None else store
    with ThreadPoolExecutor(k) as pool:
        joining = [pool.submit(connect_all, store, 1, rank, k, ask) for rank in range(k)]
        return [SocketGroup(rank, peers.result()) for rank, peers in enumerate(joining)]


def together(groups: list[SocketGroup], do: Callable[[SocketGroup], Any]) -> list[Any]:
    with ThreadPoolExecutor(len(groups)) as pool:
        return [done.result() for done in [pool.submit(do, group) for group in groups]]


@pytest.mark.parametrize("k", [2, 4, 8])
@pytest.mark.parametrize("length", [3, 700_001])
def test_sums_of_several_types_at_once(k: int, length: int) -> None:
    """Whole, and by halves; what is larger than a socket's memory too."""

    def add(group: SocketGroup) -> tuple[float, float, float]:
        flats = Flats([(torch.float64, 2), (torch.float32, length), (torch.uint8, 5)])
        for part in flats.parts:
            part.fill_(group.rank + 1)
        group.tree_sum(flats)
        assert all(bool((part == part[0]).all()) for part in flats.parts)
        return tuple(float(part[0]) for part in flats.parts)  # type: ignore[return-value]

    groups = formed(k)
    assert together(groups, add) == [(k * (k + 1) / 2,) * 3] * k
    assert together(groups, lambda group: group.agree({"from": group.rank})) == [{"from": 0}] * k
    for group in groups:
        group.leave()


def test_leaving_is_noticed_though_a_forked_process_holds_the_sockets() -> None:
    first, second = formed(2)
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


def test_a_meeting_can_be_called_off() -> None:
    def ask() -> None:
        raise PeerLost("called off")

    with pytest.raises(PeerLost, match="called off"):
        connect_all(HashStore(), 1, 0, 2, ask)


def test_strangers_are_turned_away() -> None:
    """Whatever else connects is no worker of the group."""
    store = HashStore()

    def intrude() -> None:
        while not store.check(["1/0"]):
            pass
        address = store.get("1/0").decode().split()[0]
        with socket.socket(socket.AF_UNIX) as stranger:
            stranger.connect(address)
            stranger.sendall(b"\0" * 20)

    intruder = threading.Thread(target=intrude)
    intruder.start()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(connect_all, store, 1, 0, 2, lambda: None)
        intruder.join()
        second = pool.submit(connect_all, store, 1, 1, 2, lambda: None)
        groups = [SocketGroup(0, first.result()), SocketGroup(1, second.result())]
    assert together(groups, lambda group: group.agree(group.rank)) == [0, 0]
