"""Level 2's turn: a study decides about its trials, and the decisions become actions with reasons."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from fractions import Fraction

from . import gpu_budget
from .dispatch import Dispatcher
from .elastic_state import ElasticTuning, StudyEntry, TrialKey, TrialState
from .placement import Cluster
from .port import Action, Stop
from .shortages import Shortages
from .within_study import Candidate, Devices, admission_key, allocate


class StudyTurn:
    """Solves one study within a budget of devices."""

    def __init__(
        self, cluster: Cluster, dispatch: Dispatcher, shortages: Shortages, tuning: ElasticTuning
    ) -> None:
        self._cluster = cluster
        self._dispatch = dispatch
        self._shortages = shortages
        self._tuning = tuning

    def take(self, study: StudyEntry, found: list[Candidate], budget: Devices, at: float) -> list[Action]:
        """What the study does with `budget` devices for the candidates `found` at time `at`."""
        avoid = self._shortages.kept_from(study)
        workers = allocate(found, budget=budget, at=at, cost_s=study.resize_cost_s, tuning=self._tuning)
        vain = self._forgo_growth_without_place(study, found, workers, avoid)
        by_key = {candidate.trial.key: candidate for candidate in found}
        actions: list[Action] = []
        for trial in list(study.trials.values()):
            if trial.status == "running" or trial.at_rung:
                actions += self._give_up(study, trial, by_key.get(trial.key), workers.get(trial.key, 0), at)
        in_line = [c for c in found if c.trial.status == "waiting"]
        in_line.sort(key=lambda c: (-admission_key(c, self._tuning), c.trial.arrival))
        waiting = [c for c in in_line if workers.get(c.trial.key)]
        for candidate in waiting:
            actions += self._start(study, candidate, workers[candidate.trial.key], avoid)
        growing = [c.trial for c in found if c.trial.status == "running" and workers.get(c.trial.key, 0) > c.trial.k]
        for trial in growing:
            actions += self._grow(study, trial, workers[trial.key], at, avoid)
        if vain or any(t.k < workers[t.key] for t in (*growing, *(c.trial for c in waiting))):
            others = [c for c in in_line if c.sure and not workers.get(c.trial.key)]
            actions += self._fill_up(study, others, budget, avoid)
        self._shortages.note(study, [c.trial for c in found], [c.trial for c in waiting], [*growing, *vain], at)
        if not found:
            actions += self._close(study)
        return actions

    def _forgo_growth_without_place(
        self, study: StudyEntry, found: list[Candidate], workers: dict[TrialKey, int], avoid: Collection[str]
    ) -> list[TrialState]:
        """The trials that were to grow and cannot; nobody gives up devices for their sake, and `workers` says so."""
        larger = [c.trial for c in found if c.trial.status == "running" and workers.get(c.trial.key, 0) > c.trial.k]
        if not larger:
            return []
        smaller = [c for c in found if c.trial.status == "running" and workers.get(c.trial.key, 0) < c.trial.k]
        given_up: dict[str, Devices] = {}
        for trial in (c.trial for c in smaller):
            home = trial.slots[0].node
            given_up[home] = given_up.get(home, 0) + (trial.k - workers.get(trial.key, 0)) * trial.unit
        vain = [t for t in larger if not self._dispatch.may_grow(t, avoid, given_up.get(t.slots[0].node, 0))]
        left = sum(((workers[t.key] - t.k) * t.unit for t in vain), Fraction(0))
        for trial in vain:
            workers[trial.key] = trial.k
        for candidate in sorted(smaller, key=lambda c: -admission_key(c, self._tuning)):
            trial = candidate.trial
            back = (trial.k - workers.get(trial.key, 0)) * trial.unit
            if back <= left and not trial.at_rung:
                workers[trial.key] = trial.k
                left -= back
        return vain

    def _give_up(
        self, study: StudyEntry, trial: TrialState, candidate: Candidate | None, workers: int, at: float
    ) -> Iterator[Action]:
        """Pause, promote or shrink a running trial."""
        rungs = study.rungs(trial)
        standing = self._standing(study, trial)
        if workers == 0:
            if trial.at_rung and not trial.offer.can_pause:
                yield self._dispatch.stop(trial, f"{_why_pause(study, trial)}, and it cannot pause; {standing}")
            elif trial.offer.can_pause:
                wanted = not trial.at_rung and study.useful(trial) > 0.0
                yield self._dispatch.pause(trial, f"{_why_pause(study, trial)}; {standing}", involuntary=wanted)
            return
        if trial.at_rung and candidate is not None:
            if rungs is not None:
                rungs.promote(trial.offer.number)
            trial.spare = candidate.spare
            yield self._dispatch.promote(trial, f"goes on from {standing}")
        if workers < trial.k and trial.status == "running":
            trial.changed_at, trial.grown = at, False
            reason = f"from {trial.k} to {workers} workers: others gain more; {standing}"
            yield self._dispatch.shrink(study, trial, workers, reason)

    def _start(self, study: StudyEntry, candidate: Candidate, workers: int, avoid: Collection[str]) -> Iterator[Action]:
        trial = candidate.trial
        start = self._dispatch.start(
            study, trial, workers, f"{workers} of {study.share} devices; {self._standing(study, trial)}", avoid
        )
        if start is None:
            return
        rungs = study.rungs(trial)
        if rungs is not None and rungs.waits_for_promotion(trial.offer.number):
            rungs.promote(trial.offer.number)
        trial.spare = candidate.spare
        yield start

    def _grow(
        self, study: StudyEntry, trial: TrialState, workers: int, at: float, avoid: Collection[str]
    ) -> Iterator[Action]:
        speed = trial.speed
        reason = (
            f"from {trial.k} to {workers} workers: {speed.speedup(workers) / speed.speedup(trial.k):.2f} times as fast"
            f"; {self._standing(study, trial)}"
        )
        before = trial.k
        resize = self._dispatch.grow(study, trial, workers, reason, avoid)
        if resize is None:
            return
        trial.changed_at = at
        trial.grown = speed.is_measured(before)
        yield resize

    def _fill_up(
        self, study: StudyEntry, others: list[Candidate], budget: Devices, avoid: Collection[str]
    ) -> Iterator[Action]:
        """What was meant for somebody who found no place goes to those who are sure; others would have to leave as soon
        as somebody wants to grow."""
        left = budget - study.keeps()
        for candidate in others:
            least = candidate.trial.offer.request.k_min
            if least * candidate.trial.unit <= left:
                before = study.holding
                yield from self._start(study, candidate, least, avoid)
                left -= study.holding - before

    def _close(self, study: StudyEntry) -> Iterator[Action]:
        """Nobody runs and nobody may: those who wait have been displaced for good, or the budget is spent."""
        if study.away or any(trial.holds for trial in study.trials.values()):
            return
        for trial in list(study.trials.values()):
            rungs = study.rungs(trial)
            if not study.spent and (rungs is None or study.useful(trial) > 0.0):
                continue
            reason = gpu_budget.describe(study) if study.spent else self._standing(study, trial)
            if rungs is not None:
                rungs.lose(trial.offer.number)
            del study.trials[trial.offer.number]
            yield Stop(
                study=study.name,
                number=trial.offer.number,
                generation=trial.offer.generation,
                reason=reason,
            )

    def explain_waiting(self, study: StudyEntry) -> Iterator[tuple[TrialState, str]]:
        """Why each waiting trial waits, those who would start first in front."""
        waiting = [t for t in study.trials.values() if t.status == "waiting"]
        waiting.sort(key=lambda t: (-study.rung(t), -study.useful(t), t.arrival))
        for trial in waiting:
            free = self._cluster.free_gpus
            if study.spent:
                yield trial, gpu_budget.describe(study)
                continue
            pool = f"{free} of {self._cluster.num_gpus} GPUs are free" if self._cluster.num_gpus else "no GPU pool"
            yield trial, f"{self._standing(study, trial)}; study holds {study.holding} of {study.share} devices; {pool}"

    def _standing(self, study: StudyEntry, trial: TrialState) -> str:
        rungs = study.rungs(trial)
        number = trial.offer.number
        if rungs is None or rungs.rung_of(number) < 0:
            return f"goes on after {trial.epochs_done:g} epochs" if trial.epochs_done else "new trial"
        rung = rungs.rung_of(number)
        return (
            f"rung {rung}: rank {rungs.rank(number)} of {len(rungs.results[rung])} so far, the best "
            f"{rungs.quota(rung)} of {rungs.planned_at(rung)} go on, P(useful) {rungs.useful(number):.2f}"
        )


def _why_pause(study: StudyEntry, trial: TrialState) -> str:
    if study.spent:
        return gpu_budget.describe(study)
    if study.useful(trial) <= 0.0:
        return "others have displaced it"
    return "waits for certainty" if trial.at_rung else "others have a better claim to its devices"
