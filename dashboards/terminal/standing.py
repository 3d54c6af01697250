"""What the screen shows of a study, as plain values: who leads, how far it is, who ended last."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from ...search.spec import Objective
from ...search.study_data import StudyData
from ...search.transitions import TrialStatus
from ...search.trial_record import TrialRecord


def of_status(state: StudyData, *statuses: TrialStatus) -> list[TrialRecord]:
    """The trials in these states, state by state, by number."""
    return [state.trials[number] for status in statuses for number in state.numbers(status)]


def settled(state: StudyData) -> int:
    """How many trials have ended or wait paused."""
    return sum(n for status, n in state.counts().items() if status.is_terminal or status == TrialStatus.PAUSED)


def leader(state: StudyData) -> TrialRecord | None:
    """The trial with the best reported value so far, whatever its state; None before the first number. One that has
    ended outside of the outcome constraints does not lead.

    The official best (`state.best`) counts completed trials only; with early stopping the first one completes late,
    and a person wants to see before then where things stand.
    """
    objective = state.spec.objective
    able = (t for t in state.trials.values() if t.values is None or not state.excess(t))
    valued = [(value, t) for t in able if (value := best_value(t)) is not None]
    return min(valued, key=lambda pair: (objective.loss(pair[0]), pair[1].number), default=(None, None))[1]


def best_so_far(trials: Iterable[TrialRecord], objective: Objective) -> Iterator[float]:
    """The best reported value up to each trial, in order of trial numbers; trials without a number are passed over."""
    best: float | None = None
    for trial in sorted(trials, key=lambda t: t.number):
        value = best_value(trial)
        if value is None:
            continue
        if best is None or objective.better(value, best):
            best = value
        yield best


def last_ended(state: StudyData, n: int) -> list[TrialRecord]:
    """The `n` trials that ended last, the newest first."""
    return [state.trials[number] for number in reversed(state.ended[-n:])]


def best_value(trial: TrialRecord) -> float | None:
    """The best finite value it reported, or else returned; None without one."""
    value = trial.value if trial.best_value is None else trial.best_value
    return value if value is not None and math.isfinite(value) else None
