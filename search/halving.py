"""Rungs at which the pool decides.

Who goes on from a rung is a question of devices as well: an early promotion is worth its risk where devices idle, and
not where a new trial waits. So a study with successive halving in its promotion form and a known number of trials
leaves it to the policy that shares the devices out, which knows how likely each trial is among the best of its rung.
What remains the rule's: trials that cannot pause, values that are no numbers, full trainings, and every rung about
which the policy says nothing.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from .early_stopping.asha import AshaRule
from .events import TrialReported
from .study_data import StudyData
from .transitions import TrialStatus
from .trial_record import TrialRecord

if TYPE_CHECKING:
    from .study_state import StudyState


def halving(state: StudyData) -> AshaRule | None:
    """The rule whose promotions are left to the pool; None where it decides by itself."""
    rule, spec = state.rule, state.spec
    if not isinstance(rule, AshaRule) or not rule.is_promotion:
        return None
    return rule if spec.budget.trials is not None and spec.entry.kind == "trial" else None


def stands_at_rung(state: StudyState, event: TrialReported) -> bool:
    """Has the report brought a trial that can pause to a rung below a full training?"""
    rule = halving(state)
    if rule is None or not event.can_pause or state.trials[event.number].decision in ("stop", "cancel", "finish"):
        return False
    arrival = rule.arrival(event.number)
    if arrival is None or not isfinite(arrival[1]):
        return False
    return arrival[0] < len(rule.milestones[rule.bracket(event.number)]) - 1


def rung_of(state: StudyData, number: int) -> int:
    """The rung that the trial has reached; 0 where nothing is left to the pool."""
    rule = halving(state)
    reached = rule.reached(number) if rule is not None else []
    return reached[-1][0] + rule.bracket(number) if rule is not None and reached else 0


def waits_for_pool(record: TrialRecord) -> bool:
    """Has the pool paused this trial, so that it says when it goes on?"""
    return record.status is TrialStatus.PAUSED and record.decision == "pause" and record.decided_by == "pool"
