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
    """Where one worker sits: whole GPUs by id, or a share of a single one.

    `node` is empty when the worker sits on the node that its action names.
    """

    gpus: tuple[str, ...]
    share: Fraction
    cpus: int
    node: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ladder:
    """Successive halving as the policy sees it: at rung r (after `milestones[r]` epochs) the best 1/eta go on.

    Args:
        milestones: finished epochs at each rung, increasing; the last is where a trial has had them all.
        eta: one in `eta` goes on from each rung.
        planned: how many trials the study means to start on this ladder.
        lower_is_better: how values are ranked.
    """

    milestones: tuple[int, ...]
    eta: int
    planned: int
    lower_is_better: bool


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
    """The trial could run now. Higher `priority` classes first, then higher `rung`, then first come.

    `rung` counts the rungs that the trial has reached. What is known beforehand of its speed: `epoch_s` of one
    epoch on one worker, and `speedups` of 1, 2, 4, ... workers; policies that resize learn what is missing.
    """

    study: str
    number: int
    generation: int
    request: Request
    priority: int
    rung: int
    epochs_done: float = 0.0
    bracket: int = 0
    can_pause: bool = True
    epoch_s: float | None = None
    speedups: tuple[float, ...] = ()
    device_model: str = ""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyAdded(PoolEvent):
    """A study shares the pool from now on; sent again when it was edited.

    `ladders` has one entry a bracket; empty: no rungs, every offered trial may run.
    """

    study: str
    weight: float = 1.0
    priority: int = 0
    ladders: tuple[Ladder, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyEnded(PoolEvent):
    """The study offers nothing any more; what it still holds is released trial by trial."""

    study: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochEnded(PoolEvent):
    """A running trial finished an epoch that took `epoch_s` on its present workers."""

    study: str
    number: int
    generation: int
    epochs_done: float
    epoch_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RungReached(PoolEvent):
    """A running trial stands at rung `rung` with `value` (None or NaN rank last) and waits for Promote or Pause."""

    study: str
    number: int
    generation: int
    rung: int
    value: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialStarted(PoolEvent):
    """The trial's workers are up; from the order to here it took `start_s`."""

    study: str
    number: int
    generation: int
    start_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialResized(PoolEvent):
    """The trial runs on the workers of its last Resize; it stood still for `stall_s`."""

    study: str
    number: int
    generation: int
    resize: int
    stall_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialEnded(PoolEvent):
    """The trial has come to its end for good (its devices are given back by TrialReleased, sent before)."""

    study: str
    number: int


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Promote(Action):
    """The trial goes on from its rung on the workers it has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause(Action):
    """The trial keeps its checkpoint and gives its devices back; TrialReleased confirms it.

    `involuntary`: somebody with a better right needs the devices; the trial is among the first to come back.
    """

    involuntary: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Resize(Action):
    """The trial goes over to `workers`; TrialResized with this `resize` number confirms it."""

    resize: int
    workers: tuple[WorkerSlot, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop(Action):
    """The waiting trial will never go on: its study has nothing left that could change that."""


class Policy(Protocol):
    """Who runs where."""

    def step(self, event: PoolEvent) -> list[Action]: ...

    def waiting(self) -> Sequence[tuple[str, int, str]]:
        """(study, number, why it waits), in the order in which they would start."""
        ...

    def room(self, request: Request) -> int:
        """How many more trials of this request could start now."""
        ...
