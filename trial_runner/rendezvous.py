"""Where the workers of a trial find each other: a store in a process that the agent keeps (`store_keeper.py`)."""

from __future__ import annotations

import datetime
import os
from typing import Any

import torch
from torch import distributed
from torch._C._distributed_c10d import PrefixStore, Store, TCPStore

from .group import PeerLost
from .link import Link
from .mesh import Places, connect_all
from .socket_group import SocketGroup
from .store_keeper import LOOPBACK
from .wire import Message

CONNECTING = datetime.timedelta(seconds=10)
"""For a store that listens already: longer only when its process is dying."""

ALL_REDUCE = datetime.timedelta(seconds=60)
"""All workers come to an all-reduce at once: they have exchanged their losses just before."""

class Rendezvous:
    """One worker's way to the store.

    Args:
        trial: sets the trial's keys, and its generation's, apart from all others.
    """

    def __init__(self, link: Link, trial: str) -> None:
        self._link = link
        self._trial = trial
        self._stores: dict[tuple[str, int], Store] = {}
        self._host = ""

    def form(self, order: Message) -> SocketGroup:
        """Form a group with those that were ordered to (`Formation.orders`).

        Raises:
            PeerLost: the agent called it off, another worker has gone, or the store has.
        """
        interrupt = CalledOff(self._link, order["formation"])
        places = Places(nodes=order["nodes"], host=order["host"])
        try:
            store = self._store(order["store_host"] or LOOPBACK, order["port"])
        except RuntimeError as error:
            gone = str(error)
        else:
            self._host = places.host
            peers = connect_all(store, order["formation"], order["rank"], places, interrupt)
            return SocketGroup(order["rank"], peers, interrupt)
        raise PeerLost(gone)

    def torch_group(self, formation: int, rank: int, world_size: int) -> Any:
        """torch's default group, of the same workers: NCCL where this worker has a GPU, else gloo.

        Raises:
            PeerLost: another worker has gone.
        """
        os.environ["GLOO_SOCKET_IFNAME"] = device_of(self._host or LOOPBACK)
        (store,) = self._stores.values()
        try:
            distributed.init_process_group(
                "nccl" if torch.cuda.is_available() else "gloo", store=PrefixStore(f"torch/{formation}", store),
                rank=rank, world_size=world_size, timeout=ALL_REDUCE,
            )  # fmt: skip
        except RuntimeError as error:
            gone = str(error)
        else:
            return distributed.group.WORLD
        raise PeerLost(gone)

    def _store(self, host: str, port: int) -> Store:
        if (host, port) not in self._stores:
            store = TCPStore(host, port, timeout=CONNECTING, wait_for_workers=False)
            self._stores = {(host, port): PrefixStore(self._trial, store)}
        return self._stores[host, port]


class CalledOff:
    """Implements `mesh.Interrupt`: the agent has said that a group is no more, or will not come about."""

    def __init__(self, link: Link, formation: int) -> None:
        self._link = link
        self._formation = formation

    def fileno(self) -> int:
        return self._link.fileno()

    def look(self) -> None:
        while (off := self._link.try_receive("called_off")) is not None:
            if off["formation"] == self._formation:
                raise PeerLost("the agent called the group off")


def device_of(host: str) -> str:
    """The network device that has an address, for gloo.

    Raises:
        PeerLost: none has it any more.
    """
    import psutil

    for device, addresses in psutil.net_if_addrs().items():
        if any(address.address.partition("%")[0] == host for address in addresses):
            return str(device)
    raise PeerLost(f"no network device has the address {host}")
