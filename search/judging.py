"""How a trial's end is read: which cause it is in the table of transitions, and with which values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite

from .events import FailureKind, TrialEnded
from .numbers import decode_number
from .spec import Json, StudySpec
from .transitions import Cause
from .trial_record import TrialRecord

MAX_LOSSES = 3
"""So often may a trial's processes die on their own before the trial itself is blamed: three deaths are no accident of
the node, and a configuration that takes its worker down would otherwise come back for ever."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What became of the trial: `values` of the objectives, `outcomes` of the constraints' metrics; `message` says why
    when it failed."""

    cause: Cause
    values: tuple[float, ...] | None = None
    outcomes: tuple[float | None, ...] = ()
    failure: FailureKind | None = None
    message: str = ""


def ending(record: TrialRecord, event: TrialEnded, spec: StudySpec, parent: TrialRecord | None = None) -> Ending:
    """Read the end of one generation; `parent` is the trial whose state it started from.

    A decision outweighs how the processes went: a trial told to stop has stopped, however it left. Only a
    normal return does better, since the trial was done before the decision reached it.
    """
    if event.outcome == "completed":
        if parent is not None and parent.values is not None and not record.steps and event.value is None:
            why = f"nothing was left to train after trial {parent.number}, whose value it keeps"
            return Ending(cause=Cause.COMPLETED, values=parent.values, outcomes=parent.outcomes, message=why)
        return _completed(record, event.value, spec)
    decided = decided_ending(record, spec)
    if decided is not None:
        return decided
    if event.outcome == "paused":
        return Ending(cause=Cause.PAUSED)
    if event.outcome == "stopped":
        return stopped(record, spec, event.value)
    if event.outcome == "cancelled":
        return Ending(cause=Cause.CANCELLED)
    failure = event.failure or FailureKind.BUG
    if failure is FailureKind.PREEMPTED or (failure is FailureKind.LOST and record.losses <= MAX_LOSSES):
        return lost(record, spec)
    if failure is FailureKind.OOM and event.shards is not None:
        why = f"again from its start with {2 * event.shards} shards a batch, which changes its result: {event.reason}"
        return Ending(cause=Cause.SPLIT, message=why)
    return Ending(cause=Cause.FAILED, failure=failure, message=event.reason)


def decided_ending(record: TrialRecord, spec: StudySpec) -> Ending | None:
    """The ending that a standing decision asks for, if it asks for one."""
    if record.decision == "finish":
        return _completed(record, None, spec)
    if record.decision == "stop":
        return stopped(record, spec, None)
    if record.decision == "cancel":
        return Ending(cause=Cause.CANCELLED)
    return None


def lost(record: TrialRecord, spec: StudySpec) -> Ending:
    """Its processes went without a word. What was decided before stands, a pause too: it has reported what it was
    paused for, and would otherwise go on past its rung unasked."""
    if record.decision == "pause" and record.can_pause:
        return Ending(cause=Cause.PAUSED)
    return decided_ending(record, spec) or Ending(cause=Cause.LOST)


def stopped(record: TrialRecord, spec: StudySpec, returned: Json) -> Ending:
    """Stopped with what it has reported so far, which may be nothing."""
    values, _ = _values(record, returned, spec)
    return Ending(cause=Cause.STOPPED, values=values, outcomes=_outcomes(record, returned, spec))


def _completed(record: TrialRecord, returned: Json, spec: StudySpec) -> Ending:
    values, missing = _values(record, returned, spec)
    if values is None:
        return Ending(cause=Cause.FAILED, failure=FailureKind.BUG, message=missing)
    for objective, value in zip(spec.objectives, values, strict=True):
        if not isfinite(value):
            message = f"{objective.metric} ended as {value}"
            return Ending(cause=Cause.FAILED, failure=FailureKind.DIVERGED, message=message)
    outcomes = _outcomes(record, returned, spec)
    for constraint, outcome in zip(spec.constraints, outcomes, strict=True):
        if outcome is None:
            message = f"never reported {constraint.metric}, which the study is subject to ({constraint})"
            return Ending(cause=Cause.FAILED, failure=FailureKind.BUG, message=message)
    return Ending(cause=Cause.COMPLETED, values=values, outcomes=outcomes)


def _values(record: TrialRecord, returned: Json, spec: StudySpec) -> tuple[tuple[float, ...] | None, str]:
    """One number an objective, from what was returned or else from the reports; without, what is missing."""
    metrics = [objective.metric for objective in spec.objectives]
    if returned is not None:
        return _returned_values(returned, metrics)
    row = record.judged_row()
    found = [None if row is None else _cell(record, metric, row) for metric in metrics]
    missing = [metric for metric, value in zip(metrics, found, strict=True) if value is None]
    if missing:
        return None, _what_lacks(record, missing, row)
    return tuple(value for value in found if value is not None), ""


def _what_lacks(record: TrialRecord, missing: list[str], row: int | None) -> str:
    never = [metric for metric in missing if metric not in record.columns]
    if row is None or never:
        reported = ", ".join(record.columns) or "nothing"
        return f"never reported {', '.join(never or missing)} and returned no number (it reported {reported})"
    lacks = ", ".join(missing)
    return f"the report of step {record.steps[row]}, which counts, lacks {lacks}: report all objectives at once"


def _outcomes(record: TrialRecord, returned: Json, spec: StudySpec) -> tuple[float | None, ...]:
    """What every constraint looks at: from a returned mapping, else as last reported."""
    return tuple(_outcome(record, returned, constraint.metric) for constraint in spec.constraints)


def _outcome(record: TrialRecord, returned: Json, metric: str) -> float | None:
    if isinstance(returned, Mapping) and metric in returned:
        return decode_number(returned[metric])
    for place, objective in enumerate(record.objectives):
        if objective.metric == metric and returned is not None:
            values, _ = _returned_values(returned, [o.metric for o in record.objectives])
            return None if values is None else values[place]
    return next((cell for cell in reversed(record.columns.get(metric, ())) if cell is not None), None)


def _returned_values(returned: Json, metrics: list[str]) -> tuple[tuple[float, ...] | None, str]:
    parts: list[Json] = [returned]
    if isinstance(returned, Mapping):
        parts = [returned.get(metric) for metric in metrics]
    elif isinstance(returned, list | tuple):
        parts = list(returned)
    numbers = [value for part in parts if (value := decode_number(part)) is not None]
    if len(numbers) == len(parts) == len(metrics):
        return tuple(numbers), ""
    wanted = "a number" if len(metrics) == 1 else f"{len(metrics)} numbers ({', '.join(metrics)})"
    return None, f"returned {_shown(returned)} of type {type(returned).__name__}, wanted {wanted}"


def _cell(record: TrialRecord, metric: str, row: int) -> float | None:
    column = record.columns.get(metric)
    return column[row] if column else None


def _shown(value: Json) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
