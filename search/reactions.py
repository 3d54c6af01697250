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
    StudyPaused,
    StudyResumed,
    StudyStopping,
    TrialDecided,
    TrialEnded,
    TrialInfeasible,
    TrialReported,
)
from .instructions import Answer, Kill, Pause
from .numbers import decode_number
from .offering import offer, offer_queued, withdraw
from .transitions import TrialStatus
from .trial_record import TrialRecord
from .turn import Turn

if TYPE_CHECKING:
    from .study_state import StudyState

Action = Literal["continue", "pause", "stop"]


def on_head_opened(state: StudyState, event: HeadOpened, turn: Turn) -> None:
    if state.status == "stopping":
        wind_down(state, turn, now=False)
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
    offer_queued(state, turn, event.reason)


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
    _offer_freed(state, turn)


def on_infeasible(state: StudyState, event: TrialInfeasible, turn: Turn) -> None:
    _offer_freed(state, turn)


def on_trial_ended(state: StudyState, event: TrialEnded, turn: Turn) -> None:
    record = state.trials[event.number]
    if record.status is TrialStatus.QUEUED:
        offer(state, turn, event.number, f"again, at no charge: {event.reason}")
        if state.status == "stopping":
            wind_down(state, turn, now=False)
    _offer_freed(state, turn)


def _offer_freed(state: StudyState, turn: Turn) -> None:
    if state.freed is not None:
        offer(state, turn, state.freed, "the equal trial it waited for has no result")


def _verdict(state: StudyState, record: TrialRecord, event: TrialReported, turn: Turn) -> tuple[Action, str]:
    if record.decision in ("stop", "cancel", "finish"):
        return "stop", record.reason
    if event.can_pause and state.status == "paused":
        return "pause", state.reason
    if event.can_pause and record.decision == "pause" and record.decided_by == "person":
        return "pause", record.reason
    metric = state.spec.objective.metric
    if decode_number(event.metrics.get(metric)) is None:
        reported = ", ".join(event.metrics) or "nothing"
        return "continue", f"no decision: the report of step {event.step} has {reported} but no number for {metric}"
    verdict = state.rule.verdict(event.number, can_pause=event.can_pause)
    if verdict.action != "continue":
        decision: Literal["pause", "stop", "finish"] = "finish" if verdict.finished else verdict.action
        turn.emit(TrialDecided(at=turn.at, number=event.number, decision=decision, reason=verdict.reason))
    return verdict.action, verdict.reason


REACTIONS: dict[type[Event], Callable[[StudyState, Any, Turn], None]] = {
    HeadOpened: on_head_opened,
    StudyEdited: on_edited,
    StudyPaused: on_paused,
    StudyResumed: on_resumed,
    StudyStopping: on_stopping,
    TrialReported: on_reported,
    TrialDecided: on_decided,
    TrialInfeasible: on_infeasible,
    TrialEnded: on_trial_ended,
}
