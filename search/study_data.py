"""What a study is, as plain data: everything that `shoal show`, dashboards and the head read."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Literal

from .early_stopping.port import StoppingRule
from .spec import Chosen, Json, Objective, StudySpec
from .transitions import TrialStatus
from .trial_record import TrialRecord

StudyStatus = Literal["running", "paused", "stopping", "completed", "stopped", "failed"]
RuleMaker = Callable[[Chosen, Objective], StoppingRule]

OVER: tuple[StudyStatus, ...] = ("completed", "stopped", "failed")


class StudyData:
    """A study's state: read it freely; only the fold (`fold.py`) writes to it.

    `ended` lists the trials in the order in which they ended; `enqueued` the (key, configuration) pairs that people
    asked for and no trial has yet; `front` the completed trials that keep all outcome constraints and to which none of
    them is superior in one objective and equal in the others (with one objective: the best), in order of ending;
    `twins` the trials that wait for the result of an equal one; `rejected` counts the trials that cost no budget:
    duplicates that policy "reject" turned away, and those the study took back before they ever ran; `held` are the
    paused trials that no rule decides about (a person does, or nobody); `active_s` is the time in which a head ran the
    study, seconds; `note` and `tags` are what people wrote on it.
    """

    def __init__(self, spec: StudySpec, make_rule: RuleMaker) -> None:
        self.spec = spec
        self.make_rule = make_rule
        self.rule = make_rule(spec.early_stopping, spec.watched)
        self.status: StudyStatus = "running"
        self.reason = "created"
        self.created_at: float | None = None
        self.ended_at: float | None = None
        self.last_at: float | None = None
        self.active_s = 0.0
        self.last_seq = 0
        self.trials: dict[int, TrialRecord] = {}
        self.by_status: dict[TrialStatus, set[int]] = {status: set() for status in TrialStatus}
        self.held: set[int] = set()
        self.ended: list[int] = []
        self.front: list[int] = []
        self.best_number: int | None = None
        self.epochs_trained = 0
        self.run_s = 0.0
        self.gpu_s = 0.0
        self.phases_s: dict[str, float] = {}
        self.next_ask = 0
        self.exhausted = False
        self.enqueued: list[tuple[str, Json]] = []
        self.enqueued_keys: set[str] = set()
        self.borrowed: list[tuple[str, Json]] = []
        self.trial_of_key: dict[str, int] = {}
        self.twins: dict[int, list[int]] = {}
        self.freed: int | None = None
        self.rejected = 0
        self.known_in_a_row = 0
        self.user_failures = 0
        self.forgiven_failures = 0
        self.stale_events = 0
        self.note = ""
        self.tags: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def is_over(self) -> bool:
        return self.status in OVER

    @property
    def best(self) -> TrialRecord | None:
        """The best completed trial that keeps all outcome constraints; the earliest number among equals.

        With several objectives: the best in the first one.
        """
        return None if self.best_number is None else self.trials[self.best_number]

    def excess(self, record: TrialRecord) -> float:
        """By how much a trial is outside of the outcome constraints, each in units of its bound; 0: it keeps them.

        Infinite where a constraint's metric is missing.
        """
        if len(record.outcomes) < len(self.spec.constraints):
            return inf
        return sum(c.excess(outcome) for c, outcome in zip(self.spec.constraints, record.outcomes, strict=True))

    @property
    def closest(self) -> TrialRecord | None:
        """The completed trial that is least outside of the constraints, where none keeps them; else None."""
        completed = [self.trials[number] for number in self.numbers(TrialStatus.COMPLETED)]
        if self.best_number is not None or not completed:
            return None
        return min(completed, key=lambda record: (self.excess(record), record.number))

    @property
    def lenders(self) -> set[str]:
        """The studies whose results this one began with."""
        return {study for study, _ in self.borrowed}

    def counts(self) -> dict[TrialStatus, int]:
        """How many trials are in each status."""
        return {status: len(numbers) for status, numbers in self.by_status.items()}

    def numbers(self, status: TrialStatus) -> list[int]:
        """The trials in `status`, by number."""
        return sorted(self.by_status[status])

    @property
    def budget_left(self) -> int | None:
        """How many more trials may be proposed; None: no limit. Rejected duplicates cost nothing."""
        limit = self.spec.budget.trials
        return None if limit is None else max(0, limit - len(self.trials) + self.rejected)

    @property
    def startable(self) -> int:
        """How many queued trials wait for room and not for another's result."""
        return len(self.by_status[TrialStatus.QUEUED]) - sum(map(len, self.twins.values()))

    @property
    def has_good_trials(self) -> bool:
        """Is there a trial that did not end badly?"""
        good = (TrialStatus.COMPLETED, TrialStatus.STOPPED, TrialStatus.PAUSED)
        return any(self.by_status[status] for status in good)

    @property
    def exit_code(self) -> int:
        """What a program that ran the study exits with: 0 well, 1 the study failed, 5 every trial failed."""
        if self.status != "failed":
            return 0
        bad = self.by_status[TrialStatus.FAILED] or self.by_status[TrialStatus.INFEASIBLE]
        return 5 if bad and not self.has_good_trials else 1

    def active_until(self, at: float) -> float:
        """Seconds in which a head ran the study, up to `at`; pauses and the time between two heads do not count."""
        if self.last_at is None or self.status not in ("running", "stopping"):
            return self.active_s
        return self.active_s + max(0.0, at - self.last_at)

    def waits_for_twin(self, record: TrialRecord) -> bool:
        """Is this queued trial a duplicate whose original has no result yet? It is not offered then."""
        return record.status is TrialStatus.QUEUED and record.duplicate_of is not None
