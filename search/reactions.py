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
from .halving import stands_at_rung, waits_for_pool
from .instructions import Answer, Kill, Pause
from .misfits import take_back_misfits
from .numbers import decode_number, encode_number
from .offering import offer, offer_freed, offer_waiting, withdraw
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
    offer_waiting(state, turn, "a new head took the study over")
    for number in event.kept:
        _answer_again(state, number, turn)


def on_edited(state: StudyState, event: StudyEdited, turn: Turn) -> None:
    offer_waiting(state, turn, event.reason)


def on_paused(state: StudyState, event: StudyPaused, turn: Turn) -> None:
    for number in sorted(state.offered):
        withdraw(state, turn, number)
    for number in state.numbers(TrialStatus.RUNNING):
        record = state.trials[number]
        if record.can_pause:
            turn.perform(Pause(number=number, generation=record.generation, reason=event.reason))


def on_resumed(state: StudyState, event: StudyResumed, turn: Turn) -> None:
    promote_all(state, turn)  # what has begun goes on before anything new starts
    offer_waiting(state, turn, event.reason)


def on_ended(state: StudyState, event: StudyEnded, turn: Turn) -> None:
    """An end from outside: no worker can be had. What waits has cost nothing and waits on, for a study that is run
    again."""
    for number in state.numbers(TrialStatus.QUEUED):
        withdraw(state, turn, number)


def on_stopping(state: StudyState, event: StudyStopping, turn: Turn) -> None:
    wind_down(state, turn, now=event.now)


def on_reported(state: StudyState, event: TrialReported, turn: Turn) -> None:
    if stands_at_rung(state, event):
        state.at_rung[event.number] = event
    else:
        answer_by_rule(state, event, turn)


def answer_by_rule(state: StudyState, event: TrialReported, turn: Turn) -> None:
    """Let the stopping rule say what the trial does after its report."""
    verdict, reason = _verdict(state, state.trials[event.number], event, turn)
    _answer(turn, event, verdict, reason)


def _answer_again(state: StudyState, number: int, turn: Turn) -> None:
    """Of a trial that went on without a head nobody knows whether its last report was answered."""
    record = state.trials[number]
    if not record.steps:
        return
    metrics = {name: column[-1] for name, column in record.columns.items() if column[-1] is not None}
    last = TrialReported(
        at=turn.at,
        number=number,
        generation=record.generation,
        step=record.last_step,
        metrics={name: encode_number(value) for name, value in metrics.items()},
        can_pause=record.can_pause,
    )
    on_reported(state, last, turn)


def _answer(turn: Turn, event: TrialReported, verdict: Action, reason: str) -> None:
    turn.perform(
        Answer(number=event.number, generation=event.generation, step=event.step, verdict=verdict, reason=reason)
    )


def on_decided(state: StudyState, event: TrialDecided, turn: Turn) -> None:
    """A decision from outside: a person's, or the pool's."""
    record = state.trials[event.number]
    report = state.at_rung.pop(event.number, None) if event.decision in ("promote", "pause") else None
    if report is not None:
        held_back = event.decision == "pause" or record.decision == "pause" or state.status == "paused"
        _answer(turn, report, "pause" if held_back else "continue", event.reason)
    elif event.decision == "promote":
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
    state.at_rung.pop(event.number, None)
    if waits_for_pool(record):
        offer(state, turn, event.number, record.reason)
    if record.status is TrialStatus.QUEUED:
        again = f"again, at no charge: {event.reason}" if event.shards is None else record.reason
        offer(state, turn, event.number, again)
        if state.status == "stopping":
            wind_down(state, turn, now=False)
    offer_freed(state, turn)


def _verdict(state: StudyState, record: TrialRecord, event: TrialReported, turn: Turn) -> tuple[Action, str]:
    if record.decision in ("stop", "cancel", "finish"):
        return "stop", record.reason
    action, reason, finished = _rules_verdict(state, event)
    told = record.decision == "pause" and record.decided_by in ("person", "pool")
    if event.can_pause and told and action != "stop":
        return "pause", record.reason
    if action != "continue":  # also in a paused study: its rung would otherwise never be decided
        decision: Literal["pause", "stop", "finish"] = "finish" if finished else action
        turn.emit(TrialDecided(at=turn.at, number=event.number, decision=decision, reason=reason))
    elif event.can_pause and state.status == "paused":
        return "pause", state.reason
    return action, reason


def _rules_verdict(state: StudyState, event: TrialReported) -> tuple[Action, str, bool]:
    """(what the stopping rule wants, why, whether the trial has trained in full)."""
    until = state.trials[event.number].until
    if until is not None and event.step >= until:
        return "stop", f"trained as far as the strategy wanted: epoch {event.step} of {until}", True
    metric = state.spec.watched.metric
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
