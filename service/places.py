"""Where the trials of a run are: on this machine, or (`cluster_place.py`) on the nodes of a cluster."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from ..scheduler.port import NodeUp, Request
from ..trial_runner.cluster.ports import RunningTrial
from ..trial_runner.node_agent import NodeAgent
from .arrivals import Notice
from .gpu_leases import GpuLeases
from .pool import LOGICAL_MODEL, Devices, discover, wants_gpus
from .ports import Runner

if TYPE_CHECKING:
    from .study import Study

NODE = "local"


class Place(Protocol):
    """A context manager: inside of it the devices are this program's."""

    @property
    def devices(self) -> Devices:
        """What a trial may ask for: of several nodes, the largest."""
        ...

    def limited(self, request: Request, study: str, *, spans: bool) -> Request:
        """The request, with no more workers than can ever be together here.

        Args:
            spans: the workers of a trial may be on several nodes.

        Raises:
            PoolError: not even the smallest trial can.
        """
        ...

    def open(self, fence: int, notice: Notice) -> tuple[Runner, Sequence[NodeUp]]:
        """The runner, and the nodes that it has now.

        Args:
            fence: the journal's: of two heads of one pool, the one with the higher fence is obeyed.
            notice: told in one line what no event says.
        """
        ...

    @property
    def found(self) -> Sequence[RunningTrial]:
        """Trials that an earlier program started and that still run."""
        ...

    def keep(self, trials: Sequence[RunningTrial]) -> None:
        """Go on with these of them; the others end."""
        ...

    def wish(self, devices: int) -> None:
        """So many devices (GPUs, or CPUs in a pool without any) could be used now: for clusters that grow on
        demand."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class ThisMachine:
    """Everything in this program's own process tree: no server, no port, nothing left when it ends.

    Args:
        studies: what is to run; without need for GPUs none are taken.
        data: the data directory.
        logical_gpus: pretend that the machine has so many GPUs (and none of its own).
    """

    found: Sequence[RunningTrial] = ()

    def __init__(self, studies: Sequence[Study], data: Path, logical_gpus: int | None = None) -> None:
        self._studies = studies
        self._data = data
        self._logical_gpus = logical_gpus
        self._leases = GpuLeases(holder=", ".join(study.name for study in studies))
        self._devices: Devices | None = None

    @property
    def devices(self) -> Devices:
        """The machine's devices, its GPUs cut down to those that this program now holds.

        Raises:
            PoolError: other programs hold all of them.
        """
        self._devices = self._devices or self._lease()
        return self._devices

    def limited(self, request: Request, study: str, *, spans: bool) -> Request:
        return request  # the policy refuses what is too large for the only node, with the reason

    def open(self, fence: int, notice: Notice) -> tuple[Runner, Sequence[NodeUp]]:
        devices = self.devices
        node = NodeUp(
            at=time.time(),
            node=NODE,
            gpus=devices.gpus,
            cpus=devices.cpus,
            memory_gib=devices.memory_gib,
            device_model=devices.device_model,
            gpu_memory_gib=devices.gpu_memory_gib if devices.gpus else 0.0,
        )
        return NodeAgent(self._data), [node]

    def keep(self, trials: Sequence[RunningTrial]) -> None:
        assert not trials, "the trials of a program die with it"

    def wish(self, devices: int) -> None:
        """A machine does not grow."""

    def _lease(self) -> Devices:
        devices = discover()
        if self._logical_gpus is not None:
            gpus = self._leases.take_logical(self._logical_gpus)
            return replace(devices, gpus=gpus, gpu_model=LOGICAL_MODEL, gpu_memory_gib=0.0)
        if devices.gpus and any(wants_gpus(study.spec().resources) for study in self._studies):
            return replace(devices, gpus=self._leases.take_free(devices.gpus))
        return devices

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leases.release()
