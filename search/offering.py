"""Which trials the pool has been told of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .halving import waits_for_pool
from .instructions import Offer, Withdraw
from .transitions import TrialStatus
from .turn import Turn

if TYPE_CHECKING:
    from .study_state import StudyState


def offer(state: StudyState, turn: Turn, number: int, reason: str) -> None:
    """Tell the pool that the trial may run, once for each of its generations."""
    record = state.trials[number]
    generation = record.generation + 1
    if state.status != "running" or state.offered.get(number) == generation:
        return
    state.offered[number] = generation
    turn.perform(
        Offer(number=number, generation=generation, rung=record.rung, priority=state.spec.priority, reason=reason)
    )


def offer_waiting(state: StudyState, turn: Turn, reason: str) -> None:
    """Offer every trial that waits for devices: queued ones, other than for another's result, and those that the pool
    has paused."""
    for number in state.numbers(TrialStatus.QUEUED):
        if not state.waits_for_twin(state.trials[number]):
            offer(state, turn, number, reason)
    for number in sorted(state.held):
        if waits_for_pool(state.trials[number]):
            offer(state, turn, number, reason)


def offer_freed(state: StudyState, turn: Turn) -> None:
    """Offer the duplicate whose original has just ended without a result."""
    if state.freed is not None:
        offer(state, turn, state.freed, "the equal trial it waited for has no result")


def withdraw(state: StudyState, turn: Turn, number: int) -> None:
    """Take the offer back, if there is one."""
    if state.offered.pop(number, None) is not None:
        turn.perform(Withdraw(number=number))
