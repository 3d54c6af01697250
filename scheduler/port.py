"""Events in, actions out: the port between the head and every scheduling policy.

Pure: no clock (time is in the events), no I/O, no global RNG. A policy owns its state; ties break by id.
Actions carry the reason that `shoal explain` prints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What one trial asks for. Workers come in powers of two in [k_min, k_max]; GPUs and CPUs are per worker."""

    k_min: int
    k_max: int
    gpus: Fraction
    cpus: int
    memory_gib: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSlot:
    """Where one worker sits: whole GPUs by id, or a share of a single one."""

    gpus: tuple[str, ...]
    share: Fraction
    cpus: int


# --- events --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolEvent:
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeUp(PoolEvent):
    """A node offers its devices: GPU ids, CPU count, device model (decides who may share an exact trial)."""

    node: str
    gpus: tuple[str, ...]
    cpus: int
    memory_gib: float
    device_model: str = "cpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDown(PoolEvent):
    node: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialOffered(PoolEvent):
    """The trial could run now. Higher `priority` classes first, then higher `rung`, then first come."""

    study: str
    number: int
    generation: int
    request: Request
    priority: int
    rung: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialWithdrawn(PoolEvent):
    """The trial no longer wants to start."""

    study: str
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialReleased(PoolEvent):
    """The trial's workers are gone and its devices are free. A stale generation is ignored."""

    study: str
    number: int
    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick(PoolEvent):
    """Time passed and nothing else happened."""


# --- actions -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    study: str
    number: int
    generation: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Start(Action):
    """Start the trial with `len(workers)` workers on `node`."""

    node: str
    workers: tuple[WorkerSlot, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuse(Action):
    """The request can never fit this pool."""


class Policy(Protocol):
    """Who runs where."""

    def step(self, event: PoolEvent) -> list[Action]: ...

    def waiting(self) -> Sequence[tuple[str, int, str]]:
        """(study, number, why it waits), in the order in which they would start."""
        ...

    def room(self, request: Request) -> int:
        """How many more trials of this request could start now."""
        ...
