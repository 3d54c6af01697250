"""Who found no place for what it is owed, and making room for the one that has waited longest.

A share is a number of devices, a place is devices side by side: a trial that may double waits for neighbours, a gang
for a node. Whoever has been short for a minute is served: others give way (see `giving_way`) on a node that is kept for
it meanwhile. One study is served at a time, so that devices are not passed round in circles.

The design's "blocked with enough free GPUs" (shrink a grown trial on the best node, else migrate), with these
deviations: it also serves growth, and who is within its share moves only if it finds another place at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction

from .dispatch import Dispatcher, model_of
from .elastic_state import ElasticTuning, StudyEntry, TrialState
from .giving_way import cheapest_plan
from .placement import Cluster
from .port import Action

MOST_DOUBLINGS = 6
"""A study that asked in vain waits twice as long before it asks again, up to so many times."""


class Shortages:
    """Keeps an eye on studies that are short of a place."""

    def __init__(
        self, cluster: Cluster, dispatch: Dispatcher, studies: dict[str, StudyEntry], tuning: ElasticTuning
    ) -> None:
        self._cluster = cluster
        self._dispatch = dispatch
        self._studies = studies
        self._tuning = tuning
        self._until = float("-inf")
        self._given: list[TrialState] = []
        self._planned = False
        self.served: StudyEntry | None = None
        self.kept: tuple[str, ...] = ()

    def kept_from(self, study: StudyEntry) -> Collection[str]:
        """Nodes that are kept for another study."""
        return () if study is self.served else self.kept

    def note(
        self,
        study: StudyEntry,
        candidates: Sequence[TrialState],
        waiting: Sequence[TrialState],
        growing: Sequence[TrialState],
        at: float,
    ) -> None:
        """Note what the study is owed and found no place for in its turn.

        Only that is asked back from others: borrowers would take turns for ever. A start that lacks devices asks at
        once; if it gets some and still finds no place, it lacks neighbours, processors or memory, and asking for more
        would not help it. That one, and growth, have room made when their time comes.

        Args:
            study: whose turn it was.
            candidates: its trials that could run.
            waiting: those that it wanted to start.
            growing: those that it wanted to double at least.
            at: now, in seconds.
        """
        owed = study.share - study.holding
        asked = study.blocked
        starts = [t for t in waiting if not t.holds and t.offer.request.k_min * t.unit <= owed]
        growths = [t for t in growing if t.status == "running" and t.k * t.unit <= owed]
        line = starts or ([t for t in candidates if not t.holds] if study.share and not study.holding else [])
        short = [(t, t.offer.request.k_min) for t in line] + [(t, 2 * t.k) for t in growths]
        study.short = short[0] if short else None
        needed = sum((t.offer.request.k_min * t.unit for t in starts), Fraction(0))
        free = self._cluster.free_outside(self.kept_from(study))
        if any(t.holds for t in waiting):
            study.patient_until, study.asked_in_vain = at, 0
        elif asked and any(t.offer.request.k_min * t.unit <= free for t in starts):
            study.patient_until = at + self._tuning.starved_s * 2.0**study.asked_in_vain
            study.asked_in_vain = min(study.asked_in_vain + 1, MOST_DOUBLINGS)
        study.blocked = needed > free and at >= study.patient_until
        study.claim = min(study.share, study.holding + (needed if study.blocked else 0))

    def is_over(self, study: StudyEntry) -> bool:
        """Whether there is a place by now for the trial that found none."""
        if study.short is None:
            return False
        trial, workers = study.short
        avoid = self.kept_from(study)
        if trial.slots:
            return self._dispatch.may_grow(trial, avoid)
        return self._cluster.fits(trial.offer.request, workers, trial.device_model, avoid)

    def find(self, at: float) -> None:
        """Choose the study that has been short for longest, of two the one that came first. It is served until it has
        its place; after as long as it had to wait, room is looked for anew, or another one is served."""
        for study in self._studies.values():
            if not self._is_short(study):
                study.short_since = None
            elif study.short_since is None:
                study.short_since = at
        served = self.served
        if served is not None and (served.short_since is None or self._studies.get(served.name) is not served):
            self._serve(None, at)
        elif served is not None and ((at >= self._until and not self._is_on_the_way()) or self._has_lost_its_node()):
            served.short_since = at
            self._serve(self._longest(at) or (served if self.kept else None), at)
        if self.served is None:
            self._serve(self._longest(at), at)

    def make_room(self, at: float) -> Iterator[Action]:
        """The actions that make the place which the served study still lacks, once."""
        study = self.served
        if study is None or study.short is None or self._planned:
            return
        self._planned = True
        trial, workers = study.short
        node, plan = cheapest_plan(self._cluster, self._studies, study, trial, workers)
        self.kept = (node,) if node else () if trial.holds else self._roomiest(trial)
        if not self.kept:  # nobody can make room for it now: the next one's turn
            self._until = at
        self._given = [victim for _, victim, _ in plan.values()]
        for other, victim, left in plan.values():
            reason = f"makes room on {node}: {study.name} is owed {study.share} and holds {study.holding}"
            if left:
                victim.changed_at, victim.grown = at, False
                yield self._dispatch.shrink(other, victim, left, f"from {victim.k} to {left} workers: {reason}")
            else:
                yield self._dispatch.pause(victim, reason, involuntary=True)

    def _longest(self, at: float) -> StudyEntry | None:
        """Who has been short for longest, and long enough."""
        due = at - self._tuning.starved_s
        waiting = [s for s in self._studies.values() if s.short_since is not None and s.short_since <= due]
        return min(waiting, key=lambda study: study.short_since or 0.0, default=None)

    def _serve(self, study: StudyEntry | None, at: float) -> None:
        if study is not self.served:
            self.kept, self._given = (), []
        self.served, self._planned, self._until = study, False, at + self._tuning.starved_s

    def _is_on_the_way(self) -> bool:
        """Whether somebody who was to give way has not done so yet."""
        return any(victim.returning for victim in self._given)

    def _has_lost_its_node(self) -> bool:
        return any(name not in self._cluster.nodes or name in self._cluster.cordoned for name in self.kept)

    def _roomiest(self, trial: TrialState) -> tuple[str, ...]:
        """The node that could come to hold the smallest size of the trial soonest; nodes of one model if none is so
        large; none if that is not enough either."""
        request, bound_to = trial.offer.request, model_of(self._cluster, trial)
        nodes = [node for node in self._cluster.nodes.values() if self._cluster.may_serve(node, request, bound_to)]
        nodes.sort(key=lambda node: node.room(request) or 0, reverse=True)
        for node in nodes:
            if (node.room(request, empty=True) or 0) >= request.k_min:
                return (node.name,)
        by_model: dict[str, Counter[str]] = {}
        for node in nodes:
            chosen = by_model.setdefault(node.device_model, Counter())
            chosen[node.name] = node.room(request, empty=True) or 0
            if chosen.total() >= request.k_min:
                return tuple(chosen)
        return ()

    def _is_short(self, study: StudyEntry) -> bool:
        """Whether it is owed the place that it did not find. A trial that is larger than its study's whole share is
        owed one in turns with others of its class, not before those of a higher one."""
        if study.short is None or study.holding >= study.share:
            return False
        trial, workers = study.short
        larger = study.holding + (workers - trial.k) * trial.unit > study.share
        if larger and any(other.priority > study.priority and other.demand for other in self._studies.values()):
            return False
        return workers <= self._cluster.most_workers(trial.offer.request)
