"""A simulated trial on its way."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ..port import Request, TrialOffered, WorkerSlot
from .workload import SimulatedStudy, SimulatedTrial


@dataclass(slots=True)
class RunningTrial:
    """Progress and devices of one trial.

    `progress` was exact at `since_s`; nothing advances before `ready_s`. `version` voids what was scheduled before
    the last change. `epoch_from_s` is when the running epoch began, negative if its workers changed since.
    """

    study: SimulatedStudy
    truth: SimulatedTrial
    progress: float = 0.0
    checkpoint: int = 0
    generation: int = 0
    version: int = 0
    slots: tuple[WorkerSlot, ...] = ()
    devices: float = 0.0
    since_s: float = 0.0
    ready_s: float = 0.0
    epoch_from_s: float = -1.0
    at_rung: bool = False
    resizing: bool = False
    resize: int = 0
    losses: int = 0
    device_speed: float = 1.0

    @property
    def key(self) -> tuple[str, int]:
        return (self.study.name, self.truth.number)

    @property
    def epoch_s(self) -> float:
        """Seconds of an epoch on the present workers."""
        nodes = len({slot.node for slot in self.slots})
        return self.truth.epoch_s / (self.truth.speedup(len(self.slots), nodes=nodes) * self.device_speed)

    @property
    def milestones(self) -> tuple[int, ...]:
        return self.study.milestones_of(self.truth)

    def hold(self, slots: tuple[WorkerSlot, ...]) -> None:
        """From now on the trial has these workers."""
        self.slots = slots
        self.devices = float(sum((len(slot.gpus) * slot.share for slot in slots), Fraction(0)))

    def advance(self, now: float) -> float:
        """Train until `now` and return the epochs gained; at a rung the trial stands still."""
        start = max(self.since_s, self.ready_s)
        gained = 0.0
        if self.slots and now > start and not self.at_rung:
            gained = (now - start) / self.epoch_s
            self.progress += gained
        self.since_s = now
        return gained

    def undisturbed_s(self, now: float) -> float:
        """How long the epoch that ends now took; 0 if its workers changed on the way."""
        return now - self.epoch_from_s if self.epoch_from_s >= 0 else 0.0

    def offer(self, now: float) -> TrialOffered:
        """What the head would tell the policy of this trial."""
        told = self.study.tells_speed
        return TrialOffered(
            at=now,
            study=self.study.name,
            number=self.truth.number,
            generation=self.generation,
            request=Request(k_min=self.study.k_min, k_max=self.truth.k_max, gpus=self.study.gpus, cpus=0),
            priority=self.study.priority,
            rung=sum(1 for m in self.milestones if m <= self.progress),
            epochs_done=self.progress,
            bracket=self.truth.bracket,
            can_pause=self.study.can_pause,
            epoch_s=self.truth.epoch_s if told else None,
            speedups=self.truth.speedups if told else (),
        )
