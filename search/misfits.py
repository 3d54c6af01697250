"""Trials of a former version of the space that are not in the present one: they cannot run any more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ..errors import SpaceError
from .events import TrialDecided
from .offering import offer_freed, withdraw
from .spec import Json
from .transitions import TrialStatus
from .turn import Turn

if TYPE_CHECKING:
    from .study_state import StudyState


def misfit(state: StudyState, config: Json) -> str:
    """Why `config` is not in the study's space; nothing when it is, or when the study has none (define by run)."""
    if state.space is None:
        return ""
    try:
        state.space.configuration(config)
    except SpaceError as error:
        return f"the space has changed and does not have this configuration any more: {error.cause}"
    return ""


def take_back_misfits(state: StudyState, turn: Turn) -> None:
    """End what waits and does not fit: with what it has reported, or else without a result (and at no charge)."""
    for number in sorted(state.by_status[TrialStatus.QUEUED] | state.by_status[TrialStatus.PAUSED]):
        record = state.trials[number]
        reason = misfit(state, record.config)
        if reason:
            withdraw(state, turn, number)
            decision: Literal["stop", "cancel"] = "stop" if record.steps else "cancel"
            turn.emit(TrialDecided(at=turn.at, number=number, decision=decision, reason=reason))
            offer_freed(state, turn)
