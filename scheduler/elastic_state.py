"""What the elastic policy remembers of trials and studies, and its tuning."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from .device_speed import DeviceSpeeds
from .port import StudyAdded, TrialOffered, TrialRemembered, WorkerSlot
from .rungs import Rungs
from .serial_fraction import SerialFractions
from .speed_model import SpeedModel

TrialKey = tuple[str, int]

Status = Literal["waiting", "starting", "running", "resizing", "pausing", "stricken"]
"""`stricken`: it had workers on a node that is gone; whether it goes on with the others is not known yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ElasticTuning:
    """How the policy weighs its choices. The defaults were chosen in the simulator on seeds 0-11 of the workload of
    `benchmarks/scheduling.py`, after a look at seeds 100-111 had shown where an earlier choice fell short;
    `protected` on the very six-study scenarios that the benchmark reports.

    Attributes:
        risked_epochs: a trial is promoted while others could still displace it when (1 - P(useful)) x the epochs
            of its next segment is at most this. 0: only certain promotions, that is exact successive halving. At
            0.5 the makespan on 8 GPUs rises by 2 %, at 1 by 4 %; at 0 devices idle behind stragglers.
        scout_share: part of a study's devices that may run ahead on promising trials that are not certain yet
            (P(useful) >= `scout_useful`, below the last segment, while first-rung trials remain). Brings the first
            good result early; every scout that turns out wrong costs its segment.
        scout_useful: see `scout_share`.
        scout_until: no more scouts once this many trials have reached the last rung but one. With no limit the makespan
            on 8 GPUs is 2 % longer and the first good result no earlier.
        speculate: promotions of at least this P(useful) may use devices that nobody else has a use for.
        depth: how much a certain promotion goes before new trials, per rung. Any positive number gives the same order.
        stickiness: a running trial's key is raised by this; without it doubtful trials swap places with every result.
        urgency: growth goes to those with the longest way to the top: key x (way / longest way)^urgency.
            At 1 the makespan on 32 GPUs is 6 % longer, at 3 the same.
        least_gain: a doubling must add this much speed a worker.
        payback: growing must save this many times its cost before the next rung.
        efficient_gain: a worker that adds at least this much is used well; one that adds `least_gain` is used at all.
        protected: a study's devices beyond those that add `efficient_gain` count as 1 / protected devices when shares
            are dealt. From 0.6 to 0.9 the six-study scenarios change by 1 to 2 %.
        cooldown_costs: a trial is resized at most once in this many resize costs.
        starved_s: a study that found no place for what it is owed for this long has room made for it.
        drift: a study whose share moved by less than this part keeps its allocation.
    """

    risked_epochs: float = 0.2
    scout_share: float = 1 / 16
    scout_useful: float = 0.4
    speculate: float = 0.3
    depth: float = 3.0
    scout_until: int = 1
    stickiness: float = 3.0
    urgency: float = 2.0
    least_gain: float = 0.02
    payback: float = 2.0
    efficient_gain: float = 0.4
    protected: float = 0.8
    cooldown_costs: float = 10.0
    starved_s: float = 60.0
    drift: float = 0.05


@dataclass(slots=True)
class TrialState:
    """One offered or running trial.

    `slots` are the workers it has or is about to have; during a resize `leaving` are those to be given back when it is
    confirmed, and `former` those that it had when it was ordered. `since` is when `epochs_done` was last exact.
    `at_rung`: it waits for Promote or Pause; `answered` is the (generation, rung) of its last such question.
    `loss` is the number of its last loss of workers, `lost_on` the nodes on which it died. `device_speed` is that of
    the devices it runs on; times of `speed` are those of devices of speed 1. `gpu_memory_gib` was measured.
    `unit` is what one worker costs in the pool's scarce devices. `most`: no more workers than this, 0: no limit
    found. `rigid`: the number of its workers cannot change while it runs. `grown`: its last growth has not been
    measured yet. `spare`: it was started on devices that nobody else had a use for.
    """

    offer: TrialOffered
    arrival: int
    speed: SpeedModel
    status: Status = "waiting"
    k: int = 0
    slots: tuple[WorkerSlot, ...] = ()
    leaving: tuple[WorkerSlot, ...] = ()
    former: tuple[WorkerSlot, ...] = ()
    resize: int = 0
    refusals: int = 0
    loss: int = 0
    lost_on: tuple[str, ...] = ()
    epochs_done: float = 0.0
    since: float = 0.0
    started_at: float = 0.0
    changed_at: float = float("-inf")
    grown: bool = False
    most: int = 0
    rigid: bool = False
    at_rung: bool = False
    answered: tuple[int, int] = (-1, -1)
    spare: bool = False
    unit: Fraction | int = 1
    device_model: str = ""
    device_speed: float = 1.0
    gpu_memory_gib: float = 0.0

    @property
    def key(self) -> TrialKey:
        return (self.offer.study, self.offer.number)

    @property
    def holds(self) -> bool:
        return self.status != "waiting"

    def epoch_s(self) -> float:
        """Seconds of an epoch on the workers that it has."""
        return self.speed.epoch_s(self.k) / self.device_speed

    @property
    def returning(self) -> Fraction | int:
        """Devices that it holds and is about to give back."""
        return (len(self.leaving) + (len(self.slots) if self.status == "pausing" else 0)) * self.unit

    def epochs_at(self, at: float) -> float:
        """Finished epochs by now, the running one pro rata."""
        if self.status not in ("running", "resizing"):
            return self.epochs_done
        return self.epochs_done + max(0.0, at - self.since) / self.epoch_s()


