"""A policy under observation: what must hold over time, checked while a simulation runs.

Used by property tests and by `python -m benchmarks.soak`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..elastic_policy import ElasticPolicy
from ..port import Action, PoolEvent, Promote, Resize, Start, StudyShare, TrialOffered, TrialReleased, WorkersLost

TrialKey = tuple[str, int]

SERVED_WITHIN_S = 60.0
"""A study with demand holds a device after this long if there are no more studies than devices."""

TOLERANCE_S = 1e-6


@dataclass(slots=True)
class Seen:
    """One trial as its actions tell."""

    workers: int = 0
    resized_at: float = float("-inf")


class Watch:
    """Passes events on to an elastic policy and checks its answers. Give `steps` to a simulation.

    Args:
        policy: whom to watch.
        cooldown_s: the least time between two voluntary resizes of a trial.
        every: of so many decisions one is followed by the checks that look at the whole pool.
        simple: every trial can pause and needs one device at least, so that a starved study can always be served and
            no device need be idle.
    """

    def __init__(self, policy: ElasticPolicy, *, cooldown_s: float, every: int = 1, simple: bool = True) -> None:
        self.policy = policy
        self.decisions = 0
        self.resizes = 0
        self.checks = 0
        self._cooldown_s = cooldown_s
        self._every = every
        self._simple = simple
        self._offers: dict[TrialKey, TrialOffered] = {}
        self._seen: dict[TrialKey, Seen] = {}
        self._idle_since: dict[str, float] = {}

    def steps(self, events: Sequence[PoolEvent]) -> list[Action]:
        """One decision.

        Raises:
            AssertionError: it breaks an invariant.
        """
        for event in events:
            if isinstance(event, TrialOffered):
                self._offers[event.study, event.number] = event
            elif isinstance(event, TrialReleased):
                self._seen.pop((event.study, event.number), None)
            elif isinstance(event, WorkersLost):
                self._seen[event.study, event.number] = Seen(workers=len(event.workers))
        actions = self.policy.steps(events)
        at = events[-1].at
        for action in actions:
            self._check_action(action, at)
        self.decisions += 1
        if self.decisions % self._every == 0:
            self.checks += 1
            self._check_pool(at)
        return actions

    def _check_action(self, action: Action, at: float) -> None:
        """Invariants 4 and 9: legal sizes, whole gangs, and no growth within a cooldown of the last resize. Giving way
        to somebody with a better claim is not voluntary."""
        assert action.reason, action
        key = (action.study, action.number)
        seen = self._seen.setdefault(key, Seen())
        if isinstance(action, Start | Resize):
            request, workers = self._offers[key].request, len(action.workers)
            assert request.k_min <= workers <= request.k_max, action
            assert workers.bit_count() == 1, action
            assert workers != seen.workers or isinstance(action, Start), action
            if isinstance(action, Resize):
                self.resizes += 1
                gives_way = workers < seen.workers
                assert gives_way or at - seen.resized_at >= self._cooldown_s - TOLERANCE_S, (action, at, seen)
                seen.resized_at = at
            seen.workers = workers
        assert not isinstance(action, Promote) or seen.workers, action

    def _check_pool(self, at: float) -> None:
        """Invariants 1, 3 and 6."""
        self.policy.validate_state()
        if not self._simple:
            return
        waiting = self.policy.unserved(at)
        assert not waiting, f"at {at} devices are free while {waiting} wait"
        self._check_served(self.policy.shares(at), at)

    def _check_served(self, shares: Sequence[StudyShare], at: float) -> None:
        """Invariant 6: everybody who wants devices has one soon."""
        wanting = [row for row in shares if row.wanted]
        enough = len(wanting) <= self.policy.capacity
        idle = {row.study for row in wanting if not row.held and enough}
        self._idle_since = {study: self._idle_since.get(study, at) for study in idle}
        for study, since in self._idle_since.items():
            assert at - since <= SERVED_WITHIN_S, f"study {study} has held nothing since {since}"
