"""The simulation itself: a heap of moments, trials that advance, a policy that decides.

The engine plays the head and the workers: it sends the policy the events that the head would send and carries out
its actions, so that exactly the policy's code is measured. Deterministic: events are ordered by (time, the order
in which they were scheduled), the only random numbers are the failures' and they come from `seed`.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from random import Random
from typing import Literal

from ..port import (
    Action,
    EpochEnded,
    NodeDown,
    NodeUp,
    Pause,
    PoolEvent,
    Promote,
    Refuse,
    Resize,
    RungReached,
    Start,
    Stop,
    StudyAdded,
    StudyEnded,
    TrialEnded,
    TrialReleased,
    TrialResized,
    TrialStarted,
    WorkersLost,
    WorkerSlot,
)
from .running import RunningTrial
from .stopping import asynchronous_halving
from .workload import Costs, Failures, Judge, Outcome, SimulatedStudy, StudyOutcome

Moment = Literal["arrive", "ready", "epoch", "offer", "fail", "repair"]

Decide = Callable[[Sequence[PoolEvent]], list[Action]]
"""Several events of one moment in, actions out: `ElasticPolicy.steps`, or `one_by_one` of any policy."""


class Simulation:
    """Runs studies on a pool under a policy until all of them are done.

    Args:
        nodes: the pool.
        studies: what runs on it.
        decide: the policy.
        costs: what starting and resizing costs.
        failures: None: nodes never fail.
        seed: of the failures.
        until_s: stop the clock here, whatever is left.
    """

    def __init__(
        self,
        *,
        nodes: Sequence[NodeUp],
        studies: Sequence[SimulatedStudy],
        decide: Decide,
        costs: Costs | None = None,
        failures: Failures | None = None,
        seed: int = 0,
        until_s: float = math.inf,
    ) -> None:
        self._nodes = {node.node: node for node in nodes}
        self._studies = {study.name: study for study in studies}
        self._decide = decide
        self._costs = costs or Costs()
        self._failures = failures
        self._random = Random(seed)
        self._until_s = until_s
        self._now = 0.0
        self._accounted_s = 0.0
        self._heap: list[tuple[float, int, Moment, str, int, int]] = []
        self._order = 0
        self._trials: dict[tuple[str, int], RunningTrial] = {}
        self._active: dict[tuple[str, int], RunningTrial] = {}
        self._left: dict[str, int] = {}
        self._judges: dict[str, Judge] = {}
        self._inbox: list[PoolEvent] = []
        self.outcome = Outcome(
            studies={s.name: StudyOutcome(name=s.name, arrived_s=s.arrive_s) for s in studies},
            num_gpus=sum(len(node.gpus) for node in nodes),
        )

    def run(self) -> Outcome:
        """Play to the end.

        Raises:
            AssertionError: the policy left trials waiting for ever; that is a bug of the policy.
        """
        self._inbox += list(self._nodes.values())
        for study in self._studies.values():
            self._at(study.arrive_s, "arrive", study.name)
        if self._failures is not None:
            for name in self._nodes:
                self._at(self._random.expovariate(1 / self._failures.mtbf_s), "fail", name)
        self._settle()
        while self._heap and self._heap[0][0] <= self._until_s and not self._all_done():
            moment = self._heap[0][0]
            self._advance_clock(moment)
            while self._heap and self._heap[0][0] <= moment + 1e-9:
                _, _, kind, name, number, version = heapq.heappop(self._heap)
                self._happens(kind, name, number, version)
            self._settle()
        if self._until_s == math.inf:
            assert self._all_done(), f"left at {self._now:.0f} s: {self._left}"
        self.outcome.makespan_s = max((s.done_s or self._now for s in self.outcome.studies.values()), default=0.0)
        return self.outcome

    # --- moments ---------------------------------------------------------------------------------

    def _happens(self, kind: Moment, name: str, number: int, version: int) -> None:
        match kind:
            case "arrive":
                self._arrive(self._studies[name])
            case "offer":
                trial = self._trials[name, number]
                if trial.version == version:
                    self._offer(trial)
            case "ready" | "epoch":
                trial = self._trials[name, number]
                if trial.version == version:
                    self._ready(trial) if kind == "ready" else self._epoch(trial)
            case "fail":
                self._fail(name)
            case "repair":
                self._inbox.append(self._nodes[name])
                assert self._failures is not None
                self._at(self._now + self._random.expovariate(1 / self._failures.mtbf_s), "fail", name)

    def _arrive(self, study: SimulatedStudy) -> None:
        self._inbox.append(
            StudyAdded(
                at=self._now,
                study=study.name,
                weight=study.weight,
                priority=study.priority,
                ladders=study.ladders(),
                gpu_hours=study.gpu_hours,
            )
        )
        self._left[study.name] = len(study.trials)
        if study.rule != "promote":
            self._judges[study.name] = study.judge() if study.judge is not None else asynchronous_halving(study)
        for truth in study.trials:
            trial = RunningTrial(study=study, truth=truth)
            self._trials[study.name, truth.number] = trial
            self._offer(trial)

    def _ready(self, trial: RunningTrial) -> None:
        """Workers are up, or regrouped: training goes on."""
        trial.since_s = self._now
        if trial.resizing:
            trial.resizing = False
            event: PoolEvent = TrialResized(
                at=self._now,
                study=trial.study.name,
                number=trial.truth.number,
                generation=trial.generation,
                resize=trial.resize,
                stall_s=self._costs.resize_s,
            )
        else:
            event = TrialStarted(
                at=self._now,
                study=trial.study.name,
                number=trial.truth.number,
                generation=trial.generation,
                start_s=self._costs.start_s,
            )
        self._inbox.append(event)
        self._schedule_epoch(trial)

    def _epoch(self, trial: RunningTrial) -> None:
        study, truth = trial.study, trial.truth
        outcome = self.outcome.studies[study.name]
        self._train(trial)
        trial.progress = float(round(trial.progress))
        done = int(trial.progress)
        trial.checkpoint = done
        value = float(truth.curve[done - 1])
        outcome.incumbents.append((self._now, value))
        self._inbox.append(
            EpochEnded(
                at=self._now,
                study=study.name,
                number=truth.number,
                generation=trial.generation,
                epochs_done=trial.progress,
                epoch_s=trial.undisturbed_s(self._now),
            )
        )
        trial.epoch_from_s = self._now
        top = done == trial.milestones[-1]
        judge = self._judges.get(study.name)
        if not top and judge is not None and not judge(truth.number, done, value):
            outcome.stopped += 1
            self._end(trial)
        elif top or (judge is None and done in trial.milestones):
            self._milestone(trial, trial.milestones.index(done), value)
        else:
            self._schedule_epoch(trial)

    def _milestone(self, trial: RunningTrial, rung: int, value: float) -> None:
        """The policy decides about the trial; at the last milestone there is nothing left to decide."""
        top = rung == len(trial.milestones) - 1
        if trial.study.rule == "promote":
            trial.at_rung = not top
            self._inbox.append(
                RungReached(
                    at=self._now,
                    study=trial.study.name,
                    number=trial.truth.number,
                    generation=trial.generation,
                    rung=rung,
                    value=value,
                )
            )
        if top:
            self.outcome.studies[trial.study.name].finished += 1
            self._end(trial)

    def _fail(self, name: str) -> None:
        assert self._failures is not None
        self._inbox.append(NodeDown(at=self._now, node=name))
        for trial in list(self._active.values()):
            left = tuple(slot for slot in trial.slots if slot.node != name)
            if len(left) == len(trial.slots):
                continue
            outcome = self.outcome.studies[trial.study.name]
            outcome.losses += 1
            self._train(trial)
            if left and self._failures.in_place and self._now > trial.ready_s:
                self._go_on(trial, left[: 1 << (len(left).bit_length() - 1)])
                continue
            outcome.lost_epochs += trial.progress - trial.checkpoint
            trial.progress = float(trial.checkpoint)
            self._release(trial)
            self._at(self._now + self._failures.notice_s, "offer", *trial.key, trial.version)
        self._at(self._now + self._failures.repair_s, "repair", name)

    def _go_on(self, trial: RunningTrial, survivors: tuple[WorkerSlot, ...]) -> None:
        """The trial goes on from the same step with the workers that are left."""
        trial.hold(survivors)
        trial.losses += 1
        trial.ready_s = trial.since_s = self._now + self._costs.resize_s
        trial.epoch_from_s = -1.0
        self._inbox.append(
            WorkersLost(
                at=self._now,
                study=trial.study.name,
                number=trial.truth.number,
                generation=trial.generation,
                loss=trial.losses,
                workers=survivors,
            )
        )
        self._schedule_epoch(trial)

    # --- actions ---------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Decisions and what they bring about at once, until nothing more happens at this moment."""
        while self._inbox:
            events, self._inbox = self._inbox, []
            self.outcome.decisions += 1
            actions = self._decide(events)
            for action in actions:
                self._perform(action)
            for name in [name for name, left in self._left.items() if left == 0]:
                if self.outcome.studies[name].done_s is None:
                    self.outcome.studies[name].done_s = self._now
                    self._inbox.append(StudyEnded(at=self._now, study=name))

    def _perform(self, action: Action) -> None:
        trial = self._trials[action.study, action.number]
        if action.generation != trial.generation and not isinstance(action, Start):
            return
        match action:
            case Start():
                self._start(trial, action.workers)
            case Resize():
                self._resize(trial, action)
            case Promote():
                trial.at_rung = False
                if not trial.resizing:
                    self._schedule_epoch(trial)
            case Pause():
                self.outcome.pauses += 0 if trial.at_rung else 1
                self._train(trial)
                self._release(trial)
                self._offer(trial)
            case Stop() | Refuse():
                self.outcome.studies[action.study].stopped += 1
                if trial.slots:
                    self._end(trial)
                else:
                    self._left[action.study] -= 1
                    trial.version += 1

    def _start(self, trial: RunningTrial, workers: tuple[WorkerSlot, ...]) -> None:
        outcome = self.outcome.studies[trial.study.name]
        if outcome.first_start_s is None:
            outcome.first_start_s = self._now
        extra = self._costs.resume_extra_s if trial.progress > 0 else 0.0
        trial.hold(workers)
        trial.device_speed = self._nodes[workers[0].node].speed
        trial.losses = 0
        trial.at_rung = trial.resizing = False
        self._active[trial.key] = trial
        trial.version += 1
        trial.ready_s = self._now + self._costs.start_s + extra
        trial.since_s = trial.ready_s
        trial.epoch_from_s = -1.0
        self._at(trial.ready_s, "ready", *trial.key, trial.version)

    def _resize(self, trial: RunningTrial, resize: Resize) -> None:
        self._train(trial)
        trial.hold(resize.workers)
        trial.at_rung = False
        trial.resizing = True
        trial.resize = resize.resize
        trial.version += 1
        trial.ready_s = self._now + self._costs.resize_s
        trial.since_s = trial.ready_s
        trial.epoch_from_s = -1.0
        self.outcome.resizes += 1
        self._at(trial.ready_s, "ready", *trial.key, trial.version)

    def _release(self, trial: RunningTrial) -> None:
        trial.version += 1
        trial.hold(())
        trial.at_rung = trial.resizing = False
        self._active.pop(trial.key, None)
        self._inbox.append(
            TrialReleased(at=self._now, study=trial.study.name, number=trial.truth.number, generation=trial.generation)
        )

    def _end(self, trial: RunningTrial) -> None:
        self._release(trial)
        self._left[trial.study.name] -= 1
        self._inbox.append(TrialEnded(at=self._now, study=trial.study.name, number=trial.truth.number))

    def _offer(self, trial: RunningTrial) -> None:
        trial.generation += 1
        self._inbox.append(trial.offer(self._now))

    # --- the clock -------------------------------------------------------------------------------

    def _advance_clock(self, moment: float) -> None:
        passed = moment - self._accounted_s
        if passed > 0:
            for trial in self._active.values():
                self.outcome.busy += passed * trial.devices
                stalled = min(moment, trial.ready_s) - self._accounted_s
                if stalled > 0:
                    self.outcome.stalled += stalled * trial.devices
            self._accounted_s = moment
        self._now = max(self._now, moment)

    def _train(self, trial: RunningTrial) -> None:
        gained = trial.advance(self._now)
        self.outcome.studies[trial.study.name].epochs += gained
        self.outcome.useful += gained * trial.truth.epoch_s

    def _schedule_epoch(self, trial: RunningTrial) -> None:
        trial.version += 1
        start = max(self._now, trial.ready_s)
        if trial.epoch_from_s < 0 and trial.progress == math.floor(trial.progress):
            trial.epoch_from_s = start
        left = math.floor(trial.progress + 1e-9) + 1 - trial.progress
        self._at(start + left * trial.epoch_s, "epoch", *trial.key, trial.version)

    def _at(self, moment: float, kind: Moment, name: str, number: int = -1, version: int = 0) -> None:
        self._order += 1
        heapq.heappush(self._heap, (moment, self._order, kind, name, number, version))

    def _all_done(self) -> bool:
        return len(self._left) == len(self._studies) and not any(self._left.values())
