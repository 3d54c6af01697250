"""Level 1: how many devices each study may use now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .demand import demand as demand_of
from .dispatch import Dispatcher
from .elastic_state import ElasticTuning, StudyEntry
from .entitlement import Wants, entitled
from .placement import Cluster
from .shortages import Shortages
from .within_study import Candidate, Devices, candidates


class ShareOut:
    """Deals the pool's devices to the studies and says whose turn it is to use them."""

    def __init__(
        self,
        cluster: Cluster,
        dispatch: Dispatcher,
        studies: dict[str, StudyEntry],
        shortages: Shortages,
        tuning: ElasticTuning,
    ) -> None:
        self._dispatch = dispatch
        self._cluster = cluster
        self._studies = studies
        self._shortages = shortages
        self._tuning = tuning

    @property
    def capacity(self) -> int:
        return self._cluster.capacity

    def deal(self, dirty: Iterable[str], at: float) -> Iterator[tuple[StudyEntry, Devices, list[Candidate]]]:
        """(study, budget, candidates) for everyone who has to decide again, the least served first.

        Later turns see what the earlier ones have taken.
        """
        turns = {name: self._studies[name] for name in dirty if name in self._studies}
        before = [(study.efficient, study.demand) for study in turns.values()]
        found = {name: self._look(study, at) for name, study in turns.items()}
        if len(turns) == len(self._studies) or _moves_shares(turns.values(), before):
            self._entitle()
            free = self._cluster.free > 0
            for study in self._studies.values():
                if _drifted(study, self._tuning.drift) or (free and study.share > study.solved_share):
                    turns[study.name] = study
        kept = self._shortages.kept
        self._shortages.find(at)
        if self._shortages.kept != kept:
            turns |= {study.name: study for study in self._studies.values() if study.blocked}
        served = self._shortages.served
        if served is not None:
            turns[served.name] = served
        for study in turns.values():
            usable = study.holding or study.smallest <= study.share
            study.claim = min(study.share, study.demand) if usable else 0
        order = sorted(turns.values(), key=lambda study: (study is not served, *_least_served(study)))
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
            yield from self._ask_back(at)
        else:
            yield from self.leftovers(at)

    def _ask_back(self, at: float) -> Iterator[tuple[StudyEntry, Devices, list[Candidate]]]:
        """What blocked studies are owed comes from those who hold more than their share, the lowest class first, then
        whoever has borrowed most; no more than is lacking, free devices and those on their way back counted."""
        owed = sum(study.claim - study.holding for study in self._studies.values() if study.blocked)
        beyond = [study for study in self._studies.values() if study.holding > study.share]
        for study in sorted(beyond, key=lambda s: (s.priority, s.share - s.holding, s.order)):
            lacking = owed - self._cluster.free - self._dispatch.returning
            if lacking <= 0:
                return
            yield study, max(study.share, study.keeps() - lacking), self._look(study, at)

    def leftovers(self, at: float) -> Iterator[tuple[StudyEntry, Devices, list[Candidate]]]:
        """What those whose turn it was have left over goes to whoever has a trial that waits or is short of a place,
        least served first."""
        claimed = sum(max(s.holding, s.claim) for s in self._studies.values())
        if claimed >= self.capacity:
            return
        kept = self._cluster.free - self._cluster.free_outside(self._shortages.kept)
        for study in sorted(self._studies.values(), key=_least_served):
            spare = self.capacity - claimed
            free = spare if study is self._shortages.served else spare - kept
            waits = 0 < study.smallest <= free
            if study.blocked or not (waits or self._shortages.is_over(study)):
                continue
            claimed -= max(study.holding, study.claim)
            yield study, self._budget(study, self.capacity - claimed, others_blocked=False), self._look(study, at)
            claimed += max(study.holding, study.claim)

    def _budget(self, study: StudyEntry, spare: Devices, *, others_blocked: bool) -> Devices:
        """The study's share, and what no other study holds or has a claim to. What it has borrowed it gives back when
        others are blocked, not sooner: they may have no use for it."""
        keeps = study.keeps() if study.holding > study.share else study.holding
        coming = self._dispatch.returning - (study.holding - keeps)
        spare = min(spare + coming, keeps) if others_blocked else max(spare, keeps)
        if self._shortages.served is study:
            spare = max(spare, study.smallest)
        return max(study.share, spare)

    def _look(self, study: StudyEntry, at: float) -> list[Candidate]:
        """The study's candidates; notes what it could use."""
        capacity = self.capacity
        alone = len(self._studies) == 1
        budget = capacity if alone else study.share
        found = candidates(study, at=at, capacity=capacity, budget=budget, tuning=self._tuning)
        waiting = (c.trial for c in found if not c.trial.holds and (c.sure or not study.short))
        study.smallest = min((t.offer.request.k_min * t.unit for t in waiting), default=0)
        if alone:
            study.demand = study.efficient = capacity
        else:
            study.demand = demand_of(found, gain=self._tuning.least_gain, capacity=capacity)
            study.efficient = demand_of(found, gain=self._tuning.efficient_gain, capacity=capacity)
        return found

    def _entitle(self) -> None:
        studies = self._studies.values()
        if len(studies) == 1:
            shares = [self.capacity]
        else:
            wants = [Wants(s.priority, s.weight, s.efficient, s.demand) for s in studies]
            shares = entitled(self.capacity, wants, protected=self._tuning.protected)
        for study, share in zip(studies, shares, strict=True):
            study.share = share


def _least_served(study: StudyEntry) -> tuple[bool, float, int]:
    """Those beyond their share last: they give back what the others turned out to need."""
    return bool(study.holding > study.share), float(study.holding) / study.weight, study.order


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
