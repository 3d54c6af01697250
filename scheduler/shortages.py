"""Who found no place for what it is owed, and making room for the one that has waited longest.

A share is a number of devices, a place is devices side by side: a trial that may double waits for neighbours, a gang
for a node. Whoever has been short for a minute gets a node kept for it, and others there give way: grown trials shrink
first, others are paused second. They are trials of studies beyond their share, or such that find as many free devices
elsewhere, which is a migration. One study is served at a time, so that devices are not passed round in circles.

The design's "blocked with enough free GPUs" (shrink a grown trial on the best node, else migrate), with these
deviations: it also serves growth, and it never breaks up what a study has within its share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction
from itertools import islice

from .dispatch import Dispatcher
from .elastic_state import ElasticTuning, StudyEntry, TrialState
from .node_space import NodeSpace
from .placement import Cluster
from .port import Action

LOOKED_AT = 9
"""The nodes on which room may be made: the trial's own, and those that have most of it already."""

Plan = list[tuple[StudyEntry, TrialState, int]]
"""Whose trial gives way, and the workers that it is left with; 0: it pauses."""


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
        self._made = False
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
        once; one that found no place beside free ones lacks neighbours, processors or memory, and asking for single
        devices would not help it. That one, and growth, have room made when their time comes.

        Args:
            study: whose turn it was.
            candidates: its trials that could run.
            waiting: those that it wanted to start.
            growing: those that it wanted to double at least.
            at: now, in seconds.
        """
        owed = study.share - study.holding
        starts = [t for t in waiting if not t.holds and t.offer.request.k_min * t.unit <= owed]
        growths = [t for t in growing if t.status == "running" and t.k * t.unit <= owed]
        line = starts or ([t for t in candidates if not t.holds] if study.share and not study.holding else [])
        short = [(t, t.offer.request.k_min) for t in line] + [(t, 2 * t.k) for t in growths]
        study.short = short[0] if short else None
        needed = sum((t.offer.request.k_min * t.unit for t in starts), Fraction(0))
        free = self._cluster.free_outside(self.kept_from(study))
        if any(t.offer.request.k_min * t.unit <= free for t in starts):
            study.patient_until = at + self._tuning.starved_s
        study.blocked = needed > free and at >= study.patient_until
        study.claim = int(min(study.share, study.holding + (needed if study.blocked else 0)))

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
        """Choose the study that has been short for longest. It is served until it has its place; where others were to
        give way, no longer than it had to wait."""
        for study in self._studies.values():
            if not self._is_short(study):
                study.short_since = None
            elif study.short_since is None:
                study.short_since = at
        served = self.served
        if served is not None and served.short_since is not None and at >= self._until:
            served.short_since = at
        if served is not None and (served.short_since in (None, at) or served.name not in self._studies):
            self.served, self.kept = None, ()
        if self.served is None:
            waited = at - self._tuning.starved_s
            for study in self._studies.values():
                if study.short_since is not None and study.short_since <= waited:
                    waited, self.served = study.short_since, study
            self._until, self._made = float("inf"), False

    def make_room(self, at: float) -> Iterator[Action]:
        """The actions that make the place which the served study still lacks, once."""
        study = self.served
        if study is None or study.short is None or self._made:
            return
        self._made = True
        trial, workers = study.short
        node, plan = self._cheapest(study, trial, workers)
        if node is None:
            self._until = at if trial.holds else self._until
            self.kept = () if trial.holds else self._roomiest(trial)
            return
        self._until = at + self._tuning.starved_s
        self.kept = (node.name,)
        for other, victim, left in plan:
            reason = f"makes room on {node.name}: {study.name} is owed {study.share} and holds {study.holding}"
            if left:
                victim.changed_at, victim.grown = at, False
                yield self._dispatch.shrink(other, victim, left, f"from {victim.k} to {left} workers: {reason}")
            else:
                yield self._dispatch.pause(victim, reason, involuntary=True)

    def _cheapest(self, study: StudyEntry, trial: TrialState, workers: int) -> tuple[NodeSpace | None, Plan]:
        """The node on which the fewest have to give way."""
        best: tuple[NodeSpace | None, Plan] = (None, [])
        largest = self._cluster.largest_room(trial.offer.request)
        if trial.unit != int(trial.unit) or workers > largest:
            return best  # shares of a GPU, and what is larger than a node, find room wherever a device is free
        own = {slot.node for slot in trial.slots}
        near = [self._cluster.nodes[name] for name in own if len(own) == 1]
        usable = (node for node in (*near, *self._cluster.emptiest()) if self._serves(node, trial))
        nodes = {node.name: node for node in islice(usable, LOOKED_AT)}
        there = self._there(study, nodes)
        for node in nodes.values():
            needed = (workers - trial.k if node.name in own else workers) * trial.unit
            plan = self._plan(node, needed, there[node.name])
            if plan and (best[0] is None or len(plan) < len(best[1])):
                best = (node, plan)
        return best

    def _serves(self, node: NodeSpace, trial: TrialState) -> bool:
        model = trial.device_model or (self._cluster.model_of(trial.slots[0].node) if trial.slots else "")
        return node.name not in self._cluster.cordoned and model in ("", node.device_model)

    def _plan(self, node: NodeSpace, needed: Fraction | int, there: list[tuple[StudyEntry, TrialState]]) -> Plan:
        """Who gives way until `needed` devices of the node are free; empty if that cannot be."""
        missing: Fraction | int = needed - self._cluster.free_on(node)
        elsewhere: Fraction | int = self._cluster.free - self._cluster.free_on(node)
        beyond = {other.name: other.holding - other.share for other, _ in there}
        there.sort(key=lambda pair: (-beyond[pair[0].name], -pair[1].k, pair[1].arrival))
        may_shrink = [(other, t, t.k // 2) for other, t in there if not t.rigid and t.k // 2 >= t.offer.request.k_min]
        plan: Plan = []
        for other, victim, left in (*may_shrink, *((other, t, 0) for other, t in there)):
            if missing > 0 and not any(v is victim for _, v, _ in plan):
                given = (victim.k - left) * victim.unit
                if given <= beyond[other.name]:
                    beyond[other.name] -= given
                elif given <= elsewhere:
                    elsewhere -= given
                else:
                    continue
                missing -= given
                plan.append((other, victim, left))
        return plan if missing <= 0 else []

    def _there(
        self, study: StudyEntry, nodes: Collection[str]
    ) -> dict[str, list[tuple[StudyEntry, TrialState]]]:
        """Trials of other studies that run on one of the nodes alone and can give way, by node."""
        found: dict[str, list[tuple[StudyEntry, TrialState]]] = {name: [] for name in nodes}
        for other in self._studies.values():
            for trial in other.trials.values() if other is not study else ():
                if trial.status != "running" or trial.slots[0].node not in found:
                    continue
                if trial.offer.can_pause and not trial.at_rung and len({slot.node for slot in trial.slots}) == 1:
                    found[trial.slots[0].node].append((other, trial))
        return found

    def _roomiest(self, trial: TrialState) -> tuple[str, ...]:
        """The nodes that could come to hold the smallest size of the trial soonest."""
        request = trial.offer.request
        chosen = Counter[str]()
        usable = (node for node in self._cluster.nodes.values() if node.name not in self._cluster.cordoned)
        for node in sorted(usable, key=lambda n: n.room(request) or 0, reverse=True):
            if chosen.total() >= request.k_min:
                break
            chosen[node.name] = node.room(request, empty=True) or 0
        return tuple(chosen)

    def _is_short(self, study: StudyEntry) -> bool:
        if study.short is None or study.holding >= study.share:
            return False
        trial, workers = study.short
        return workers <= self._cluster.most_workers(trial.offer.request)
