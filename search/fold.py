"""The fold: what a study is after the events so far.

Resume, `shoal show`, dashboards and replays all use `apply`; it reads no clock and asks nobody. What a live study does
next is decided elsewhere (`reactions.py`), by emitting further events that come through here too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..errors import JournalError
from .early_stopping.port import SeesAll
from .ended_trials import RESULTLESS, EndedTrials, config_key
from .events import (
    AskAnswered,
    CommandDone,
    Enqueued,
    Event,
    FailureKind,
    HeadOpened,
    HistoryBorrowed,
    NoteWritten,
    StudyCreated,
    StudyEdited,
    StudyEnded,
    StudyPaused,
    StudyResumed,
    StudyStopping,
    TagsChanged,
    TrialAssigned,
    TrialDecided,
    TrialEnded,
    TrialInfeasible,
    TrialProposed,
    TrialReported,
    TrialResized,
    TrialResizing,
    TrialSuggested,
)
from .judging import Ending, ending, lost, stopped
from .remarks import ASIDES, change_tags, write_note
from .spec import StudySpec
from .transitions import Cause, TrialStatus, follow
from .trial_record import TrialRecord


class StudyFold(EndedTrials):
    """The data together with the one function that changes it."""

    def apply(self, event: Event, seq: int) -> bool:
        """Take one event in; False when it changed nothing (a stale or repeated message).

        Raises:
            JournalError: the event cannot follow those before it.
        """
        if type(event) not in ASIDES:
            if type(event) is not HeadOpened:
                self.active_s = self.active_until(event.at)
            self.last_at = event.at
        self.last_seq = seq
        self.freed = None
        took_effect = _FOLDS[type(event)](self, event)
        if not took_effect:
            self.stale_events += 1
        return took_effect

    def _created(self, event: StudyCreated) -> bool:
        self.created_at = event.at
        return True

    def _head_opened(self, event: HeadOpened) -> bool:
        for number in sorted(self.by_status[TrialStatus.RUNNING].difference(event.kept)):
            record = self.trials[number]
            why = record.reason if record.decision else "the program ended under it"
            self._end(record, lost(record, self.spec), event.at, why)
        return True

    def _edited(self, event: StudyEdited) -> bool:
        before, self.spec = self.spec, StudySpec.from_json(event.spec)
        if before.early_stopping != self.spec.early_stopping:
            self.rule = self.make_rule(self.spec.early_stopping, self.spec.watched)
            self.observe_again()
        self.exhausted = False
        self.known_in_a_row = 0
        if self.is_over:
            self._reopen(event.reason)
        return True

    def _paused(self, event: StudyPaused) -> bool:
        if self.status != "running":
            return False
        self.status, self.reason = "paused", event.reason
        return True

    def _resumed(self, event: StudyResumed) -> bool:
        if self.status == "paused":
            self.status, self.reason = "running", event.reason
            return True
        if self.status in ("stopped", "failed"):
            self._reopen(event.reason)
            return True
        return False

    def _stopping(self, event: StudyStopping) -> bool:
        if self.is_over:
            return False
        self.status, self.reason = "stopping", event.reason
        return True

    def _ended(self, event: StudyEnded) -> bool:
        if self.is_over:
            return False
        self.status, self.reason, self.ended_at = event.state, event.reason, event.at
        return True

    def _reopen(self, reason: str) -> None:
        self.status, self.reason, self.ended_at = "running", reason, None
        self.forgiven_failures = self.user_failures
        by_end = [record for number in self.ended if (record := self.trials[number]).decided_by == "end"]
        taken_up = [record for record in by_end if record.can_pause or record.paused_by is None]
        for record in taken_up:
            self._take_up(record, reason)
        self.ended = [number for number in self.ended if self.trials[number].status.is_terminal]
        for record in taken_up:
            self._wait_for_twin_again(record)

    def _take_up(self, record: TrialRecord, reason: str) -> None:
        """What only the study's end had ended is where it was before."""
        if record.paused_by is not None:
            record.decision, record.decided_by = "pause", record.paused_by
            self._move(record, Cause.REOPENED)
        else:
            record.decision = record.decided_by = None
            self._move(record, Cause.REQUEUED)
        record.values = record.ended_at = None
        record.outcomes = ()
        record.paused_by = None
        record.reason = reason

    def _command_done(self, event: CommandDone) -> bool:
        return True

    def _enqueued(self, event: Enqueued) -> bool:
        if event.key in self.enqueued_keys:
            return False
        self.enqueued_keys.add(event.key)
        self.enqueued.append((event.key, event.config))
        return True

    def _borrowed(self, event: HistoryBorrowed) -> bool:
        if event.study in self.lenders:
            return False
        self.borrowed = [*self.borrowed, *((event.study, result) for result in event.results)]
        return True

    def _proposed(self, event: TrialProposed) -> bool:
        if event.number in self.trials:
            return False
        record = self.trials[event.number] = TrialRecord(
            number=event.number,
            config=event.config,
            source=event.source,
            reason=event.reason,
            created_at=event.at,
            objectives=self.spec.objectives,
            value_from=self.spec.value_from,
            ask=event.ask,
            seen_seq=event.seen_seq,
            attrs=event.attrs,
            duplicate_of=event.duplicate_of,
            parent=event.parent,
            until=event.until,
        )
        self.by_status[TrialStatus.QUEUED].add(event.number)
        if event.source == "enqueued" and self.enqueued:
            self.enqueued.pop(0)
        if event.duplicate_of is None:
            self.known_in_a_row = 0
            if event.config is not None and event.until is None:
                self.trial_of_key[config_key(event.config)] = event.number
        else:
            self.known_in_a_row += 1
            if not self.trials[event.duplicate_of].status.is_terminal:
                self.twins.setdefault(event.duplicate_of, []).append(record.number)
        return True

    def _ask_answered(self, event: AskAnswered) -> bool:
        self.next_ask = event.ask + 1
        self.exhausted = event.exhausted
        return True

    def _suggested(self, event: TrialSuggested) -> bool:
        record = self._trial(event.number)
        if event.path in record.flat:
            return False
        record.flat[event.path] = event.value
        record.domains[event.path] = event.domain
        return True

    def _infeasible(self, event: TrialInfeasible) -> bool:
        record = self._trial(event.number)
        if record.status is not TrialStatus.QUEUED:
            return False
        self._end(record, Ending(cause=Cause.INFEASIBLE, message=event.reason), event.at, event.reason)
        return True

    def _assigned(self, event: TrialAssigned) -> bool:
        record = self._trial(event.number)
        if event.generation != record.generation + 1:
            return False
        self._move(record, Cause.ASSIGNED)
        record.generation = event.generation
        record.node, record.workers, record.gpus = event.node, event.workers, tuple(event.gpus)
        record.reason = event.reason
        if record.started_at is None:
            record.started_at = event.at
        return True

    def _resizing(self, event: TrialResizing) -> bool:
        return self._runs(event.number, event.generation)

    def _resized(self, event: TrialResized) -> bool:
        if not self._runs(event.number, event.generation):
            return False
        record = self.trials[event.number]
        record.workers, record.gpus = event.workers, tuple(event.gpus)
        return True

    def _reported(self, event: TrialReported) -> bool:
        record = self._trial(event.number)
        if record.status is not TrialStatus.RUNNING or event.generation != record.generation:
            return False
        record.can_pause = event.can_pause
        last = self._began_at(record) if not record.steps else record.last_step
        if record.report(event.step, event.metrics):
            self.epochs_trained += event.step - last
            self._show_rule(record, len(record.steps) - 1)
        return True

    def _decided(self, event: TrialDecided) -> bool:
        record = self._trial(event.number)
        if record.status.is_terminal or not _MAY_DECIDE[record.status](event.decision):
            return False
        if event.decision in ("pause", "promote") and record.decision in ("stop", "cancel", "finish"):
            return False  # it is about to end
        record.reason = event.reason
        if record.status is TrialStatus.RUNNING and event.decision == "promote":
            record.rung = event.rung
            return True
        if event.by == "end" and record.status is TrialStatus.PAUSED:
            record.paused_by = "pool" if record.decided_by == "pool" else "rule"
        record.decision, record.decided_by = event.decision, event.by
        if record.status is TrialStatus.RUNNING:
            return True
        if event.decision == "promote":
            record.rung = event.rung
            record.decision = record.decided_by = None
            self._move(record, Cause.PROMOTED)
        elif event.decision == "cancel":
            if event.by == "rule" and record.generation == 0:
                self.rejected += 1
            self._end(record, Ending(cause=Cause.CANCELLED), event.at, event.reason)
        else:
            self._end(record, stopped(record, self.spec, None), event.at, event.reason)
        return True

    def _trial_ended(self, event: TrialEnded) -> bool:
        record = self._trial(event.number)
        runs = record.status is TrialStatus.RUNNING or self.waits_for_twin(record)
        if not runs or event.generation != record.generation:
            return False
        record.run_s += event.run_s
        record.gpu_s += event.gpu_s
        self.run_s += event.run_s
        self.gpu_s += event.gpu_s
        for phase, seconds in event.phases_s.items():
            record.phases_s[phase] = record.phases_s.get(phase, 0.0) + seconds
            self.phases_s[phase] = self.phases_s.get(phase, 0.0) + seconds
        if event.failure is FailureKind.LOST:
            record.losses += 1
        if record.status is TrialStatus.QUEUED and event.outcome == "cancelled":
            self.rejected += 1
        parent = None if record.parent is None else self.trials.get(record.parent)
        end = ending(record, event, self.spec, parent)
        record.approximate |= event.approximate
        record.returned = record.status is TrialStatus.RUNNING and event.outcome == "completed"
        record.split *= 2 if end.cause is Cause.SPLIT else 1
        self._end(record, end, event.at, event.reason)
        return True

    def _began_at(self, record: TrialRecord) -> int:
        """The epochs that it took over from its parent."""
        parent = None if record.parent is None else self.trials.get(record.parent)
        return 0 if parent is None else parent.last_step

    # --- steps of a trial's life -------------------------------------------------------------------

    def _end(self, record: TrialRecord, end: Ending, at: float, reason: str) -> None:
        """A generation, or the whole trial, is over."""
        waited = self.waits_for_twin(record)
        self._move(record, end.cause)
        record.reason = end.message or reason
        record.workers, record.gpus = 0, ()
        if record.status is TrialStatus.QUEUED:
            record.decision = record.decided_by = None
        if not record.status.is_terminal:
            return
        record.ended_at = at
        record.values, record.outcomes = end.values, end.outcomes
        record.failure, record.message = end.failure, end.message
        self.ended.append(record.number)
        if record.failure is not None and record.failure.is_users:
            self.user_failures += 1
        if record.status is TrialStatus.COMPLETED:
            self._take_into_front(record)
        if waited:
            self._leave_twin(record)
        if record.status in RESULTLESS:
            self._free_twin_of(record)

    def _move(self, record: TrialRecord, cause: Cause) -> None:
        before = record.status
        record.status = follow(before, cause, f"trial {record.number} ({record.reason})")
        self.by_status[before].discard(record.number)
        self.by_status[record.status].add(record.number)
        if record.status is TrialStatus.PAUSED and record.decided_by != "rule":
            self.held.add(record.number)
        elif before is TrialStatus.PAUSED:
            self.held.discard(record.number)

    def _runs(self, number: int, generation: int) -> bool:
        record = self._trial(number)
        return record.status is TrialStatus.RUNNING and record.generation == generation

    def _trial(self, number: int) -> TrialRecord:
        try:
            return self.trials[number]
        except KeyError:
            raise JournalError(
                f"study {self.name!r} has no trial {number}.", "The journal is damaged: keep it and report this."
            ) from None

    def observe_again(self) -> None:
        """Show the rule every report so far."""
        for record in self.trials.values():
            for row in range(len(record.steps)):
                self._show_rule(record, row)

    def _show_rule(self, record: TrialRecord, row: int) -> None:
        """Show the rule a report of what it looks at."""
        if self.spec.watches_all:
            assert isinstance(self.rule, SeesAll)
            self.rule.observe_all(record.number, record.steps[row], record.losses_at(row))
        else:
            column = record.columns.get(self.spec.watched.metric)
            self.rule.observe(record.number, record.steps[row], column[row] if column else None)


