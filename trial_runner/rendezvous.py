"""Where the workers of a trial find each other: a store in a process that the agent keeps (`store_keeper.py`)."""

from __future__ import annotations

import datetime
import os
import sys
from typing import Any

import torch
from torch import distributed
from torch._C._distributed_c10d import PrefixStore, Store, TCPStore

from .group import PeerLost
from .link import Link
from .mesh import connect_all
from .socket_group import SocketGroup

CONNECTING = datetime.timedelta(seconds=10)
"""For a store that listens already: longer only when its process is dying."""

ALL_REDUCE = datetime.timedelta(seconds=60)
"""All workers come to an all-reduce at once: they have exchanged their losses just before."""

LOOPBACK_DEVICE = "lo" if sys.platform == "linux" else "lo0"


class Rendezvous:
    """One worker's way to the store.

    Args:
        trial: sets the trial's keys, and its generation's, apart from all others.
    """

    def __init__(self, link: Link, trial: str) -> None:
        self._link = link
        self._trial = trial
        self._stores: dict[int, Store] = {}

    def form(self, port: int, formation: int, rank: int, world_size: int) -> SocketGroup:
        """Form a group with those that were ordered to.

        Raises:
            PeerLost: the agent called it off, another worker has gone, or the store has.
        """
        try:
            store = self._store(port)
        except RuntimeError as error:
            gone = str(error)
        else:
            peers = connect_all(store, formation, rank, world_size, lambda: self._ask_agent(formation))
            return SocketGroup(rank, peers)
        raise PeerLost(gone)

    def torch_group(self, formation: int, rank: int, world_size: int) -> Any:
        """torch's default group, of the same workers: NCCL where this worker has a GPU, else gloo.

        Raises:
            PeerLost: another worker has gone.
        """
        os.environ.setdefault("GLOO_SOCKET_IFNAME", LOOPBACK_DEVICE)  # all are on one node
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

    def _ask_agent(self, formation: int) -> None:
        while (off := self._link.try_receive("called_off")) is not None:
            if off["formation"] == formation:
                raise PeerLost("the agent called the meeting off")

    def _store(self, port: int) -> Store:
        if port not in self._stores:
            store = TCPStore("127.0.0.1", port, timeout=CONNECTING, wait_for_workers=False)
            self._stores = {port: PrefixStore(self._trial, store)}
        return self._stores[port]
