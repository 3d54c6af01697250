"""One study in the hands of the head: its state, its journal, and what its trials hold of the pool.

`take` is the only way in: an event is journaled, handled, and everything it leads to is journaled behind
it. What the state wants done is returned, not done: the head commits first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ..scheduler.port import Request, Resize, Start, TrialOffered, WorkerSlot
from ..search.events import Event, FailureKind, TrialAssigned, TrialEnded, TrialReported
from ..search.instructions import Answer, End, Instruction, Kill, Offer, Outcome, Pause
from ..search.journal.port import Journal
from ..search.numbers import encode_number
from ..search.replay import SNAPSHOT_EVERY, save_snapshot
from ..search.seeds import trial_seed
from ..search.spec import Json
from ..search.study_state import StudyState
from ..search.transitions import TrialStatus
from ..spaces import Space
from ..trial_runner import messages
from ..trial_runner.messages import Ended, LaunchTrial, PrepareStudy, Reported, Resized, ResizeTrial, Slot
from .ports import Answer as StrategyAnswer

INTERRUPTED = "interrupted (Ctrl-C); goes on from its last checkpoint"


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """What a running trial holds, and since when."""

    generation: int
    since: float
    gpus: float
    gpu_s: float = 0.0
    """GPU-seconds until `resized_at`, when the number of its GPUs last changed."""
    resized_at: float = 0.0


class StudyRun:
    """Joins a `StudyState` with the journal and translates between runner, policy and search.

    Args:
        state: folded from the journal already.
        request: what each trial asks of the pool.
        archive: the project's archive for the workers, None without files.
        study_dir: where the trials' logs and checkpoints are kept.
    """

    def __init__(
        self,
        state: StudyState,
        journal: Journal,
        request: Request,
        archive: Path | None,
        study_dir: Path,
    ) -> None:
        self.state = state
        self.request = request
        self.unpublished: list[Event] = []
        self.code_error = ""
        self.is_prepared = False
        """Can the runner start its trials? Until then offers wait here: the time is not charged to any trial."""
        self.early_offers: dict[int, TrialOffered] = {}
        self.asked_domains: dict[tuple[int, str], Json] = {}
        self._journal = journal
        self._archive = archive
        self._study_dir = study_dir
        self._holdings: dict[int, Holding] = {}
        self._events_since_snapshot = 0

    @property
    def name(self) -> str:
        return self.state.spec.name

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
        gpus = tuple(gpu for slot in start.workers for gpu in slot.gpus)
        share = start.workers[0].share
        self._holdings[start.number] = Holding(
            generation=start.generation, since=at, gpus=len(gpus) * float(share), resized_at=at
        )
        return TrialAssigned(
            at=at,
            number=start.number,
            generation=start.generation,
            node=start.node,
            workers=len(start.workers),
            gpus=gpus,
            gpu_share=float(share),
            reason=start.reason,
        )

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
            slots=tuple(_slot(slot) for slot in start.workers),
            max_workers=spec.resources.max_workers,
            max_shards=spec.max_shards,
            reported_step=record.last_step,
            suggested=dict(record.flat) if spec.space is None else {},
            time_limit_s=None if limit_s is None else max(limit_s - record.run_s, 0.0),
        )

    def resize(self, resize: Resize) -> ResizeTrial:
        """What the runner is told of a change of workers."""
        return ResizeTrial(
            study=self.name,
            number=resize.number,
            generation=resize.generation,
            resize=resize.resize,
            slots=tuple(_slot(slot) for slot in resize.workers),
        )

    def resized(self, event: Resized, at: float) -> None:
        """From now on the trial holds other devices."""
        held = self._holdings.get(event.number)
        if held is not None and held.generation == event.generation:
            gpus = sum(len(slot.gpus) * slot.gpu_share for slot in event.slots)
            self._holdings[event.number] = replace(held, gpus=gpus, gpu_s=_gpu_s(held, at), resized_at=at)

    def offered(self, offer: Offer, at: float) -> TrialOffered:
        """What the policy is told of a trial that may run."""
        return TrialOffered(
            at=at,
            study=self.name,
            number=offer.number,
            generation=offer.generation,
            request=self.request,
            priority=offer.priority,
            rung=offer.rung,
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
        held = self._holdings.get(end.number)
        run_s = gpu_s = 0.0
        if held is not None and held.generation == end.generation:
            del self._holdings[end.number]
            run_s = max(at - held.since, 0.0)
            gpu_s = _gpu_s(held, at)
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
        )

    # --- questions -------------------------------------------------------------------------------

    @property
    def running(self) -> Mapping[int, Holding]:
        """The trials that hold devices now."""
        return self._holdings

    def runs(self, number: int, generation: int) -> bool:
        """Is this generation of the trial the one that runs now?"""
        record = self.state.trials.get(number)
        return record is not None and record.status is TrialStatus.RUNNING and record.generation == generation


def _slot(slot: WorkerSlot) -> Slot:
    return Slot(gpus=slot.gpus, gpu_share=float(slot.share), cpus=slot.cpus)


def _gpu_s(held: Holding, at: float) -> float:
    """GPU-seconds that a trial has held until now."""
    return held.gpu_s + max(at - held.resized_at, 0.0) * held.gpus


def _as_json(value: Json) -> Json:
    """A number as the journal holds it: NaN and infinities are strings there."""
    return encode_number(value) if isinstance(value, float) else value


def random_value(domain: Json, seed: int) -> Json:
    """Any value of a domain (as JSON): what a trial is given when its strategy cannot answer."""
    import numpy

    space = Space.from_json({"type": "space", "nodes": {"value": domain}})
    return space.sample(numpy.random.default_rng(seed)).to_json()["value"]
