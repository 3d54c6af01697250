"""What running trials tell, taken into the elastic policy's books. Nothing is decided here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor

from .books import Books
from .dispatch import Dispatcher
from .elastic_state import ElasticTuning, StudyEntry, TrialState
from .node_events import NodeEvents
from .placement import Cluster
from .port import (
    EpochEnded,
    MemoryMeasured,
    Pause,
    ResizeRefused,
    RungReached,
    TrialResized,
    TrialStarted,
    WorkersLost,
)

COST_SMOOTHING = 0.3
"""Weight of the newest measured start or resize cost in a study's moving average; the first ones count alike."""

MOST_REFUSALS = 6
"""Refused resizes double a trial's cooldown up to this many times, to an hour and more."""

MEMORY_STEP_GIB = 0.125
"""Measured memory is rounded up to this, so that requests stay few and placements can be looked up."""

MEMORY_MARGIN = 1.1
"""What other trials of the study are predicted to need, over the 95th percentile of what was measured."""


class TrialEvents:
    """Takes in what running trials tell; whatever is late or repeated changes nothing."""

    def __init__(
        self, books: Books, cluster: Cluster, dispatch: Dispatcher, nodes: NodeEvents, tuning: ElasticTuning
    ) -> None:
        self._books = books
        self._cluster = cluster
        self._dispatch = dispatch
        self._nodes = nodes
        self._tuning = tuning

    def rung_reached(self, event: RungReached) -> None:
        found = self._books.holder(event.study, event.number, event.generation)
        if found is None:
            return
        study, trial = found
        answered = (event.generation, event.rung)
        if trial.status not in ("running", "resizing", "pausing") or answered <= trial.answered:
            return
        trial.answered = answered
        trial.since = event.at
        rungs = study.rungs(trial)
        if rungs is not None and rungs.report(event.number, event.rung, event.value):
            trial.epochs_done = float(rungs.ladder.milestones[event.rung])
        trial.at_rung = trial.status != "pausing" and (rungs is None or event.rung < rungs.top)
        self._books.touch(event.study)

    def epoch_ended(self, event: EpochEnded) -> None:
        found = self._books.holder(event.study, event.number, event.generation)
        if found is not None and event.can_pause is not None and found[1].offer.can_pause != event.can_pause:
            found[1].offer = replace(found[1].offer, can_pause=event.can_pause)
        if found is not None and event.most_workers is not None:
            _bound(found[1], event.most_workers)
        if found is None or found[1].status != "running":
            return
        study, trial = found
        trial.epochs_done = max(trial.epochs_done, event.epochs_done)
        trial.since = event.at
        if event.epoch_s <= 0:
            return
        self._learn_speed(study, trial, event.epoch_s)
        if trial.grown:
            trial.grown = False
            if trial.speed.gain(trial.k // 2) <= self._tuning.least_gain:
                trial.most = trial.k // 2
                self._books.touch(event.study)
        if self._cluster.free:
            self._books.touch(event.study)

    def _learn_speed(self, study: StudyEntry, trial: TrialState, epoch_s: float) -> None:
        if len(self._cluster.models) > 1:
            model = self._cluster.model_of(trial.slots[0].node)
            study.device_speeds.observe(model, epoch_s / trial.speed.offered_epoch_s(trial.k))
            trial.device_speed = study.device_speeds.value(model)
        trial.speed.observe(trial.k, epoch_s * trial.device_speed)
        study.epoch_sum_s += trial.speed.epoch_s(1)
        study.epoch_count += 1

    def started(self, event: TrialStarted) -> None:
        found = self._books.holder(event.study, event.number, event.generation)
        if found is None or found[1].status != "starting":
            return
        study, trial = found
        trial.status, trial.since, trial.started_at = "running", event.at, event.at
        study.starts += 1
        study.start_cost_s += max(COST_SMOOTHING, 1 / study.starts) * (event.start_s - study.start_cost_s)

    def resized(self, event: TrialResized) -> None:
        found = self._books.holder(event.study, event.number, event.generation)
        if found is None or found[1].status != "resizing" or found[1].resize != event.resize:
            return
        study, trial = found
        freed = bool(trial.leaving)
        self._dispatch.confirm_resize(study, trial)
        trial.since = event.at
        study.resizes += 1
        study.resize_cost_s += max(COST_SMOOTHING, 1 / study.resizes) * (event.stall_s - study.resize_cost_s)
        if freed:
            self._books.touch_blocked()
            self._books.touch(event.study)

    def resize_refused(self, event: ResizeRefused) -> None:
        """It goes on as before, and is asked again later and later."""
        found = self._books.holder(event.study, event.number, event.generation)
        if found is None or found[1].status not in ("resizing", "stricken") or found[1].resize != event.resize:
            return
        study, trial = found
        if not trial.former:
            return
        self._dispatch.undo_resize(study, trial)
        cooldown_s = self._tuning.cooldown_costs * study.resize_cost_s
        trial.changed_at = event.at + cooldown_s * (2.0 ** min(trial.refusals - 1, MOST_REFUSALS) - 1)
        trial.status, trial.since, trial.grown = "running", event.at, False
        self._books.touch_blocked()
        self._books.touch(event.study)

    def workers_lost(self, event: WorkersLost) -> Iterator[Pause]:
        """It goes on with the survivors, and may grow again at once; too few of them wait for more."""
        found = self._books.holder(event.study, event.number, event.generation)
        if found is None or event.loss <= found[1].loss:
            return
        study, trial = found
        nodes = [slot.node for slot in trial.former or trial.slots]
        self._dispatch.keep_survivors(study, trial, event.workers)
        trial.loss = event.loss
        gone = Counter(nodes) - Counter(slot.node for slot in trial.slots)
        self._nodes.lost(trial, gone, event.at)
        trial.since, trial.grown, trial.changed_at = event.at, False, float("-inf")
        if trial.status in ("resizing", "stricken"):
            trial.status = "running"
        self._books.touch_blocked()
        self._books.touch(event.study)
        if trial.status == "running" and trial.k < trial.offer.request.k_min and trial.offer.can_pause:
            reason = f"{trial.k} of its workers are left, and it needs {trial.offer.request.k_min}"
            yield self._dispatch.pause(trial, reason, involuntary=True)

    def memory_measured(self, event: MemoryMeasured) -> Iterator[Pause]:
        """The measured need replaces what was declared at the trial's next start, and is predicted for its peers.

        Where those who share a GPU need more than it has, the newest of them leaves.
        """
        found = self._books.holder(event.study, event.number, event.generation)
        if found is None or event.gpu_memory_gib <= found[1].gpu_memory_gib:
            return
        study, trial = found
        rounded = ceil(event.gpu_memory_gib / MEMORY_STEP_GIB) * MEMORY_STEP_GIB
        trial.gpu_memory_gib = study.gpu_memory[event.number] = rounded
        self._dispatch.promise_memory(trial, rounded)
        for node in sorted({slot.node for slot in trial.slots} & set(self._cluster.nodes)):
            for gpu in self._cluster.nodes[node].overfull():
                yield from self._relieve(node, gpu)

    def _relieve(self, node: str, gpu: str) -> Iterator[Pause]:
        sharing = [t for _, t in self._books.holders() if any(s.node == node and gpu in s.gpus for s in t.slots)]
        if len(sharing) < 2 or any(trial.status == "pausing" for trial in sharing):
            return
        newest = max(sharing, key=lambda trial: (trial.started_at, trial.arrival))
        if newest.status == "running" and newest.offer.can_pause:
            reason = f"{gpu} would run out of memory: its {len(sharing)} trials need more than it has"
            yield self._dispatch.pause(newest, reason, involuntary=True)


def rounded_down_gib(gib: Fraction | int) -> float:
    """`gib` in whole steps of `MEMORY_STEP_GIB`."""
    return floor(gib / Fraction(MEMORY_STEP_GIB)) * MEMORY_STEP_GIB


def _bound(trial: TrialState, most: int) -> None:
    """The trial can have no more than `most` workers; 0: those that it has, no more and no fewer."""
    trial.rigid = most == 0
    most = most or trial.k
    trial.most = min(trial.most or most, most)


def predicted_gpu_memory_gib(study: StudyEntry) -> float:
    """What a trial of which nothing is known will need of a GPU, from its peers; 0 before any was measured."""
    if not study.gpu_memory:
        return 0.0
    ordered = sorted(study.gpu_memory.values())
    percentile = ordered[ceil(0.95 * len(ordered)) - 1]
    return ceil(MEMORY_MARGIN * percentile / MEMORY_STEP_GIB) * MEMORY_STEP_GIB
