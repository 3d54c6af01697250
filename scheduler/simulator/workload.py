"""What is simulated: trials with learning curves and speed-ups, studies with ladders, nodes, costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from ..port import Ladder, NodeUp

Judge = Callable[[int, int, float], bool]
"""A stopping rule: (trial, epoch, value) of every report in, whether the trial goes on out. It never pauses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedTrial:
    """One trial's truth.

    Attributes:
        curve: value after epoch 1, 2, ...; lower is better.
        epoch_s: seconds of an epoch on one worker.
        speedups: of 1, 2, 4, ... workers inside one node; the last entry is the most workers it may have.
        speedups_across: the same where they sit on several nodes; empty: no slower than inside one.
        bracket: it is not compared at the first `bracket` milestones (Hyperband).
    """

    number: int
    curve: Sequence[float]
    epoch_s: float
    speedups: tuple[float, ...]
    speedups_across: tuple[float, ...] = ()
    bracket: int = 0

    @property
    def k_max(self) -> int:
        return 1 << (len(self.speedups) - 1)

    def speedup(self, k: int, *, nodes: int) -> float:
        table = self.speedups_across if nodes > 1 and self.speedups_across else self.speedups
        return table[k.bit_length() - 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedStudy:
    """One study's truth.

    Attributes:
        rule: "promote": the policy decides at every rung; "stop": asynchronous halving in its stopping form, as
            Ray Tune's AsyncHyperBandScheduler does it: a trial ends unless it is in the best 1/eta so far;
            with `judge`, that rule instead.
        judge: makes the stopping rule of one run.
        arrive_s: when it is submitted.
        tells_speed: whether epoch times and speed-ups are known to the policy beforehand.
        k_min: the fewest workers of a trial.
        gpus: of each worker.
        can_pause: whether its trials can.
        gpu_hours: its budget, None without one.
    """

    name: str
    trials: Sequence[SimulatedTrial]
    milestones: tuple[int, ...] = (1, 3, 9, 27, 81)
    eta: int = 3
    rule: Literal["promote", "stop"] = "promote"
    judge: Callable[[], Judge] | None = None
    arrive_s: float = 0.0
    weight: float = 1.0
    priority: int = 0
    tells_speed: bool = True
    k_min: int = 1
    gpus: Fraction = Fraction(1)
    can_pause: bool = True
    gpu_hours: float | None = None

    def milestones_of(self, trial: SimulatedTrial) -> tuple[int, ...]:
        """The epochs at which the trial is compared; the last is where it ends."""
        return self.milestones[trial.bracket :]

    def ladders(self) -> tuple[Ladder, ...]:
        """One ladder a bracket; none where the policy does not decide."""
        if self.rule != "promote":
            return ()
        planned = [0] * (1 + max((trial.bracket for trial in self.trials), default=0))
        for trial in self.trials:
            planned[trial.bracket] += 1
        return tuple(
            Ladder(milestones=self.milestones[bracket:], eta=self.eta, planned=count, lower_is_better=True)
            for bracket, count in enumerate(planned)
        )


def pool_of(num_gpus: int, gpus_per_node: int = 8) -> list[NodeUp]:
    """A pool of like nodes, the last one smaller if it must be."""
    made = []
    for first in range(0, num_gpus, gpus_per_node):
        name = f"node{first // gpus_per_node:04d}"
        count = min(gpus_per_node, num_gpus - first)
        gpus = tuple(f"{name}.{i}" for i in range(count))
        made.append(NodeUp(at=0.0, node=name, gpus=gpus, cpus=8 * count, memory_gib=64.0 * count))
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Seconds in which a trial holds devices and does not train.

    The defaults are those of warm workers: a fork server and groups that re-form in place.
    """

    start_s: float = 3.0
    resume_extra_s: float = 2.0
    resize_s: float = 3.0


COLD = Costs(start_s=15.0, resize_s=20.0)
"""A fresh process and a checkpoint round trip: what tools without warm workers pay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failures:
    """Nodes that fail at random, independently, with exponential times.

    Attributes:
        mtbf_s: mean time between failures of one node.
        repair_s: how long it stays away.
        notice_s: until its trials are offered again.
        in_place: a trial that also works on other nodes goes on there with as many workers as make a power of two,
            and loses nothing but the time of a resize.
    """

    mtbf_s: float
    repair_s: float = 300.0
    notice_s: float = 5.0
    in_place: bool = True


@dataclass(slots=True)
class StudyOutcome:
    """What became of one study."""

    name: str
    arrived_s: float
    first_start_s: float | None = None
    done_s: float | None = None
    incumbents: list[tuple[float, float]] = field(default_factory=list)
    epochs: float = 0.0
    lost_epochs: float = 0.0
    losses: int = 0
    reports: list[int] = field(default_factory=list)
    finished: int = 0
    stopped: int = 0

    @property
    def best(self) -> float:
        return min((value for _, value in self.incumbents), default=float("inf"))

    def time_to(self, value: float) -> float | None:
        """When the first value at most `value` was reported, in seconds since the start of the simulation."""
        return min((at for at, seen in self.incumbents if seen <= value), default=None)


@dataclass(slots=True)
class Outcome:
    """What became of the pool. Integrals are in device-seconds; `useful` in seconds of one-worker training."""

    studies: dict[str, StudyOutcome]
    num_gpus: int
    makespan_s: float = 0.0
    busy: float = 0.0
    stalled: float = 0.0
    useful: float = 0.0
    resizes: int = 0
    pauses: int = 0
    decisions: int = 0

    @property
    def goodput(self) -> float:
        """Part of the pool's time that was training at one-worker efficiency."""
        return self.useful / (self.num_gpus * self.makespan_s) if self.makespan_s else 0.0

    @property
    def gpu_hours(self) -> float:
        """What all trials together have held, in device-hours."""
        return self.busy / 3600

    @property
    def utilisation(self) -> float:
        return self.busy / (self.num_gpus * self.makespan_s) if self.makespan_s else 0.0
