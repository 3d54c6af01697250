"""Level 1: how many devices each study may use now."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from math import ceil

from .demand import demand as demand_of
from .elastic_state import ElasticTuning, StudyEntry
from .fair_shares import max_min_shares
from .placement import Cluster
from .within_study import Candidate, Devices, candidates


class ShareOut:
    """Deals the pool's devices to the studies and says whose turn it is to use them."""

    def __init__(self, cluster: Cluster, studies: dict[str, StudyEntry], tuning: ElasticTuning) -> None:
        self._cluster = cluster
        self._studies = studies
        self._tuning = tuning
        self._starved: StudyEntry | None = None
        self._kept: tuple[str, ...] = ()

    @property
    def capacity(self) -> int:
        return self._cluster.capacity

    def deal(self, dirty: Iterable[str], at: float) -> Iterator[tuple[StudyEntry, Devices, list[Candidate]]]:
        """(study, budget, candidates) for everyone who has to decide again, those who hold too much first.

        The budgets of later turns see what the earlier ones have given back.
        """
        turns = {name: self._studies[name] for name in dirty if name in self._studies}
        before = [(study.efficient, study.demand) for study in turns.values()]
        found = {name: self._look(study, at) for name, study in turns.items()}
        if len(turns) == len(self._studies) or _moves_shares(turns.values(), before):
            self._entitle()
            for study in self._studies.values():
                if _drifted(study, self._tuning.drift):
                    turns[study.name] = study
        self._find_starved(at)
        for study in turns.values():
            usable = study.holding or study.smallest <= study.share
            study.claim = min(study.share, study.demand) if usable else 0
        order = sorted(turns.values(), key=lambda study: (study is not self._starved, *_who_first(study)))
        claimed = sum(max(s.holding, s.claim) for s in self._studies.values())
        blocked = sum(s.blocked for s in self._studies.values())
        for study in order:
            study.solved_share = study.share
            claimed -= max(study.holding, study.claim)
            blocked -= study.blocked
            budget = self._budget(study, self.capacity - claimed, others_blocked=blocked > 0)
            yield study, budget, found.get(study.name) or self._look(study, at)
            claimed += max(study.holding, study.claim)
            blocked += study.blocked
        if blocked:
            for study in self._studies.values():
                if study.name not in turns and study.holding > study.share:
                    yield study, study.share, self._look(study, at)
        elif claimed < self.capacity and self._cluster.free_gpus:
            yield from self._offer_leftovers(claimed, at)

    def _offer_leftovers(self, claimed: Devices, at: float) -> Iterator[tuple[StudyEntry, Devices, list[Candidate]]]:
        """What those whose turn it was have left over goes to whoever has a trial that waits, least served first."""
        for study in sorted(self._studies.values(), key=_who_first):
            spare = self.capacity - claimed
            if not study.smallest or study.smallest > spare or study.blocked:
                continue
            claimed -= max(study.holding, study.claim)
            yield study, self._budget(study, self.capacity - claimed, others_blocked=False), self._look(study, at)
            claimed += max(study.holding, study.claim)

    def _budget(self, study: StudyEntry, spare: Devices, *, others_blocked: bool) -> Devices:
        """The study's share, and what no other study holds or has a claim to."""
        if others_blocked:
            spare = min(spare, max(study.share, study.holding))
        if self._starved is study:
            spare = max(spare, study.smallest)
        return max(study.share, spare)

    @property
    def kept(self) -> Collection[str]:
        """Nodes that are kept for a starved study."""
        return self._kept

    def kept_from(self, study: StudyEntry) -> Collection[str]:
        """Nodes that are kept for a starved study."""
        return () if study is self._starved else self._kept

    def _look(self, study: StudyEntry, at: float) -> list[Candidate]:
        """The study's candidates; notes what it could use."""
        capacity = self.capacity
        alone = len(self._studies) == 1
        budget = capacity if alone else study.share
        found = candidates(study, at=at, capacity=capacity, budget=budget, tuning=self._tuning)
        waiting = (c.trial for c in found if not c.trial.holds)
        study.smallest = min((ceil(t.offer.request.k_min * t.unit) for t in waiting), default=0)
        if alone:
            study.demand = study.efficient = capacity
        else:
            study.demand = demand_of(found, gain=self._tuning.least_gain, capacity=capacity)
            study.efficient = demand_of(found, gain=self._tuning.efficient_gain, capacity=capacity)
        return found

    def _entitle(self) -> None:
        """Shares by priority class; everybody who wants anything gets its smallest trial first."""
        left = self.capacity
        studies = list(self._studies.values())
        if len(studies) == 1:
            studies[0].share = left
            return
        by_class: dict[int, list[StudyEntry]] = {}
        for study in studies:
            by_class.setdefault(study.priority, []).append(study)
        floors: dict[str, int] = {}
        if len(by_class) > 1 or sum(s.demand > 0 for s in studies) <= left:
            for priority in sorted(by_class, reverse=True):
                for study in by_class[priority]:
                    floors[study.name] = min(left, 1, study.demand)
                    left -= floors[study.name]
        for priority in sorted(by_class, reverse=True):
            members = by_class[priority]
            weights = [s.weight for s in members]
            given = [floors.get(s.name, 0) for s in members]
            left += sum(given)
            wanting = sum(s.weight for s in members if s.demand) or 1.0
            protected = [int(self._tuning.protected * left * s.weight / wanting) for s in members]
            wanted = [max(s.efficient, min(s.demand, p)) for s, p in zip(members, protected, strict=True)]
            first = max_min_shares(left, weights, [max(f, w) for f, w in zip(given, wanted, strict=True)], given)
            rest = max_min_shares(
                left - sum(first), weights, [max(0, s.demand - f) for s, f in zip(members, first, strict=True)]
            )
            for study, a, b in zip(members, first, rest, strict=True):
                study.share = a + b
                left -= a + b

    def _find_starved(self, at: float) -> None:
        """Keep the roomiest node for a study that got under half of its share for too long."""
        self._starved, self._kept = None, ()
        longest = at - self._tuning.starved_s
        for study in self._studies.values():
            wants = min(study.share, study.demand)
            if wants and 2 * study.holding < wants:
                study.below_since = at if study.below_since is None else study.below_since
                if study.below_since <= longest:
                    longest = study.below_since
                    self._starved = study
            elif study.below_since is not None:
                study.below_since = None
        if self._starved is not None:
            self._kept = self._roomiest(self._starved)

    def _roomiest(self, study: StudyEntry) -> tuple[str, ...]:
        trial = next((t for t in study.trials.values() if not t.holds), None)
        if trial is None:
            return ()
        request = trial.offer.request
        chosen: list[str] = []
        needed = request.k_min
        usable = (node for node in self._cluster.nodes.values() if node.name not in self._cluster.cordoned)
        for node in sorted(usable, key=lambda n: n.room(request) or 0, reverse=True):
            if needed <= 0:
                break
            chosen.append(node.name)
            needed -= node.room(request, empty=True) or 0
        return tuple(chosen)


def _who_first(study: StudyEntry) -> tuple[bool, float, int]:
    """Those over their share, who may have to give back; then the least served."""
    return bool(study.holding <= study.share), float(study.holding) / study.weight, study.order


def _drifted(study: StudyEntry, drift: float) -> bool:
    moved = abs(study.share - study.solved_share)
    return study.solved_share < 0 or moved > max(0.999, drift * study.solved_share)


def _moves_shares(studies: Iterable[StudyEntry], before: Iterable[tuple[int, int]]) -> bool:
    """Whether new demands can change any share: one that stays above the share that it got does not bind."""
    for study, (efficient, demand) in zip(studies, before, strict=True):
        if study.efficient != efficient and min(study.efficient, efficient) <= study.share:
            return True
        if study.demand != demand and min(study.demand, demand) <= study.share:
            return True
    return False
