"""Events in, actions out: the port between the head and every scheduling policy.

Pure: no clock (time is in the events), no I/O, no global RNG. A policy owns its state; ties break by id.
Actions carry the reason that `shoal explain` prints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What one trial asks for. Workers come in powers of two in [k_min, k_max]; GPUs and CPUs are per worker.

    `memory_gib` is main memory of a worker, `gpu_memory_gib` what it needs on each of its GPUs (None: not known).
    """

    k_min: int
    k_max: int
    gpus: Fraction
    cpus: int
    memory_gib: float | None = None
    gpu_memory_gib: float | None = None


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
    """A node offers its devices: GPU ids, CPU count, device model (decides who may share an exact trial).

    `gpu_memory_gib` of each GPU, 0: not known, so that memory bounds nobody. `speed` of the device model beside the
    others of the pool, as far as known beforehand; policies learn it per study.
    """

    node: str
    gpus: tuple[str, ...]
    cpus: int
    memory_gib: float
    device_model: str = "cpu"
    gpu_memory_gib: float = 0.0
    speed: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDown(PoolEvent):
    """The node is gone with everything on it. A trial that also had workers elsewhere is undecided until
    WorkersLost (it goes on with those) or TrialReleased (it does not) follows."""

    node: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCordoned(PoolEvent):
    """Nobody starts or grows on the node until NodeUncordoned; `drain`: those who can pause leave it as well."""

    node: str
    reason: str = ""
    drain: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeUncordoned(PoolEvent):
    node: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialOffered(PoolEvent):
    """The trial could run now. Higher `priority` classes first, then higher `rung`, then first come.

    `device_model`: it must run on this one; `exact`: once it has trained, it must stay on the model it trained on.

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
    exact: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialWithdrawn(PoolEvent):
    """The trial does not want to start for now; it may be offered again (TrialEnded: it will not)."""

    study: str
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialReleased(PoolEvent):
    """The trial's workers are gone and its devices are free. A stale generation is ignored.

    `lost`: nobody asked for it; its processes died.
    """

    study: str
    number: int
    generation: int
    lost: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick(PoolEvent):
    """Time passed and nothing else happened."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyAdded(PoolEvent):
    """A study shares the pool from now on; sent again when it was edited.

    `ladders` has one entry a bracket; empty: no rungs, every offered trial may run. `gpu_hours` is what the study may
    use of the pool's devices (CPU-hours in a pool without GPUs), None: no limit; `spent_gpu_hours` what it had used
    before this policy first heard of it. `resize_cost_s` is how long a trial is expected to stand still in a resize,
    until that has been measured; None: nobody knows.
    """

    study: str
    weight: float = 1.0
    priority: int = 0
    ladders: tuple[Ladder, ...] = ()
    gpu_hours: float | None = None
    spent_gpu_hours: float = 0.0
    resize_cost_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyEnded(PoolEvent):
    """The study offers nothing any more; what it still holds is released trial by trial."""

    study: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRemembered(PoolEvent):
    """What a trial did before this policy first heard of it: the (rung, value) that it `reached`, lowest first.

    `ended`: it will not be offered any more.
    """

    study: str
    number: int
    bracket: int
    reached: tuple[tuple[int, float], ...]
    ended: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialHeld(PoolEvent):
    """The trial of `offer` runs already, on `workers`: it was started before this policy was there."""

    offer: TrialOffered
    workers: tuple[WorkerSlot, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochEnded(PoolEvent):
    """A running trial finished an epoch that took `epoch_s` on its present workers, 0: they changed on the way.

    `can_pause`: what is known now of what TrialOffered said; None: as before. `most_workers`: more are of no use to the
    trial; 0: the number of its workers cannot change; None: nothing new.
    """

    study: str
    number: int
    generation: int
    epochs_done: float
    epoch_s: float
    can_pause: bool | None = None
    most_workers: int | None = None


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
class ResizeRefused(PoolEvent):
    """The trial could not go over to the workers of Resize number `resize` and goes on with those it had before."""

    study: str
    number: int
    generation: int
    resize: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkersLost(PoolEvent):
    """The trial lost workers and goes on with `workers`, all that it holds now; a resize under way is void.

    `workers` are some of those that the trial's last Start or Resize named (or that it had before a resize that
    was not confirmed), a power of two of them. `loss` counts the losses of workers under this generation, from 1:
    one that is not above the last is late or repeated.
    """

    study: str
    number: int
    generation: int
    loss: int
    workers: tuple[WorkerSlot, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryMeasured(PoolEvent):
    """The most that a worker of the trial has used of each of its GPUs so far, in GiB."""

    study: str
    number: int
    generation: int
    gpu_memory_gib: float


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
    """The trial will never go on: it waits and its study has nothing left that could change that, or it stands at a
    rung and cannot pause."""


# --- answers -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyShare:
    """What a study is owed of the pool and what it uses, in devices (GPUs, or CPUs in a pool without any).

    `owed` is its share now, `wanted` the most it could use; `used_gpu_hours` since it was added, of `gpu_hours`.
    """

    study: str
    priority: int
    weight: float
    owed: int
    wanted: int
    held: float
    used_gpu_hours: float
    gpu_hours: float | None


class Policy(Protocol):
    """Who runs where."""

    def step(self, event: PoolEvent) -> list[Action]:
        """Take one event in and say what is to happen because of it."""
        ...

    def steps(self, events: Sequence[PoolEvent]) -> list[Action]:
        """Take several events of one moment in, then decide once."""
        ...

    def waiting(self) -> Sequence[tuple[str, int, str]]:
        """(study, number, why it waits), in the order in which they would start."""
        ...

    def room(self, request: Request) -> int:
        """How many more trials of this request could start now."""
        ...

    def shares(self, at: float) -> Sequence[StudyShare]:
        """What each study is owed and what it uses; nothing where a policy knows no shares."""
        ...

    def cordoned(self) -> Mapping[str, str]:
        """Nodes on which nothing is started, each with the reason."""
        ...
