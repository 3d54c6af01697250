"""Which paused trials go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .events import TrialDecided
from .offering import offer
from .transitions import TrialStatus
from .turn import Turn

if TYPE_CHECKING:
    from .study_state import StudyState


def promote_all(state: StudyState, turn: Turn, *, closing: bool = False) -> bool:
    """Let every paused trial go on that may: those the rule promotes, and those nobody decided to pause.

    What a person paused waits for a person. `closing`: nothing else will run any more (see `StoppingRule.promotions`).
    True when some trial goes on.
    """
    if state.status != "running" or not state.by_status[TrialStatus.PAUSED]:
        return False
    promoted = False
    for number in sorted(state.held):
        record = state.trials[number]
        if record.decision is None:
            _promote(state, turn, number, record.rung, "nothing holds it back any more")
            promoted = True
    paused = state.by_status[TrialStatus.PAUSED]
    by_rule = paused - state.held if state.held else paused
    for promotion in state.rule.promotions(by_rule, closing=closing) if by_rule else ():
        _promote(state, turn, promotion.number, promotion.rung, promotion.reason)
        promoted = True
    return promoted


def _promote(state: StudyState, turn: Turn, number: int, rung: int, reason: str) -> None:
    turn.emit(TrialDecided(at=turn.at, number=number, decision="promote", reason=reason, rung=rung))
    offer(state, turn, number, reason)
