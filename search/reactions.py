"""What a live study does about each kind of event: one small function a kind, found in `REACTIONS`.

Each is called after the fold has taken the event in (and only if it changed something).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from .ending import wind_down
from .events import (
    Event,
    HeadOpened,
    StudyEdited,
    StudyEnded,
    StudyPaused,
    StudyResumed,
    StudyStopping,
    TrialAssigned,
    TrialDecided,
    TrialEnded,
    TrialInfeasible,
    TrialReported,
)
from .instructions import Answer, Kill, Pause
from .misfits import take_back_misfits
from .numbers import decode_number
from .offering import offer, offer_freed, offer_queued, withdraw
from .promoting import promote_all
from .transitions import TrialStatus
from .trial_record import TrialRecord
from .turn import Turn

if TYPE_CHECKING:
    from .study_state import StudyState

Action = Literal["continue", "pause", "stop"]


def on_head_opened(state: StudyState, event: HeadOpened, turn: Turn) -> None:
    if state.status == "stopping":
        wind_down(state, turn, now=False)
    take_back_misfits(state, turn)
    offer_queued(state, turn, "a new head took the study over")


def on_edited(state: StudyState, event: StudyEdited, turn: Turn) -> None:
    offer_queued(state, turn, event.reason)


def on_paused(state: StudyState, event: StudyPaused, turn: Turn) -> None:
    for number in state.numbers(TrialStatus.QUEUED):
        withdraw(state, turn, number)
    for number in state.numbers(TrialStatus.RUNNING):
        record = state.trials[number]
        if record.can_pause:
            turn.perform(Pause(number=number, generation=record.generation, reason=event.reason))


def on_resumed(state: StudyState, event: StudyResumed, turn: Turn) -> None:
    promote_all(state, turn)  # what has begun goes on before anything new starts
    offer_queued(state, turn, event.reason)


def on_ended(state: StudyState, event: StudyEnded, turn: Turn) -> None:
    """An end from outside: no worker can be had. What waits has cost nothing and waits on, for a study that is run
    again."""
    for number in state.numbers(TrialStatus.QUEUED):
        withdraw(state, turn, number)


def on_stopping(state: StudyState, event: StudyStopping, turn: Turn) -> None:
    wind_down(state, turn, now=event.now)


def on_reported(state: StudyState, event: TrialReported, turn: Turn) -> None:
    record = state.trials[event.number]
    verdict, reason = _verdict(state, record, event, turn)
    turn.perform(
        Answer(
            number=event.number, generation=event.generation, step=event.step, verdict=verdict, reason=reason
        )
    )


def on_decided(state: StudyState, event: TrialDecided, turn: Turn) -> None:
    """A decision from outside: a person's."""
    record = state.trials[event.number]
    if event.decision == "promote":
        offer(state, turn, event.number, event.reason)
    elif record.status is not TrialStatus.RUNNING:
        withdraw(state, turn, event.number)
    elif event.decision == "pause":
        turn.perform(Pause(number=event.number, generation=record.generation, reason=event.reason))
    elif event.decision == "cancel" or not record.steps:  # a trial that reports obeys "stop" at its next report
        turn.perform(Kill(number=event.number, generation=record.generation, reason=event.reason))
    offer_freed(state, turn)


def on_assigned(state: StudyState, event: TrialAssigned, turn: Turn) -> None:
    state.offered.pop(event.number, None)  # taken up: there is nothing left to withdraw


def on_infeasible(state: StudyState, event: TrialInfeasible, turn: Turn) -> None:
    state.offered.pop(event.number, None)
    offer_freed(state, turn)


def on_trial_ended(state: StudyState, event: TrialEnded, turn: Turn) -> None:
    record = state.trials[event.number]
    if record.status is TrialStatus.QUEUED:
        offer(state, turn, event.number, f"again, at no charge: {event.reason}")
        if state.status == "stopping":
            wind_down(state, turn, now=False)
    offer_freed(state, turn)


def _verdict(state: StudyState, record: TrialRecord, event: TrialReported, turn: Turn) -> tuple[Action, str]:
    if record.decision in ("stop", "cancel", "finish"):
        return "stop", record.reason
    action, reason, finished = _rules_verdict(state, event)
    if event.can_pause and record.decision == "pause" and record.decided_by == "person" and action != "stop":
        return "pause", record.reason
    if action != "continue":  # also in a paused study: its rung would otherwise never be decided
        decision: Literal["pause", "stop", "finish"] = "finish" if finished else action
        turn.emit(TrialDecided(at=turn.at, number=event.number, decision=decision, reason=reason))
    elif event.can_pause and state.status == "paused":
        return "pause", state.reason
    return action, reason


def _rules_verdict(state: StudyState, event: TrialReported) -> tuple[Action, str, bool]:
    """(what the stopping rule wants, why, whether the trial has trained in full)."""
    metric = state.spec.objective.metric
    if decode_number(event.metrics.get(metric)) is None:
        reported = ", ".join(event.metrics) or "nothing"
        why = f"no decision: the report of step {event.step} has {reported} but no number for {metric}"
        return "continue", why, False
    verdict = state.rule.verdict(event.number, can_pause=event.can_pause)
    return verdict.action, verdict.reason, verdict.finished


REACTIONS: dict[type[Event], Callable[[StudyState, Any, Turn], None]] = {
    HeadOpened: on_head_opened,
    StudyEdited: on_edited,
    StudyEnded: on_ended,
    StudyPaused: on_paused,
    StudyResumed: on_resumed,
    StudyStopping: on_stopping,
    TrialReported: on_reported,
    TrialAssigned: on_assigned,
    TrialDecided: on_decided,
    TrialInfeasible: on_infeasible,
    TrialEnded: on_trial_ended,
}
