"""From sizes to actions: takes devices, gives them back, and says what is to happen.

The devices of a trial are max(old, new) from the order until its confirmation, so that no device is promised
twice while a resize is under way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction

from .elastic_state import StudyEntry, TrialState
from .placement import Cluster
from .port import Pause, Promote, Resize, Start, Stop, WorkerSlot


def model_of(cluster: Cluster, trial: TrialState) -> str:
    """The device model that the trial is bound to: the one it began on, or runs on; empty: any."""
    return trial.device_model or (cluster.model_of(trial.slots[0].node) if trial.slots else "")


class Dispatcher:
    """Carries out decisions on the cluster's books and words them as actions.

    Attributes:
        returning: devices that are held and about to be given back, all trials together.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.returning: Fraction | int = 0

    def start(
        self, study: StudyEntry, trial: TrialState, workers: int, reason: str, avoid: Collection[str]
    ) -> Start | None:
        """Start a waiting trial on `workers` workers, or on fewer if that many find no room."""
        request = trial.offer.request
        while True:
            slots = self._place(study, trial, workers, avoid)
            if slots is not None or workers // 2 < request.k_min:
                break
            workers //= 2
        if slots is None:
            return None
        trial.loss = 0
        trial.device_speed = study.device_speeds.value(self._cluster.model_of(slots[0].node))
        trial.status, trial.k, trial.slots, trial.leaving = "starting", workers, slots, ()
        study.holding += workers * trial.unit
        study.generations[trial.offer.number] = trial.offer.generation
        return Start(
            study=trial.offer.study,
            number=trial.offer.number,
            generation=trial.offer.generation,
            reason=reason,
            node=slots[0].node,
            workers=slots,
        )

    def adopt(self, study: StudyEntry, trial: TrialState, slots: tuple[WorkerSlot, ...], at: float) -> None:
        """The trial runs on `slots` since before anybody asked."""
        trial.device_speed = study.device_speeds.value(self._cluster.model_of(slots[0].node))
        trial.status, trial.k, trial.slots, trial.leaving = "running", len(slots), slots, ()
        trial.since = trial.started_at = at
        study.holding += len(slots) * trial.unit

    def grow(
        self, study: StudyEntry, trial: TrialState, workers: int, reason: str, avoid: Collection[str]
    ) -> Resize | None:
        """More workers: beside the present ones, else on another node, else over several nodes if none is so large."""
        request = trial.offer.request
        model = model_of(self._cluster, trial)
        single = len({slot.node for slot in trial.slots}) == 1
        largest = self._cluster.largest_room(request)
        while workers > trial.k:
            extra = workers - trial.k
            home = trial.slots[0].node
            beside = home not in avoid and (single or workers > largest)
            more = self._cluster.place_on(home, request, extra) if beside else None
            if more is None and workers > largest:
                more = self._cluster.place(request, extra, device_model=model, avoid=avoid, spread=True)
            if more is not None:
                return self._resize(study, trial, trial.slots + more, leaving=(), reason=reason)
            if workers <= largest:
                moved = self._cluster.place(request, workers, device_model=model, avoid=avoid)
                if moved is not None:
                    return self._resize(study, trial, moved, leaving=trial.slots, reason=reason)
            workers //= 2
        return None

    def may_grow(self, trial: TrialState, avoid: Collection[str], given_up: Fraction | int = 0) -> bool:
        """Whether there is a place for twice the workers, once `given_up` more devices beside the trial are free."""
        request, home = trial.offer.request, trial.slots[0].node
        node = self._cluster.nodes.get(home)
        if node is None or 2 * trial.k > self._cluster.largest_room(request):
            return True
        if home not in avoid and home not in self._cluster.cordoned:
            room = node.room(request)
            if room is None or room >= trial.k:
                return True
            if given_up and self._cluster.free_on(node) + given_up >= trial.k * trial.unit:
                return True
        return self._cluster.fits(request, 2 * trial.k, model_of(self._cluster, trial), avoid)

    def shrink(self, study: StudyEntry, trial: TrialState, workers: int, reason: str) -> Resize:
        """Fewer workers: those on the node that holds most of them stay."""
        count: dict[str, int] = {}
        for slot in trial.slots:
            count[slot.node] = count.get(slot.node, 0) + 1
        ordered = sorted(trial.slots, key=lambda slot: -count[slot.node])
        return self._resize(study, trial, tuple(ordered[:workers]), leaving=tuple(ordered[workers:]), reason=reason)

    def pause(self, trial: TrialState, reason: str, *, involuntary: bool = False) -> Pause:
        with self._counting_returns(trial):
            trial.status, trial.at_rung = "pausing", False
        return Pause(
            study=trial.offer.study,
            number=trial.offer.number,
            generation=trial.offer.generation,
            reason=reason,
            involuntary=involuntary,
        )

    def stop(self, trial: TrialState, reason: str) -> Stop:
        """The running trial comes to its end; its devices are given back by TrialReleased."""
        with self._counting_returns(trial):
            trial.status, trial.at_rung = "pausing", False
        offer = trial.offer
        return Stop(study=offer.study, number=offer.number, generation=offer.generation, reason=reason)

    def promote(self, trial: TrialState, reason: str) -> Promote:
        trial.at_rung = False
        return Promote(
            study=trial.offer.study, number=trial.offer.number, generation=trial.offer.generation, reason=reason
        )

    def confirm_resize(self, study: StudyEntry, trial: TrialState) -> None:
        """The trial runs on its new workers: what it left is free."""
        self._cluster.give_back(trial.leaving, trial.offer.request)
        study.holding -= len(trial.leaving) * trial.unit
        with self._counting_returns(trial):
            trial.leaving = trial.former = ()
        trial.refusals = 0
        trial.status = "running"

    def undo_resize(self, study: StudyEntry, trial: TrialState) -> None:
        """The trial stays on the workers that it had."""
        self._keep_only(study, trial, trial.former)
        trial.refusals += 1

    def keep_survivors(self, study: StudyEntry, trial: TrialState, workers: tuple[WorkerSlot, ...]) -> None:
        """The trial goes on with those of `workers` that it holds; what else it held is free."""
        held = Counter(trial.slots + trial.leaving)
        self._keep_only(study, trial, tuple((Counter(workers) & held).elements()))

    def promise_memory(self, trial: TrialState, gpu_memory_gib: float) -> None:
        """The running trial needs more of its GPUs than was thought."""
        before = trial.offer.request
        now = replace(before, gpu_memory_gib=gpu_memory_gib)
        for slot in trial.slots + trial.leaving:
            if slot.node in self._cluster.nodes:
                self._cluster.nodes[slot.node].promise_anew(slot, before, now)
        trial.offer = replace(trial.offer, request=now)

    def release(self, study: StudyEntry, trial: TrialState) -> None:
        """Everything the trial held is free."""
        self._cluster.give_back(trial.slots + trial.leaving, trial.offer.request)
        study.holding -= len(trial.slots + trial.leaving) * trial.unit
        with self._counting_returns(trial):
            trial.slots = trial.leaving = trial.former = ()
            trial.status, trial.k, trial.at_rung = "waiting", 0, False

    def lose_node(self, study: StudyEntry, trial: TrialState, name: str) -> None:
        """What the trial held on a lost node is gone; if it worked there, what becomes of it will be said later."""
        left = tuple(slot for slot in trial.slots if slot.node != name)
        leaving = tuple(slot for slot in trial.leaving if slot.node != name)
        lost = len(trial.slots) + len(trial.leaving) - len(left) - len(leaving)
        study.holding -= lost * trial.unit
        with self._counting_returns(trial):
            if lost and trial.status != "pausing":
                trial.status, trial.at_rung = "stricken", False
            if any(slot.node == name for slot in trial.former):
                trial.former = ()
            trial.slots, trial.leaving = left, leaving

    def _place(
        self, study: StudyEntry, trial: TrialState, workers: int, avoid: Collection[str]
    ) -> tuple[WorkerSlot, ...] | None:
        """Slots on the fastest devices that have room, rather not where the trial has died before."""
        request = trial.offer.request
        models: list[str] = [trial.device_model]
        if not trial.device_model and len(self._cluster.models) > 1:
            models = sorted(self._cluster.models, key=lambda model: -study.device_speeds.value(model))
        for shunned in ([*avoid, *trial.lost_on], avoid) if trial.lost_on else (avoid,):
            for model in models:
                slots = self._cluster.place(request, workers, device_model=model, avoid=shunned)
                if slots is not None:
                    return slots
        return None

    def _keep_only(self, study: StudyEntry, trial: TrialState, slots: tuple[WorkerSlot, ...]) -> None:
        gone = tuple((Counter(trial.slots + trial.leaving) - Counter(slots)).elements())
        self._cluster.give_back(gone, trial.offer.request)
        study.holding -= len(gone) * trial.unit
        with self._counting_returns(trial):
            trial.slots, trial.leaving, trial.former, trial.k = slots, (), (), len(slots)

    @contextmanager
    def _counting_returns(self, trial: TrialState) -> Iterator[None]:
        """Keep `returning` right while the trial changes."""
        self.returning -= trial.returning
        yield
        self.returning += trial.returning

    def _resize(
        self,
        study: StudyEntry,
        trial: TrialState,
        slots: tuple[WorkerSlot, ...],
        *,
        leaving: tuple[WorkerSlot, ...],
        reason: str,
    ) -> Resize:
        added = len(slots) + len(leaving) - len(trial.slots)
        study.holding += added * trial.unit
        trial.former = trial.slots
        with self._counting_returns(trial):
            trial.slots, trial.leaving, trial.k = slots, leaving, len(slots)
            trial.status = "resizing"
        trial.resize += 1
        return Resize(
            study=trial.offer.study,
            number=trial.offer.number,
            generation=trial.offer.generation,
            reason=reason,
            resize=trial.resize,
            workers=slots,
        )
