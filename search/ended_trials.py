"""What the end of a trial means for the others: who is on the front, and what becomes of its duplicates."""

from __future__ import annotations

import json

from .spec import Json
from .study_data import StudyData
from .transitions import TrialStatus
from .trial_record import TrialRecord

RESULTLESS = (TrialStatus.FAILED, TrialStatus.CANCELLED, TrialStatus.INFEASIBLE)
"""Ends of a trial that leave nothing for its duplicates to share."""


class EndedTrials(StudyData):
    """The part of the fold that follows from ends of trials."""

    def _take_into_front(self, record: TrialRecord) -> None:
        """Take a completed trial into the front, if nothing there is at least as good in every objective."""
        if self.excess(record) > 0:
            return
        losses = {number: self._losses(self.trials[number]) for number in (*self.front, record.number)}
        own = losses[record.number]
        if any(_no_worse(losses[number], own) for number in self.front):
            return
        self.front = [number for number in self.front if not _no_worse(own, losses[number])] + [record.number]
        self.best_number = min(self.front, key=lambda number: (losses[number][0], number))

    def _losses(self, record: TrialRecord) -> tuple[float, ...]:
        assert record.values is not None
        return tuple(o.loss(value) for o, value in zip(self.spec.objectives, record.values, strict=True))

    def _wait_for_twin_again(self, record: TrialRecord) -> None:
        """A duplicate that is queued again waits for its original, unless that one has no result to share."""
        if record.duplicate_of is None or record.status is not TrialStatus.QUEUED:
            return
        if self.trials[record.duplicate_of].status in RESULTLESS:
            record.duplicate_of = None
            self.trial_of_key[config_key(record.config)] = record.number
        else:
            self.twins.setdefault(record.duplicate_of, []).append(record.number)

    def _leave_twin(self, record: TrialRecord) -> None:
        assert record.duplicate_of is not None
        waiting = self.twins.get(record.duplicate_of, [])
        if record.number in waiting:
            waiting.remove(record.number)
            if not waiting:
                del self.twins[record.duplicate_of]

    def _free_twin_of(self, record: TrialRecord) -> None:
        """It has no result to share: the first that waited for it runs by itself, the others wait for that one."""
        waiting = self.twins.pop(record.number, None)
        if not waiting:
            return
        first, *others = waiting
        self.freed = first
        self.trials[first].duplicate_of = None
        self.trial_of_key[config_key(record.config)] = first
        for number in others:
            self.trials[number].duplicate_of = first
        if others:
            self.twins[first] = others


def config_key(config: Json) -> str:
    """Equal for equal configurations: the JSON text with sorted names."""
    return json.dumps(config, sort_keys=True, separators=(",", ":"))


def _no_worse(losses: tuple[float, ...], others: tuple[float, ...]) -> bool:
    """Is the first at least as good in every objective?"""
    return all(own <= other for own, other in zip(losses, others, strict=True))
