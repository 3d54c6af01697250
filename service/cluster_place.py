"""The nodes of a Ray cluster as the place where trials are run (`docs/cluster.md`)."""

from __future__ import annotations

import contextlib
import socket
import time
import uuid
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ..errors import PoolError
from ..scheduler.pool import describe
from ..scheduler.port import NodeUp, Request
from ..trial_runner.cluster.agent_host import LEASE_S
from ..trial_runner.cluster.checkpoint_store import CheckpointStore
from ..trial_runner.cluster.cluster_runner import FIRST_NODES_S, ClusterRunner
from ..trial_runner.cluster.ports import AgentDead, AgentSilent, Holder, NodeFacts, RunningTrial
from ..trial_runner.cluster.ray_fleet import RayFleet, connect, disconnect
from ..trial_runner.process_record import ProcessRecords
from .arrivals import Notice, node_up
from .cluster_nodes import facts_of
from .cluster_start import OwnCluster
from .pool import Devices
from .ports import Runner

POOL_ID = "pool-id"

ANSWER_S = 2.0  # one call to an agent

STRAGGLERS_S = 5.0
"""How much longer than the first node the others are waited for: nodes that are started together are up together."""

START = "start"
"""What `--ray` says instead of an address, for a cluster of this machine."""


class RayPlace:
    """A running cluster, or one of this machine in a process tree of its own.

    Args:
        address: the cluster's, or "start".
        data: the data directory.
        store: URL of storage that all nodes share, for checkpoints and logs; "": the data directory, which must then
            be visible under the same path on every node.
        names: the studies, for whoever asks who holds a node.
        logical_gpus: with "start": pretend that this machine has so many GPUs.
        lease_s: how long trials go on when this program has died.
    """

    def __init__(
        self, address: str, data: Path, *, store: str = "", names: Sequence[str] = (), logical_gpus: int | None = None,
        lease_s: float = LEASE_S,
    ) -> None:
        self._address = address
        self._data = data.resolve()
        self._store = store or f"file://{self._data}"
        self._names = names
        self._logical_gpus = logical_gpus
        self._fleet = RayFleet(facts_of, lease_s=lease_s)
        self._stack = ExitStack()
        self._facts: list[NodeFacts] = []
        self._runner: ClusterRunner | None = None
        self._wished = 0

    def __enter__(self) -> Self:
        """Connect, and have an agent on every node.

        Raises:
            PoolError: there is no such cluster, or none of its nodes answers.
        """
        try:
            address = self._address
            if address == START:
                address = self._stack.enter_context(OwnCluster(self._data, self._logical_gpus)).address
            connect(address)
            self._stack.callback(disconnect)
            self._stack.callback(self.wish, 0)
            self._facts = list(asked(self._fleet, "facts", FIRST_NODES_S).values())
            if not self._facts:
                raise PoolError(
                    f"no node of the Ray cluster at {address} can be used: none has CPUs or GPUs to offer, or other "
                    "Ray programs hold them.",
                    "Look with `ray status`; wait for those programs, or add nodes.",
                )
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def devices(self) -> Devices:
        """The node that has most, for what a single trial may ask."""
        largest = max(self._facts, key=lambda facts: (len(facts.gpus), facts.cpus))
        return Devices(
            gpus=tuple(gpu for facts in self._facts for gpu in facts.gpus),
            gpu_model=largest.device_model,
            gpu_memory_gib=max(facts.gpu_memory_gib for facts in self._facts),
            cpus=largest.cpus,
            memory_gib=max(facts.memory_gib for facts in self._facts),
        )

    def limited(self, request: Request, study: str, *, spans: bool) -> Request:
        """On one node as many workers as the largest holds; over several as many as all of one device model hold
        (larger ones are not refused: nodes may join). In powers of two."""
        rooms: Counter[str] = Counter()
        for facts in self._facts:
            room, before = _workers_on(facts, request), rooms[facts.device_model]
            rooms[facts.device_model] = before + room if spans else max(before, room)
        most = max(rooms.values())
        if most < request.k_min:
            where = "nodes of one device model, and no such nodes have" if spans else "one node, and no node has"
            raise PoolError(
                f"study {study}: a trial needs {describe(request)} on {where} that much.",
                "Ask for fewer workers (workers=), or add nodes.",
            )
        return request if spans else replace(request, k_max=min(request.k_max, 1 << (most.bit_length() - 1)))

    def open(self, fence: int, notice: Notice) -> tuple[Runner, Sequence[NodeUp]]:
        ProcessRecords(self._data / "processes").sweep()  # what an earlier program ran on this machine itself
        host = socket.gethostname()
        probe = f".shoal-probe-{fence}"
        storage = CheckpointStore(self._store)
        storage.write(probe, host.encode())
        self._stack.callback(storage.remove, probe)
        holder = Holder(
            owner=_pool_id(self._data), fence=fence, store=self._store, probe=probe,
            text=f"{', '.join(self._names)} (on {host}, data in {self._data})",
        )  # fmt: skip
        self._runner = ClusterRunner(self._fleet, holder, notice=notice)
        try:
            joined = self._runner.open()
        except PoolError:
            self._runner.close()
            raise
        return self._runner, [node_up(node, time.time()) for node in joined]

    @property
    def found(self) -> Sequence[RunningTrial]:
        return () if self._runner is None else self._runner.found

    def keep(self, trials: Sequence[RunningTrial]) -> None:
        assert self._runner is not None, "it has been opened"
        self._runner.keep(trials)

    def wish(self, devices: int) -> None:
        if devices != self._wished:
            self._wished = devices
            self._fleet.wish("GPU" if self.devices.gpus else "CPU", devices)


def _workers_on(facts: NodeFacts, request: Request) -> int:
    """How many workers an empty node holds."""
    per_gpu = int(1 / request.gpus) if 0 < request.gpus < 1 else 1
    by_gpus = len(facts.gpus) * per_gpu // max(int(request.gpus), 1) if request.gpus else request.k_max
    by_cpus = facts.cpus // request.cpus if request.cpus else request.k_max
    return min(by_gpus, by_cpus)


def _pool_id(data: Path) -> str:
    """The name of the data directory's pool, the same on whatever machine its next program runs."""
    file = data / POOL_ID
    data.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError), file.open("x") as made:
        made.write(uuid.uuid4().hex)
    return file.read_text()


def asked(fleet: RayFleet, method: str, wait_s: float) -> dict[str, Any]:
    """What the agents of all nodes answer. Agents are started; those are left out that do not answer within `wait_s`,
    or within `STRAGGLERS_S` once others have."""
    answers: dict[str, Any] = {}
    until = time.monotonic() + wait_s
    waiting = set(fleet.nodes())
    while waiting and time.monotonic() < until:
        for node in waiting:
            with contextlib.suppress(AgentDead):
                fleet.agent(node)
        for node in sorted(waiting):
            with contextlib.suppress(AgentSilent, AgentDead):
                answers[node] = fleet.call(node, method, timeout_s=ANSWER_S)
        if answers:
            until = min(until, time.monotonic() + STRAGGLERS_S)
        waiting = set(fleet.nodes()) - answers.keys()
        if waiting:  # an agent of a former run was on its way out: its node gets another
            time.sleep(0.1)
    return answers