_MAY_DECIDE: Mapping[TrialStatus, Callable[[str], bool]] = {
    TrialStatus.QUEUED: ("stop", "cancel").__contains__,
    TrialStatus.RUNNING: ("pause", "stop", "cancel", "finish", "promote").__contains__,
    TrialStatus.PAUSED: ("promote", "stop", "cancel").__contains__,
}

_FOLDS: dict[type[Event], Callable[[StudyFold, Any], bool]] = {
    StudyCreated: StudyFold._created,
    HeadOpened: StudyFold._head_opened,
    StudyEdited: StudyFold._edited,
    StudyPaused: StudyFold._paused,
    StudyResumed: StudyFold._resumed,
    StudyStopping: StudyFold._stopping,
    StudyEnded: StudyFold._ended,
    CommandDone: StudyFold._command_done,
    NoteWritten: write_note,
    TagsChanged: change_tags,
    Enqueued: StudyFold._enqueued,
    HistoryBorrowed: StudyFold._borrowed,
    TrialProposed: StudyFold._proposed,
    AskAnswered: StudyFold._ask_answered,
    TrialSuggested: StudyFold._suggested,
    TrialInfeasible: StudyFold._infeasible,
    TrialAssigned: StudyFold._assigned,
    TrialResizing: StudyFold._resizing,
    TrialResized: StudyFold._resized,
    TrialReported: StudyFold._reported,
    TrialDecided: StudyFold._decided,
    TrialEnded: StudyFold._trial_ended,
}
