"""Trials as strategies see them: `Result` for what has ended, `Pending` for the rest."""

from __future__ import annotations

from typing import Literal

from ..spaces import Configuration
from .strategies.port import Pending, Result
from .transitions import TrialStatus
from .trial_record import TrialRecord

_KEEPS_VALUES = (TrialStatus.COMPLETED, TrialStatus.STOPPED)
_STATES: dict[TrialStatus, Literal["completed", "stopped", "failed", "cancelled", "infeasible"]] = {
    TrialStatus.COMPLETED: "completed",
    TrialStatus.STOPPED: "stopped",
    TrialStatus.FAILED: "failed",
    TrialStatus.CANCELLED: "cancelled",
    TrialStatus.INFEASIBLE: "infeasible",
}


def result_of(record: TrialRecord, config: Configuration | None, original: TrialRecord | None = None) -> Result:
    """What became of an ended trial. A duplicate that never ran shows the curve of its `original`."""
    shown = record if record.steps or original is None else original
    return Result(
        number=record.number,
        config=config,
        state=_STATES[record.status],
        values=record.values if record.status in _KEEPS_VALUES else None,
        outcomes=record.outcomes if record.status in _KEEPS_VALUES else (),
        curve=_curve(shown),
        cost_s=record.run_s,
        failure=None if record.failure is None else record.failure.value,
        returned=record.returned,
        attrs=record.attrs,
        flat=dict(record.flat),
        domains=dict(record.domains),
    )


def pending_of(record: TrialRecord, config: Configuration | None) -> Pending:
    """A proposed trial without a result."""
    return Pending(
        number=record.number,
        config=config,
        curve=_curve(record),
        attrs=record.attrs,
        flat=dict(record.flat),
        domains=dict(record.domains),
    )


def _curve(record: TrialRecord) -> tuple[tuple[int, float], ...]:
    return tuple((step, value) for step, value in record.curve if value is not None)