@dataclass(slots=True)
class StudyEntry:
    """One study: its ladders, its trials, its share of the pool (in the pool's scarce devices).

    `trials` wait or hold devices; `away` are between a release and the next offer. `holding` is reserved for
    it now; `claim` is that part of its share which it holds or, when `blocked`, has asked others for. `short`:
    the trial, and the workers it should have, that found no place though the study is owed it; `short_since` when.
    Until `patient_until` it asks nobody for devices that would be of no use to it. `smallest` is the least that would
    let one of its waiting trials start. `spent_s` are the device-seconds that it has used until `spent_at`, of
    `budget_s` (None: no limit); `spent` says that no more may be begun.
    `gpu_memory` are the largest amounts, in GiB, that each of its trials was measured to need of a GPU.
    """

    name: str
    order: int
    weight: float = 1.0
    priority: int = 0
    brackets: list[Rungs] = field(default_factory=list)
    trials: dict[int, TrialState] = field(default_factory=dict)
    away: dict[int, TrialState] = field(default_factory=dict)
    generations: dict[int, int] = field(default_factory=dict)
    serial: SerialFractions = field(default_factory=SerialFractions)
    share: int = 0
    solved_share: int = -1
    demand: int = 0
    efficient: int = 0
    smallest: Fraction | int = 0
    claim: Fraction | int = 0
    holding: Fraction | int = 0
    blocked: bool = False
    short: tuple[TrialState, int] | None = None
    short_since: float | None = None
    patient_until: float = float("-inf")
    asked_in_vain: int = 0
    start_cost_s: float = 3.0
    resize_cost_s: float = 3.0
    starts: int = 0
    resizes: int = 0
    ended: bool = False
    epoch_sum_s: float = 0.0
    epoch_count: int = 0
    budget_s: float | None = None
    spent_s: float = 0.0
    spent_at: float = 0.0
    spent: bool = False
    device_speeds: DeviceSpeeds = field(default_factory=lambda: DeviceSpeeds({}))
    gpu_memory: dict[int, float] = field(default_factory=dict)

    def edit(self, added: StudyAdded) -> None:
        self.accrue(added.at)
        if not self.brackets and not self.trials:
            self.spent_s = 3600 * added.spent_gpu_hours
        self.budget_s = None if added.gpu_hours is None else 3600 * added.gpu_hours
        self.weight = added.weight
        if added.resize_cost_s is not None and not self.resizes:
            self.resize_cost_s = added.resize_cost_s
        self.priority = added.priority
        for rungs, ladder in zip(self.brackets, added.ladders, strict=False):
            rungs.replan(ladder)
        self.brackets += [Rungs(ladder) for ladder in added.ladders[len(self.brackets) :]]

    def accrue(self, at: float) -> None:
        """Count what was held until now; to be called before it changes."""
        self.spent_s, self.spent_at = self.spent_by(at), max(at, self.spent_at)

    def spent_by(self, at: float) -> float:
        """Device-seconds used until now. A question changes nothing, so that who asks when leaves no trace."""
        return self.spent_s + float(self.holding) * max(0.0, at - self.spent_at)

    def keeps(self) -> Fraction | int:
        """Devices that it holds and is not about to give back."""
        return self.holding - sum(trial.returning for trial in self.trials.values())

    def remember(self, event: TrialRemembered) -> None:
        """What a trial did before this policy first heard of it."""
        if event.bracket < len(self.brackets):
            self.brackets[event.bracket].remember(event.number, event.reached, ended=event.ended)

    def rungs(self, trial: TrialState) -> Rungs | None:
        """The ladder that the trial climbs; None in a study without rungs."""
        return self.brackets[trial.offer.bracket] if trial.offer.bracket < len(self.brackets) else None

    def useful(self, trial: TrialState) -> float:
        rungs = self.rungs(trial)
        return 1.0 if rungs is None else rungs.useful(trial.offer.number)

    def rung(self, trial: TrialState) -> int:
        """Rungs behind the trial: 0 for a new one."""
        rungs = self.rungs(trial)
        return trial.offer.rung if rungs is None else rungs.rung_of(trial.offer.number) + 1

    def epochs_ahead(self, trial: TrialState, at: float) -> tuple[float, float]:
        """(to the next rung, to the top) from now; (1, 1) where there are no rungs."""
        rungs = self.rungs(trial)
        if rungs is None:
            return 1.0, 1.0
        milestones = rungs.ladder.milestones
        upcoming = milestones[min(rungs.rung_of(trial.offer.number) + 1, rungs.top)]
        done = trial.epochs_at(at)
        return max(0.0, upcoming - done), max(1e-9, milestones[-1] - done)
