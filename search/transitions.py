"""The life of a trial as one table.

>>> follow(TrialStatus.QUEUED, Cause.ASSIGNED).value
'running'
>>> print(diagram().splitlines()[0])
queued    --assigned-->   running
"""

from __future__ import annotations

from enum import StrEnum

from ..errors import JournalError


class TrialStatus(StrEnum):
    """Where a trial is in its life."""

    QUEUED = "queued"
    RUNNING = "running"
    PAUSED = "paused"
    COMPLETED = "completed"
    STOPPED = "stopped"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INFEASIBLE = "infeasible"

    @property
    def is_terminal(self) -> bool:
        return self in TERMINAL


class Cause(StrEnum):
    """What moves a trial on."""

    ASSIGNED = "assigned"
    COMPLETED = "completed"
    STOPPED = "stopped"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INFEASIBLE = "infeasible"
    PAUSED = "paused"
    LOST = "lost"
    SPLIT = "split"
    PROMOTED = "promoted"
    REOPENED = "reopened"
    REQUEUED = "requeued"


_Q, _R, _P = TrialStatus.QUEUED, TrialStatus.RUNNING, TrialStatus.PAUSED

TERMINAL = frozenset(
    {
        TrialStatus.COMPLETED,
        TrialStatus.STOPPED,
        TrialStatus.FAILED,
        TrialStatus.CANCELLED,
        TrialStatus.INFEASIBLE,
    }
)

TABLE: dict[tuple[TrialStatus, Cause], TrialStatus] = {
    (_Q, Cause.ASSIGNED): _R,
    (_Q, Cause.INFEASIBLE): TrialStatus.INFEASIBLE,
    # A queued trial ends unrun: its result is known from a duplicate, or somebody ends it.
    (_Q, Cause.COMPLETED): TrialStatus.COMPLETED,
    (_Q, Cause.STOPPED): TrialStatus.STOPPED,
    (_Q, Cause.CANCELLED): TrialStatus.CANCELLED,
    (_R, Cause.COMPLETED): TrialStatus.COMPLETED,
    (_R, Cause.STOPPED): TrialStatus.STOPPED,
    (_R, Cause.FAILED): TrialStatus.FAILED,
    (_R, Cause.CANCELLED): TrialStatus.CANCELLED,
    (_R, Cause.PAUSED): _P,
    (_R, Cause.LOST): _Q,
    (_R, Cause.SPLIT): _Q,  # it ran out of memory, and begins again in smaller pieces
    (_P, Cause.PROMOTED): _Q,
    (_P, Cause.STOPPED): TrialStatus.STOPPED,
    (_P, Cause.CANCELLED): TrialStatus.CANCELLED,
    # The study goes on after its end: what only that end had stopped waits again, at its rung or in the line.
    (TrialStatus.STOPPED, Cause.REOPENED): _P,
    (TrialStatus.STOPPED, Cause.REQUEUED): _Q,
    (TrialStatus.CANCELLED, Cause.REQUEUED): _Q,
}


def follow(status: TrialStatus, cause: Cause, story: str = "the trial") -> TrialStatus:
    """The status after `cause`.

    Raises:
        JournalError: the table has no such step; the message starts with the trial's `story`.
    """
    after = TABLE.get((status, cause))
    if after is None:
        raise JournalError(
            f"{story} is {status} and cannot be {cause}.",
            "The journal was written by something else or shoal has a bug: keep the file and report it.",
        )
    return after


def diagram() -> str:
    """The table as text, one step a line."""
    return "\n".join(f"{before:<9} --{cause + '-->':<13} {after}" for (before, cause), after in TABLE.items())
