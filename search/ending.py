"""When a study is over, and how it winds down."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal

from .duplicates import settle_twins
from .events import EndState, StudyEnded, StudyStopping, TrialDecided
from .fold import StudyFold
from .halving import waits_for_pool
from .instructions import End, Kill
from .offering import withdraw
from .promoting import promote_all
from .transitions import TrialStatus
from .turn import Turn

if TYPE_CHECKING:
    from .study_state import StudyState


def too_many_failures(state: StudyFold) -> bool:
    limit = state.spec.budget.max_failures
    return limit is not None and _fresh_failures(state) >= limit


def time_is_up(state: StudyFold, at: float) -> bool:
    limit = state.spec.budget.study_time_limit_s
    return limit is not None and state.active_until(at) >= limit


def stop_at_limits(state: StudyState, turn: Turn) -> None:
    """End a running study that has used up its failures or its time."""
    if state.status not in ("running", "paused"):
        return
    if too_many_failures(state):
        reason = (
            f"{_fresh_failures(state)} trials failed, max_failures={state.spec.budget.max_failures}: "
            "mend the training function, then resume the study"
        )
    elif time_is_up(state, turn.at):
        reason = f"the study's time limit of {state.spec.budget.study_time_limit_s:g} s is over"
    else:
        return
    turn.emit(StudyStopping(at=turn.at, now=True, reason=reason))
    wind_down(state, turn, now=True)


def wind_down(state: StudyState, turn: Turn, *, now: bool) -> None:
    """Let nothing start any more; with `now`, end what runs."""
    for number in reversed(state.numbers(TrialStatus.QUEUED)):  # duplicates before their originals: they stay such
        withdraw(state, turn, number)
        decision: Literal["stop", "cancel"] = "stop" if state.trials[number].steps else "cancel"
        turn.emit(TrialDecided(at=turn.at, number=number, decision=decision, reason=state.reason, by="end"))
    if not now:
        return
    keep_values = time_is_up(state, turn.at)
    for number in state.numbers(TrialStatus.RUNNING):
        record = state.trials[number]
        if record.decision != "finish":  # that one has trained in full: killed, it still counts as completed
            decision = "stop" if keep_values else "cancel"
            turn.emit(TrialDecided(at=turn.at, number=number, decision=decision, reason=state.reason, by="end"))
        turn.perform(Kill(number=number, generation=record.generation, reason=state.reason))


def end_if_over(state: StudyState, turn: Turn, *, asking: bool) -> None:
    """Emit the study's end once no trial can run any more. `asking`: an answer of the strategy is outstanding."""
    if state.is_over or state.by_status[TrialStatus.RUNNING] or state.startable:
        return
    if state.status != "stopping":
        if asking or not _all_proposed(state):
            return
        if state.status == "paused" and state.by_status[TrialStatus.PAUSED]:
            return
        if state.status == "running" and any(waits_for_pool(state.trials[number]) for number in state.held):
            return  # the policy starts or stops them
        if promote_all(state, turn, closing=True):
            return
    for number in state.numbers(TrialStatus.PAUSED):
        reason = state.rule.farewell(number) or "the study ended while it was paused"
        turn.emit(TrialDecided(at=turn.at, number=number, decision="stop", reason=reason, by="end"))
    settle_twins(state, turn)
    end_state, reason = _verdict(state, turn)
    turn.emit(StudyEnded(at=turn.at, state=end_state, reason=reason))
    turn.perform(End(state=end_state, reason=reason))


def _all_proposed(state: StudyFold) -> bool:
    if state.budget_left == 0:
        return True
    return state.exhausted and not state.enqueued


def _fresh_failures(state: StudyFold) -> int:
    """Failures of the user's own kinds since the study was last reopened."""
    return state.user_failures - state.forgiven_failures


def _verdict(state: StudyFold, turn: Turn) -> tuple[EndState, str]:
    """How the study ends. A study in which no trial ended well has failed, whatever it was told."""
    if too_many_failures(state):
        return "failed", state.reason
    if not state.has_good_trials and (state.by_status[TrialStatus.FAILED] or state.by_status[TrialStatus.INFEASIBLE]):
        return "failed", _why_none(state)
    if state.status == "stopping":
        return ("completed" if time_is_up(state, turn.at) else "stopped"), state.reason
    limit_s = (state.spec.budget.gpu_hours or 0.0) * 3600
    if limit_s and state.gpu_s >= limit_s:
        return "completed", f"its {limit_s / 3600:.4g} GPU-hours are used: {state.gpu_s / 3600:.4g}"
    if state.budget_left == 0:
        return "completed", f"all {state.spec.budget.trials} trials are done"
    return "completed", f"the strategy has nothing more to propose (trials so far: {len(state.trials)})"


def _why_none(state: StudyFold) -> str:
    """No trial ended well: how many did not, and what most of them died of."""
    bad = [state.trials[n] for status in (TrialStatus.FAILED, TrialStatus.INFEASIBLE) for n in state.numbers(status)]
    (message, count), *_ = Counter(record.message or record.reason for record in bad).most_common(1)
    which = "each" if count == len(bad) else f"{count} of them"
    return f"none of {len(bad)} trials ended well; {which}: {message}"
