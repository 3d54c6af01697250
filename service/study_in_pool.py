"""One study as the policy hears of it: its plan, its offers, and how its trials get on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from ..scheduler.port import (
    EpochEnded,
    Ladder,
    MemoryMeasured,
    PoolEvent,
    Request,
    ResizeRefused,
    RungReached,
    StudyAdded,
    StudyEnded,
    TrialEnded,
    TrialHeld,
    TrialOffered,
    TrialReleased,
    TrialRemembered,
    TrialResized,
    TrialStarted,
    TrialWithdrawn,
    WorkersLost,
    WorkerSlot,
)
from ..search.early_stopping.asha import AshaRule
from ..search.events import FailureKind
from ..search.halving import halving
from ..search.instructions import Offer
from ..search.study_state import StudyState
from ..trial_runner.cluster.ports import RunningTrial
from ..trial_runner.messages import Ended, Reported, Resized, Started
from .holdings import Holding


class StudyInPool:
    """Translates between a study and the policy; remembers what the policy was told.

    Args:
        state: the study.
        request: what each of its trials asks of the pool.
        resize_cost_s: how long a trial is expected to stand still in a resize; None: not known.
    """

    def __init__(self, state: StudyState, request: Request, resize_cost_s: float | None = None) -> None:
        self._state = state
        self.request = request
        self._resize_cost_s = resize_cost_s
        self._ended = False
        self._seen: tuple[object, ...] = ()
        self._told: StudyAdded | None = None
        self._offered: set[int] = set()
        self._per_bracket: Counter[int] = Counter()
        self._epoch_from: dict[int, float] = {}

    # --- the study -------------------------------------------------------------------------------

    def introduction(self, at: float) -> list[PoolEvent]:
        """The study as it is, and what its trials did before this policy heard of them."""
        state = self._state
        for record in state.trials.values():
            if record.generation:
                self._count(record.number)
        plan = self.news(at)
        rule = halving(state)
        return [*plan, *(self._remembered(rule, at) if rule is not None else ())]

    def news(self, at: float) -> list[PoolEvent]:
        """The study's plan, if it is another than the policy knows, or its end."""
        state, spec = self._state, self._state.spec
        if self._ended:
            return []
        if state.is_over:
            self._ended = True
            return [StudyEnded(at=at, study=spec.name)]
        seen = (len(state.trials), len(self._offered), state.exhausted, state.status, spec)
        if seen == self._seen:
            return []
        self._seen = seen
        plan = StudyAdded(
            at=0.0,
            study=spec.name,
            weight=spec.weight,
            priority=spec.priority,
            ladders=self._ladders(),
            gpu_hours=spec.budget.gpu_hours,
            resize_cost_s=self._resize_cost_s,
            spent_gpu_hours=self._spent_hours() if self._told is None else self._told.spent_gpu_hours,
        )
        if plan == self._told:
            return []
        self._told = plan
        return [replace(plan, at=at)]

    def _spent_hours(self) -> float:
        """What former heads have used: GPU-hours, or CPU-hours where trials take no GPU."""
        state = self._state
        return (state.gpu_s if self.request.gpus else state.run_s * self.request.cpus) / 3600

    def _ladders(self) -> tuple[Ladder, ...]:
        rule = halving(self._state)
        if rule is None:
            return ()
        planned = self._planned(rule)
        lower = rule.lower_is_better
        return tuple(
            Ladder(milestones=milestones, eta=rule.reduction_factor, planned=planned[bracket], lower_is_better=lower)
            for bracket, milestones in enumerate(rule.milestones)
        )

    def _planned(self, rule: AshaRule) -> Counter[int]:
        """How many trials each bracket has or will have: those offered so far, and what the budget leaves."""
        state = self._state
        planned = Counter(self._per_bracket)
        left = 0 if state.exhausted or state.status == "stopping" else state.budget_left or 0
        first = len(state.trials)
        if len(rule.milestones) == 1:
            planned[0] += left
        else:
            planned.update(rule.bracket(number) for number in range(first, first + left))
        return planned

    def _remembered(self, rule: AshaRule, at: float) -> Iterator[TrialRemembered]:
        for number, record in self._state.trials.items():
            reached, ended = tuple(rule.reached(number)), record.status.is_terminal
            if reached or (ended and number in self._offered):
                bracket = rule.bracket(number)
                yield TrialRemembered(
                    at=at, study=self._state.name, number=number, bracket=bracket, reached=reached, ended=ended
                )

    # --- its trials ------------------------------------------------------------------------------

    def offered(self, offer: Offer, at: float) -> TrialOffered:
        """What the policy is told of a trial that may run."""
        record = self._state.trials[offer.number]
        rule = halving(self._state)
        self._count(offer.number)
        return TrialOffered(
            at=at,
            study=self._state.name,
            number=offer.number,
            generation=offer.generation,
            request=self.request,
            priority=offer.priority,
            rung=offer.rung,
            epochs_done=float(record.last_step),
            bracket=rule.bracket(offer.number) if rule is not None else 0,
            can_pause=record.can_pause,
        )

    def held(self, number: int, slots: tuple[WorkerSlot, ...], at: float) -> TrialHeld:
        """The trial runs already, started by a former head."""
        record = self._state.trials[number]
        priority = self._state.spec.priority
        offer = Offer(number=number, generation=record.generation, rung=record.rung, priority=priority, reason="")
        return TrialHeld(at=at, offer=self.offered(offer, at), workers=slots)

    def slots_of(self, trial: RunningTrial) -> tuple[WorkerSlot, ...]:
        """The pool's names for the slots that a trial was found on."""
        share = min(self.request.gpus, Fraction(1))
        return tuple(WorkerSlot(gpus=s.gpus, share=share, cpus=s.cpus, node=s.node) for s in trial.slots)

    def _count(self, number: int) -> None:
        if number not in self._offered:
            self._offered.add(number)
            rule = halving(self._state)
            self._per_bracket[rule.bracket(number) if rule is not None else 0] += 1

    def started(self, event: Started, at: float) -> TrialStarted:
        self._epoch_from[event.number] = at
        return TrialStarted(
            at=at, study=event.study, number=event.number, generation=event.generation, start_s=event.start_s
        )

    def reported(self, event: Reported, epochs: int, at: float) -> list[PoolEvent]:
        """What a report says of the trial's speed, and of the rung that it has reached.

        Args:
            epochs: how many epochs the trial has finished since its former report.
        """
        number = event.number
        since = self._epoch_from.get(number)
        self._epoch_from[number] = at
        events: list[PoolEvent] = [
            EpochEnded(
                at=at,
                study=event.study,
                number=number,
                generation=event.generation,
                epochs_done=float(event.step),
                epoch_s=0.0 if since is None else (at - since) / epochs,
                can_pause=event.can_pause,
                most_workers=event.most_workers,
            )
        ]
        if event.gpu_memory_gib:
            measured = MemoryMeasured(
                at=at,
                study=event.study,
                number=number,
                generation=event.generation,
                gpu_memory_gib=event.gpu_memory_gib,
            )
            events.append(measured)
        rule = halving(self._state)
        arrival = rule.arrival(number) if rule is not None and event.can_pause else None
        if arrival is not None:
            events.append(
                RungReached(
                    at=at,
                    study=event.study,
                    number=number,
                    generation=event.generation,
                    rung=arrival[0],
                    value=arrival[1],
                )
            )
        return events

    def resized(self, event: Resized, held: Holding, at: float) -> list[PoolEvent]:
        """What became of a resize, or the loss of workers. `held` is what the trial holds now."""
        self._epoch_from.pop(event.number, None)
        study, number, generation = event.study, event.number, event.generation
        events: list[PoolEvent] = []
        if event.resize and event.ok:
            resized = TrialResized(
                at=at,
                study=study,
                number=number,
                generation=generation,
                resize=event.resize,
                stall_s=event.stall_s,
            )
            return [resized]
        if event.resize:
            events.append(ResizeRefused(at=at, study=study, number=number, generation=generation, resize=event.resize))
        if held.loss_untold:
            lost = WorkersLost(
                at=at, study=study, number=number, generation=generation, loss=held.losses, workers=held.slots
            )
            events.append(lost)
        return events

    def released(self, event: Ended, at: float) -> TrialReleased:
        """The trial's workers are gone."""
        self._epoch_from.pop(event.number, None)
        lost = event.failure == FailureKind.LOST
        return TrialReleased(at=at, study=event.study, number=event.number, generation=event.generation, lost=lost)

    def withdrawn(self, number: int, at: float) -> TrialWithdrawn | TrialEnded:
        """The trial does not want to start: for now, or because it has ended."""
        study = self._state.name
        if self._state.trials[number].status.is_terminal:
            return TrialEnded(at=at, study=study, number=number)
        return TrialWithdrawn(at=at, study=study, number=number)

    def refused(self, number: int) -> None:
        """The policy has no place for the trial and does not count it."""
        if number in self._offered:
            self._offered.remove(number)
            rule = halving(self._state)
            self._per_bracket[rule.bracket(number) if rule is not None else 0] -= 1
