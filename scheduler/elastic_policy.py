"""The elastic policy: shares across studies, usefulness inside them, sizes by marginal speed-up.

Level 1 deals the pool's devices to studies (see `entitlement`). Level 2 decides inside a study who runs and on how many
workers (see `within_study`). Devices that a study cannot use go to those who can, and come back when it lacks them;
who is owed devices but finds no place for them has room made (see `shortages`).

Only studies that an event touched are solved again, and those whose share drifted. Time is in the events; ties
break by order of arrival; all containers that are iterated keep insertion order.

Deviations from the design: a pool shares one kind of scarce device (GPUs if it has any, else CPUs), memory and the
other kind only bound placement. A growth is taken back when it measures as not worth having, not already under 90 % of
its promise as in Gandiva (Xiao et al. 2018, section 3.3): with promises from a fitted prior that undid growth that
still gained a third.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from .books import Books
from .dispatch import Dispatcher
from .elastic_state import ElasticTuning, StudyEntry, TrialKey, TrialState
from .node_events import NodeEvents
from .node_space import USABLE_MEMORY
from .placement import Cluster
from .pool import describe
from .port import (
    Action,
    EpochEnded,
    MemoryMeasured,
    NodeCordoned,
    NodeDown,
    NodeUncordoned,
    NodeUp,
    PoolEvent,
    Refuse,
    Request,
    ResizeRefused,
    RungReached,
    StudyAdded,
    StudyEnded,
    StudyShare,
    Tick,
    TrialEnded,
    TrialHeld,
    TrialOffered,
    TrialReleased,
    TrialRemembered,
    TrialResized,
    TrialStarted,
    TrialWithdrawn,
    WorkersLost,
    WorkerSlot,
)
from .share_out import ShareOut
from .shortages import Shortages
from .speed_model import SpeedModel
from .study_turn import StudyTurn
from .trial_events import TrialEvents, predicted_gpu_memory_gib, rounded_down_gib
from .within_study import candidates

CERTAIN = 0.99
"""P(useful) from which a trial may not wait while a device that it could use is free."""


class ElasticPolicy:
    """Implements `scheduler.port.Policy` for elastic trials. See the module for what it decides and how."""

    def __init__(self, tuning: ElasticTuning | None = None) -> None:
        self._tuning = tuning or ElasticTuning()
        self._cluster = Cluster()
        self._dispatch = Dispatcher(self._cluster)
        self._books = Books()
        self._studies = self._books.studies
        self._nodes = NodeEvents(self._books, self._cluster, self._dispatch)
        self._running = TrialEvents(self._books, self._cluster, self._dispatch, self._nodes, self._tuning)
        self._shortages = Shortages(self._cluster, self._dispatch, self._studies, self._tuning)
        self._shares = ShareOut(self._cluster, self._dispatch, self._studies, self._shortages, self._tuning)
        self._turn = StudyTurn(self._cluster, self._dispatch, self._shortages, self._tuning)
        self._arrivals = 0

    # --- events ----------------------------------------------------------------------------------

    def step(self, event: PoolEvent) -> list[Action]:
        """Take one event in and say what is to happen because of it."""
        return self.steps([event])

    def steps(self, events: Sequence[PoolEvent]) -> list[Action]:
        """Take several events of one moment in, then decide once."""
        if not events:
            return []
        at = events[-1].at
        for study in self._studies.values():
            study.accrue(at)
        self._nodes.pass_time(at)
        actions = [action for event in events for action in self._take_in(event)]
        actions += self._nodes.drain()
        return actions + self._solve(at)

    def _take_in(self, event: PoolEvent) -> Iterable[Action]:
        match event:
            case TrialOffered():
                return self._offered(event)
            case StudyAdded():
                self._books.study(event.study, event.priority).edit(event)
                self._books.touch_all()
            case StudyEnded():
                self._study_ended(event.study)
            case TrialWithdrawn():
                self._withdrawn(event.study, event.number)
            case TrialEnded():
                self._gone(event.study, event.number)
            case TrialHeld():
                self._held(event)
            case TrialRemembered():
                self._books.study(event.study, 0).remember(event)
            case TrialReleased():
                self._released(event)
            case NodeUp() | NodeDown():
                self._node_changed(event)
            case NodeCordoned():
                self._nodes.cordon(event)
            case NodeUncordoned():
                self._nodes.uncordon(event.node)
            case RungReached():
                self._running.rung_reached(event)
            case EpochEnded():
                self._running.epoch_ended(event)
            case TrialStarted():
                self._running.started(event)
            case TrialResized():
                self._running.resized(event)
            case ResizeRefused():
                self._running.resize_refused(event)
            case WorkersLost():
                return self._running.workers_lost(event)
            case MemoryMeasured():
                return self._running.memory_measured(event)
            case Tick():
                self._books.touch_all()
        return ()

    def _node_changed(self, event: NodeUp | NodeDown) -> None:
        had_gpus = self._cluster.num_gpus > 0
        self._nodes.up(event) if isinstance(event, NodeUp) else self._nodes.down(event)
        for study, trial in self._books.holders():
            if not trial.slots and not trial.leaving:
                self._away(study, trial)
        if (self._cluster.num_gpus > 0) != had_gpus:
            self._reprice()

    def _offered(self, offer: TrialOffered) -> Iterator[Refuse]:
        study = self._books.study(offer.study, offer.priority)
        if offer.generation <= study.generations.get(offer.number, -1):
            return
        known = study.trials.get(offer.number)
        if known is not None and (known.holds or known.offer.generation >= offer.generation):
            return
        offer = replace(offer, request=self._with_memory(study, offer))
        reason = self._why_never(offer.request)
        if reason:
            yield Refuse(study=offer.study, number=offer.number, generation=offer.generation, reason=reason)
            return
        trial = study.away.pop(offer.number, None) or known or self._new_trial(study, offer)
        trial.offer = offer
        trial.epochs_done = max(trial.epochs_done, offer.epochs_done)
        trial.device_model = offer.device_model or trial.device_model
        trial.unit = self._unit(offer.request)
        study.trials[offer.number] = trial
        rungs = study.rungs(trial)
        rung = rungs.rung_of(offer.number) if rungs is not None else -1
        if rungs is not None and 0 <= rung < rungs.top and trial.epochs_done > rungs.ladder.milestones[rung]:
            rungs.promote(offer.number)
        self._books.touch(offer.study)

    def _held(self, event: TrialHeld) -> None:
        """The trial runs already."""
        offer = event.offer
        study = self._books.study(offer.study, offer.priority)
        trial = self._new_trial(study, offer)
        trial.unit = self._unit(offer.request)
        trial.epochs_done = offer.epochs_done
        study.trials[offer.number] = trial
        study.generations[offer.number] = offer.generation
        self._cluster.claim(event.workers, offer.request)
        self._dispatch.adopt(study, trial, event.workers, event.at)
        self._books.touch(offer.study)

    def _with_memory(self, study: StudyEntry, offer: TrialOffered) -> Request:
        """The trial's request with the memory of GPUs that was measured, else declared, else (for shares) predicted.

        Never more than one trial can have of a shared GPU, so that one which needs a GPU for itself still gets it.
        """
        request = offer.request
        trial = study.trials.get(offer.number) or study.away.get(offer.number)
        gib = trial.gpu_memory_gib if trial is not None else 0.0
        if not gib and request.gpu_memory_gib is None and 0 < request.gpus < 1:
            gib = predicted_gpu_memory_gib(study)
        if not gib:
            return request
        largest = max((node.gpu_memory for node in self._cluster.nodes.values()), default=0)
        usable = rounded_down_gib(USABLE_MEMORY * largest if request.gpus < 1 else largest)
        return replace(request, gpu_memory_gib=min(gib, usable) if usable else gib)

    def _new_trial(self, study: StudyEntry, offer: TrialOffered) -> TrialState:
        self._arrivals += 1
        speed = SpeedModel(
            k_max=offer.request.k_max, epoch_s=offer.epoch_s, speedups=offer.speedups, serial=study.serial
        )
        if study.epoch_count:
            speed.assume(study.epoch_sum_s / study.epoch_count)
        return TrialState(offer=offer, arrival=self._arrivals, speed=speed)

    def _withdrawn(self, name: str, number: int) -> None:
        """The trial does not want to start for now."""
        study = self._studies.get(name)
        trial = study.trials.get(number) if study is not None else None
        if study is not None and trial is not None and not trial.holds:
            study.away[number] = study.trials.pop(number)
            self._books.touch(name)

    def _gone(self, name: str, number: int) -> None:
        """The trial will not be offered again."""
        study = self._studies.get(name)
        if study is None:
            return
        trial = study.trials.get(number) or study.away.get(number)
        if trial is None or trial.holds:
            return
        rungs = study.rungs(trial)
        if rungs is not None:
            rungs.lose(number)
        study.trials.pop(number, None)
        study.away.pop(number, None)
        self._books.touch(name)

    def _study_ended(self, name: str) -> None:
        study = self._studies.get(name)
        if study is None:
            return
        study.ended = True
        for number in [n for n, t in study.trials.items() if not t.holds]:
            del study.trials[number]
        study.away.clear()
        if not study.trials:
            del self._studies[name]
        self._books.touch_all()

    def _released(self, event: TrialReleased) -> None:
        found = self._books.holder(event.study, event.number, event.generation)
        if found is None:
            return
        study, trial = found
        if event.lost:
            self._nodes.lost(trial, [slot.node for slot in trial.slots], event.at)
        self._away(study, trial)
        self._books.touch_blocked()
        self._books.touch(event.study)

    def _away(self, study: StudyEntry, trial: TrialState) -> None:
        if trial.slots and trial.offer.exact and not trial.device_model and trial.epochs_done > 0:
            trial.device_model = self._cluster.model_of(trial.slots[0].node)
        self._dispatch.release(study, trial)
        study.trials.pop(trial.offer.number, None)
        if not study.ended:
            study.away[trial.offer.number] = trial
        elif not study.trials:
            self._studies.pop(study.name, None)
            self._books.touch_all()

    # --- decisions -------------------------------------------------------------------------------

    def _solve(self, at: float) -> list[Action]:
        actions: list[Action] = []
        dirty = self._books.taken_dirty()
        if not dirty:
            return actions
        for study, budget, found in self._shares.deal(dirty, at):
            actions += self._turn.take(study, found, budget, at)
        kept = self._shortages.kept
        actions += self._shortages.make_room(at)
        if kept and kept != self._shortages.kept:  # what is free there is free for all
            for study, budget, found in self._shares.leftovers(at):
                actions += self._turn.take(study, found, budget, at)
        return actions

    # --- books -----------------------------------------------------------------------------------

    def _unit(self, request: Request) -> Fraction | int:
        unit = request.gpus if self._cluster.num_gpus else Fraction(request.cpus)
        return int(unit) if unit.denominator == 1 else unit

    def _reprice(self) -> None:
        for study in self._studies.values():
            study.holding = 0
            for trial in (*study.trials.values(), *study.away.values()):
                trial.unit = self._unit(trial.offer.request)
                study.holding += len(trial.slots + trial.leaving) * trial.unit
        self._dispatch.returning = sum((trial.returning for _, trial in self._books.holders()), Fraction(0))

    def _why_never(self, request: Request) -> str:
        if request.gpus > 1 and request.gpus.denominator != 1:
            return f"never fits because {describe(request)}: above one GPU a worker takes whole GPUs only"
        if not self._cluster.nodes or self._cluster.most_workers(request) >= request.k_min:
            return ""
        return f"never fits because it needs {describe(request)}, and {self._cluster.describe_largest(request)}"

    # --- questions -------------------------------------------------------------------------------

    def waiting(self) -> Sequence[tuple[str, int, str]]:
        """(study, number, why it waits), in the order in which they would start."""
        rows: list[tuple[str, int, str]] = []
        for study in self._studies.values():
            rows += [(study.name, trial.offer.number, why) for trial, why in self._turn.explain_waiting(study)]
        return rows

    def shares(self, at: float) -> list[StudyShare]:
        """What each study is owed and what it uses, in order of arrival."""
        rows = []
        for study in self._studies.values():
            rows.append(
                StudyShare(
                    study=study.name,
                    priority=study.priority,
                    weight=study.weight,
                    owed=study.share,
                    wanted=study.demand,
                    held=float(study.holding),
                    used_gpu_hours=study.spent_by(at) / 3600,
                    gpu_hours=None if study.budget_s is None else study.budget_s / 3600,
                )
            )
        return rows

    def holdings(self) -> dict[TrialKey, tuple[WorkerSlot, ...]]:
        """The workers of every trial that has some; of one that is changing over, those it will have."""
        return {trial.key: trial.slots for _, trial in self._books.holders()}

    def cordoned(self) -> dict[str, str]:
        """Nodes on which nothing is started, each with the reason."""
        return self._nodes.cordoned()

    def room(self, request: Request) -> int:
        """How many more trials of this request the pool could take, at their smallest size and counting those that
        would shrink for them."""
        unit = self._unit(request) * request.k_min
        holders = [t for s in self._studies.values() for t in s.trials.values() if t.holds]
        grown = sum(((t.k - t.offer.request.k_min) * t.unit for t in holders), Fraction(0)) if unit else 0
        return self._cluster.room(request) + (int(grown / unit) if grown else 0)

    @property
    def num_trials(self) -> int:
        """Trials that wait, run, or are between a release and their next offer."""
        return sum(len(study.trials) + len(study.away) for study in self._studies.values())

    @property
    def capacity(self) -> int:
        """Devices that may be held now: GPUs if there are any, else CPUs; free ones of cordoned nodes do not count."""
        return self._cluster.capacity

    def unserved(self, at: float) -> list[TrialKey]:
        """Trials that are new or certain enough, fit into what is free and were not started; for tests."""
        found = []
        for study in self._studies.values():
            budget = study.share
            for candidate in candidates(study, at=at, capacity=budget, budget=budget, tuning=self._tuning):
                trial, request = candidate.trial, candidate.trial.offer.request
                waits = trial.status == "waiting" and (candidate.rung == 0 or candidate.useful >= CERTAIN)
                if waits and self._cluster.fits(request, request.k_min, trial.device_model, self._shortages.kept):
                    found.append(trial.key)
        return found

    def forget(self, study: str) -> None:
        """Drop what is remembered of an ended study, so that its name can be used again."""
        if study in self._studies and not self._studies[study].trials:
            del self._studies[study]

    def validate_state(self) -> None:
        """Check that what is reserved is what the trials hold; used by tests after every event."""
        holders = [t for s in self._studies.values() for t in s.trials.values() if t.holds]
        returning = sum((trial.returning for trial in holders), Fraction(0))
        assert self._dispatch.returning == returning, (self._dispatch.returning, returning)
        self._cluster.validate((t.offer.request, t.slots + t.leaving) for t in holders)
        for study in self._studies.values():
            held = sum((len(t.slots + t.leaving) * t.unit for t in study.trials.values()), Fraction(0))
            assert study.holding == held, (study.name, study.holding, held)
            assert not set(study.trials) & set(study.away)
            assert all(not t.slots for t in study.trials.values() if not t.holds)
