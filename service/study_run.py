"""One study in the hands of the head: its state, its journal, and what its trials hold of the pool.

`take` is the only way in: an event is journaled, handled, and everything it leads to is journaled behind
it. What the state wants done is returned, not done: the head commits first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from ..scheduler.port import Action, Promote, Refuse, Request, Resize, Start, TrialHeld, TrialOffered, WorkerSlot
from ..scheduler.port import Pause as PoolPause
from ..search.events import (
    DecidedBy,
    Decision,
    Event,
    FailureKind,
    TrialAssigned,
    TrialDecided,
    TrialEnded,
    TrialInfeasible,
    TrialReported,
    TrialResized,
    TrialResizing,
)
from ..search.halving import rung_of
from ..search.instructions import Answer, End, Instruction, Kill, Outcome, Pause
from ..search.journal.port import Journal
from ..search.numbers import encode_number
from ..search.replay import SNAPSHOT_EVERY, save_snapshot
from ..search.seeds import trial_seed
from ..search.spec import Json
from ..search.study_state import StudyState
from ..search.transitions import TrialStatus
from ..spaces import Space
from ..trial_runner import messages
from ..trial_runner.cluster.ports import RunningTrial
from ..trial_runner.messages import Ended, LaunchTrial, PrepareStudy, Reported, Resized, ResizeTrial
from .holdings import Holding, Holdings, as_slot
from .ports import Answer as StrategyAnswer
from .study_in_pool import StudyInPool

INTERRUPTED = "interrupted (Ctrl-C); goes on from its last checkpoint"


class StudyRun:
    """Joins a `StudyState` with the journal and translates between runner, policy and search.

    Args:
        state: folded from the journal already.
        request: what each trial asks of the pool.
        archive: the project's archive for the workers, None without files.
        study_dir: where the trials' logs and checkpoints are kept.
        resize_cost_s: how long a trial is expected to stand still in a resize; None: not known.
    """

    def __init__(
        self,
        state: StudyState,
        journal: Journal,
        request: Request,
        archive: Path | None,
        study_dir: Path,
        resize_cost_s: float | None = None,
    ) -> None:
        self.state = state
        self.in_pool = StudyInPool(state, request, resize_cost_s)
        self.holdings = Holdings()
        self.unpublished: list[Event] = []
        self.code_error = ""
        self.is_prepared = False
        """Can the runner start its trials? Until then offers wait here: the time is not charged to any trial."""
        self.early_offers: dict[int, TrialOffered] = {}
        self.asked_domains: dict[tuple[int, str], Json] = {}
        self._journal = journal
        self._archive = archive
        self._study_dir = study_dir
        self._events_since_snapshot = 0

    @property
    def name(self) -> str:
        return self.state.spec.name

    @property
    def request(self) -> Request:
        """What each trial asks of the pool."""
        return self.in_pool.request

    # --- events in -------------------------------------------------------------------------------

    def take(self, event: Event) -> tuple[Instruction, ...]:
        """Journal `event` (uncommitted), let the state handle it, journal what follows."""
        seq = self._journal.append(self.name, (event,))
        self.unpublished.append(event)
        self._events_since_snapshot += 1
        return self._follow(self.state.handle(event, seq))

    def wish(self, room: int, at: float) -> tuple[Instruction, ...]:
        """Tell the state how many more trials could start."""
        return self._follow(self.state.wish(room, at, self._journal.next_seq))

    def answer(self, answer: StrategyAnswer, at: float) -> tuple[Instruction, ...]:
        """A strategy's proposals."""
        seq = self._journal.next_seq
        return self._follow(self.state.answer(answer.ask, answer.proposals, answer.exhausted, answer.error, at, seq))

    def unanswered(self, number: int, at: float) -> tuple[Instruction, ...]:
        """The policy says nothing about a trial that stands at a rung."""
        return self._follow(self.state.unanswered(number, at, self._journal.next_seq))

    def _follow(self, outcome: Outcome) -> tuple[Instruction, ...]:
        if outcome.events:
            self._journal.append(self.name, outcome.events)
            self.unpublished.extend(outcome.events)
            self._events_since_snapshot += len(outcome.events)
        return outcome.instructions

    def committed(self) -> list[Event]:
        """Everything taken in so far is in the journal: the events nobody has been told of yet."""
        if self._events_since_snapshot >= SNAPSHOT_EVERY:
            save_snapshot(self.state, self._journal)
            self._events_since_snapshot = 0
        events, self.unpublished = self.unpublished, []
        return events

    # --- translation -----------------------------------------------------------------------------

    def prepare(self, standby: int) -> PrepareStudy:
        spec = self.state.spec
        entry = spec.entry
        return PrepareStudy(
            study=self.name,
            entry={
                "kind": entry.kind,
                "module": entry.module,
                "function": entry.function,
                "command": entry.command,
            },
            space=spec.space,
            code=spec.code,
            archive=self._archive,
            study_dir=self._study_dir,
            threads_per_worker=spec.resources.threads_per_worker,
            reuse_workers=spec.reuse_workers,
            standby=standby,
        )

    def assigned(self, start: Start, at: float) -> TrialAssigned:
        """The event of a start; from here on the trial holds its devices."""
        self.holdings.started(start, at)
        return TrialAssigned(
            at=at,
            number=start.number,
            generation=start.generation,
            node=start.node,
            workers=len(start.workers),
            gpus=_gpus(start.workers),
            gpu_share=float(start.workers[0].share),
            reason=start.reason,
        )

    def decided(self, action: Action, decision: Decision, at: float, *, by: DecidedBy = "pool") -> TrialDecided:
        """The event of what the policy has decided about a trial."""
        rung = rung_of(self.state, action.number)
        return TrialDecided(at=at, number=action.number, decision=decision, reason=action.reason, by=by, rung=rung)

    def refused(self, refuse: Refuse, at: float) -> TrialInfeasible | TrialDecided:
        """The event of a request that can never fit, or not any more."""
        self.in_pool.refused(refuse.number)
        if self.state.trials[refuse.number].status is TrialStatus.QUEUED:
            return TrialInfeasible(at=at, number=refuse.number, reason=refuse.reason)
        return self.decided(refuse, "stop", at)

    def launch(self, start: Start) -> LaunchTrial:
        """What the runner is told once the assignment is in the journal."""
        spec = self.state.spec
        record = self.state.trials[start.number]
        limit_s = spec.budget.trial_time_limit_s
        return LaunchTrial(
            study=self.name,
            number=start.number,
            generation=start.generation,
            config=record.config,
            seed=trial_seed(spec.seed, start.number),
            metric=spec.objective.metric,
            direction=spec.objective.direction,
            other_metrics=tuple(objective.metric for objective in spec.objectives[1:]),
            slots=tuple(as_slot(slot) for slot in start.workers),
            max_workers=spec.resources.max_workers,
            max_shards=spec.max_shards,
            split=record.split,
            memory_gib=spec.resources.memory_gib,
            reported_step=record.last_step,
            suggested=dict(record.flat) if spec.space is None else {},
            parent=record.parent,
            unjudged=spec.early_stopping.name == "none" and record.until is None,
            time_limit_s=None if limit_s is None else max(limit_s - record.run_s, 0.0),
        )

    def resizing(self, resize: Resize, at: float) -> TrialResizing:
        """The event of an order to go over to other workers."""
        self.holdings.resizing(resize, at)
        return TrialResizing(
            at=at,
            number=resize.number,
            generation=resize.generation,
            resize=resize.resize,
            workers=len(resize.workers),
            gpus=_gpus(resize.workers),
            reason=resize.reason,
        )

    def resize(self, resize: Resize) -> ResizeTrial:
        """What the runner is told of a change of workers."""
        return ResizeTrial(
            study=self.name,
            number=resize.number,
            generation=resize.generation,
            resize=resize.resize,
            slots=tuple(as_slot(slot) for slot in resize.workers),
        )

    def resized(self, event: Resized, held: Holding, at: float) -> TrialResized:
        """The event of what became of an order, or of a loss of workers."""
        return TrialResized(
            at=at,
            number=event.number,
            generation=event.generation,
            resize=event.resize,
            ok=event.ok,
            workers=len(event.slots),
            gpus=_gpus(held.slots),
            stall_s=event.stall_s,
            reason=event.reason,
        )

    def for_runner(self, instruction: Instruction) -> messages.Instruction:
        """What the runner is told of a decision about a running trial, or of the study's end."""
        match instruction:
            case Answer():
                return messages.AnswerReport(
                    study=self.name,
                    number=instruction.number,
                    generation=instruction.generation,
                    step=instruction.step,
                    verdict=instruction.verdict,
                    reason=instruction.reason,
                )
            case Kill():
                return messages.KillTrial(
                    study=self.name,
                    number=instruction.number,
                    generation=instruction.generation,
                    reason=instruction.reason,
                )
            case Pause():
                return messages.PauseTrial(
                    study=self.name,
                    number=instruction.number,
                    generation=instruction.generation,
                    reason=instruction.reason,
                )
            case End():
                return messages.ForgetStudy(study=self.name)
            case _:
                raise AssertionError(f"the runner has nothing to do with {instruction!r}")

    def reported(self, report: Reported, at: float) -> TrialReported:
        return TrialReported(
            at=at,
            number=report.number,
            generation=report.generation,
            step=report.step,
            metrics={name: _as_json(value) for name, value in report.metrics.items()},
            can_pause=report.can_pause,
        )

    def ended(self, end: Ended, at: float, *, interrupted: bool) -> TrialEnded:
        """The event of a trial's end; its devices are free again.

        With `interrupted`, a trial that only the head's own interruption took down was PREEMPTED: it queues
        again.
        """
        run_s, gpu_s = self.holdings.ended(end.number, end.generation, at)
        outcome, reason = end.outcome, end.reason
        failure = None if end.failure is None else FailureKind(end.failure)
        record = self.state.trials[end.number]
        if interrupted and record.decision is None and outcome in ("paused", "cancelled"):
            outcome, reason, failure = "failed", INTERRUPTED, FailureKind.PREEMPTED
        return TrialEnded(
            at=at,
            number=end.number,
            generation=end.generation,
            outcome=outcome,
            reason=reason,
            value=_as_json(end.value),
            failure=failure,
            run_s=run_s,
            gpu_s=gpu_s,
            phases_s=end.phases_s,
            shards=end.shards,
            approximate=end.approximate,
        )

    def adopt(self, found: Iterable[RunningTrial], at: float) -> list[TrialHeld]:
        """Take over what still runs of what a former head had started; what the policy is to be told of it."""
        adopted = []
        for trial in found:
            same_code = trial.study == self.name and trial.code == self.state.spec.code
            if same_code and self.runs(trial.number, trial.generation):
                slots = self.in_pool.slots_of(trial)
                self.holdings.adopted(trial.number, trial.generation, slots, at)
                adopted.append(self.in_pool.held(trial.number, slots, at))
        return adopted

    # --- questions -------------------------------------------------------------------------------

    @property
    def running(self) -> Mapping[int, Holding]:
        """The trials that hold devices now."""
        return self.holdings.by_number

    def holds(self, trial: RunningTrial) -> bool:
        """Is this a running trial of the study, as it was found?"""
        return self.holdings.of(trial.number, trial.generation) is not None

    def awaits(self, action: Action) -> bool:
        """Is the action about the trial as it is now?"""
        record = self.state.trials[action.number]
        if isinstance(action, Resize | Promote | PoolPause):
            return self.runs(action.number, action.generation)
        waits = record.status in (TrialStatus.QUEUED, TrialStatus.PAUSED)
        return waits and action.generation == record.generation + 1

    def runs(self, number: int, generation: int) -> bool:
        """Is this generation of the trial the one that runs now?"""
        record = self.state.trials.get(number)
        return record is not None and record.status is TrialStatus.RUNNING and record.generation == generation


def _gpus(slots: Iterable[WorkerSlot]) -> tuple[str, ...]:
    return tuple(gpu for slot in slots for gpu in slot.gpus)


def _as_json(value: Json) -> Json:
    """A number, or several, as the journal holds them: NaN and infinities are strings there."""
    if isinstance(value, list | tuple):
        return [_as_json(part) for part in value]
    if isinstance(value, Mapping):
        return {name: _as_json(part) for name, part in value.items()}
    return encode_number(value) if isinstance(value, float) else value


def random_value(domain: Json, seed: int) -> Json:
    """Any value of a domain (as JSON): what a trial is given when its strategy cannot answer."""
    import numpy

    space = Space.from_json({"type": "space", "nodes": {"value": domain}})
    return space.sample(numpy.random.default_rng(seed)).to_json()["value"]
