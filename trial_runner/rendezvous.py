"""Where the workers of a trial find each other: a store in a process that the agent keeps (`store_keeper.py`).

Before a group is formed, everybody leaves a sign and waits for the signs of all others, asking the agent meanwhile:
forming the group itself cannot be called off, and would wait half an hour for a worker that died on its way here.
"""

from __future__ import annotations

import os
import sys
import time

from torch._C._distributed_c10d import TCPStore
from torch.distributed.distributed_c10d import PrefixStore, Store

from .group import PeerLost
from .link import Link

LOOK_S = 0.001  # how often the others' signs are looked for: a question to the store takes a tenth of it

LOOPBACK = "lo" if sys.platform == "linux" else "lo0"


class Rendezvous:
    """One worker's way to the store.

    Args:
        trial: sets the trial's keys, and its generation's, apart from all others.
    """

    def __init__(self, link: Link, trial: str) -> None:
        self._link = link
        self._trial = trial
        self._stores: dict[int, Store] = {}

    def meet(self, port: int, formation: int, rank: int, world_size: int) -> Store:
        """Wait until all have come; the store to form the group with.

        Raises:
            PeerLost: the agent called the meeting off, or the store has gone.
        """
        os.environ.setdefault("GLOO_SOCKET_IFNAME", LOOPBACK)  # all are on one node: nothing listens to the network
        try:
            store = self._store(port)
            store.set(f"{formation}/{rank}", "here")
            signs = [f"{formation}/{other}" for other in range(world_size)]
            while not store.check(signs):
                self._ask_agent(formation)
                time.sleep(LOOK_S)
        except RuntimeError as error:
            gone = str(error)
        else:
            return store
        raise PeerLost(gone)

    def _ask_agent(self, formation: int) -> None:
        while (off := self._link.try_receive("called_off")) is not None:
            if off["formation"] == formation:
                raise PeerLost("the agent called the meeting off")

    def _store(self, port: int) -> Store:
        if port not in self._stores:
            self._stores = {port: PrefixStore(self._trial, TCPStore("127.0.0.1", port, wait_for_workers=False))}
        return self._stores[port]
