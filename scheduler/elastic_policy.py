"""The elastic policy: shares across studies, usefulness inside them, sizes by marginal speed-up.

Level 1 deals the pool's devices to studies: strict priority classes, weighted max-min inside a class (see
`fair_shares`), first on workers that are used efficiently and then on whatever still helps. Every study that
wants anything gets the smallest trial's worth before anybody gets more. Level 2 decides inside a study who runs and
on how many workers (see `within_study`). Devices that a study cannot use go to those who can, and come back when it
asks for them: shrinking before pausing.

Only studies that an event touched are solved again, and those whose share drifted. Time is in the events; ties
break by order of arrival; all containers that are iterated keep insertion order.

Deviations from the design: a pool shares one kind of scarce device (GPUs if it has any, else CPUs), memory and the
other kind only bound placement; devices of different models are told apart for placement but not by speed. A growth
is taken back when it measures as not worth having, not already under 90 % of its promise as in Gandiva (Xiao et al.
2018, section 3.3): with promises from a fitted prior that undid growth that still gained a third.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from .dispatch import Dispatcher
from .elastic_state import ElasticTuning, StudyEntry, TrialState
from .placement import Cluster
from .pool import describe
from .port import (
    Action,
    EpochEnded,
    NodeDown,
    NodeUp,
    PoolEvent,
    Refuse,
    Request,
    RungReached,
    StudyAdded,
    StudyEnded,
    Tick,
    TrialEnded,
    TrialOffered,
    TrialReleased,
    TrialResized,
    TrialStarted,
    TrialWithdrawn,
)
from .share_out import ShareOut
from .speed_model import SpeedModel
from .study_turn import StudyTurn

COST_SMOOTHING = 0.3
"""Weight of the newest measured start or resize cost in a study's moving average."""


class ElasticPolicy:
    """Implements `scheduler.port.Policy` for elastic trials. See the module for what it decides and how."""

    def __init__(self, tuning: ElasticTuning | None = None) -> None:
        self._tuning = tuning or ElasticTuning()
        self._cluster = Cluster()
        self._dispatch = Dispatcher(self._cluster)
        self._studies: dict[str, StudyEntry] = {}
        self._shares = ShareOut(self._cluster, self._studies, self._tuning)
        self._turn = StudyTurn(self._cluster, self._dispatch, self._tuning)
        self._dirty: dict[str, None] = {}
        self._arrivals = 0

    # --- events ----------------------------------------------------------------------------------

    def step(self, event: PoolEvent) -> list[Action]:
        """Take one event in and say what is to happen because of it."""
        return self.steps([event])

    def steps(self, events: Sequence[PoolEvent]) -> list[Action]:
        """Take several events of one moment in, then decide once."""
        refused = [action for event in events for action in self._take_in(event)]
        return refused + self._solve(events[-1].at) if events else []

    def _take_in(self, event: PoolEvent) -> list[Action]:
        match event:
            case TrialOffered():
                refused = self._offered(event)
                return [refused] if refused is not None else []
            case StudyAdded():
                self._study(event.study, event.priority).edit(event)
                self._touch_all()
            case StudyEnded():
                self._study_ended(event.study)
            case NodeUp():
                self._node_up(event)
            case NodeDown():
                self._node_down(event.node)
            case TrialWithdrawn() | TrialEnded():
                self._gone(event.study, event.number)
            case TrialReleased():
                self._released(event)
            case RungReached():
                self._rung_reached(event)
            case EpochEnded():
                self._epoch_ended(event)
            case TrialStarted():
                self._started(event)
            case TrialResized():
                self._resized(event)
            case Tick():
                self._touch_all()
        return []

    def _node_up(self, up: NodeUp) -> None:
        if up.node in self._cluster.nodes:
            return
        had_gpus = self._cluster.num_gpus > 0
        self._cluster.add(up)
        if (self._cluster.num_gpus > 0) != had_gpus:
            self._reprice()
        self._touch_all()

    def _node_down(self, name: str) -> None:
        if name not in self._cluster.nodes:
            return
        self._cluster.remove(name)
        for study in self._studies.values():
            for trial in [t for t in study.trials.values() if t.holds]:
                self._dispatch.lose_node(study, trial, name)
                if not trial.slots:
                    self._away(study, trial)
        self._touch_all()

    def _offered(self, offer: TrialOffered) -> Refuse | None:
        study = self._study(offer.study, offer.priority)
        if offer.generation <= study.generations.get(offer.number, -1):
            return None
        known = study.trials.get(offer.number)
        if known is not None and (known.holds or known.offer.generation >= offer.generation):
            return None
        reason = self._why_never(offer.request)
        if reason:
            return Refuse(study=offer.study, number=offer.number, generation=offer.generation, reason=reason)
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
        self._touch(offer.study)
        return None

    def _new_trial(self, study: StudyEntry, offer: TrialOffered) -> TrialState:
        self._arrivals += 1
        speed = SpeedModel(
            k_max=offer.request.k_max, epoch_s=offer.epoch_s, speedups=offer.speedups, serial=study.serial
        )
        if study.epoch_count:
            speed.assume(study.epoch_sum_s / study.epoch_count)
        return TrialState(offer=offer, arrival=self._arrivals, speed=speed)

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
        self._touch(name)

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
        self._touch_all()

    def _released(self, event: TrialReleased) -> None:
        found = self._holder(event.study, event.number, event.generation)
        if found is None:
            return
        study, trial = found
        self._away(study, trial)
        self._touch_blocked()
        self._touch(event.study)

    def _away(self, study: StudyEntry, trial: TrialState) -> None:
        if trial.slots and not trial.device_model and trial.epochs_done > 0:
            node = self._cluster.nodes.get(trial.slots[0].node)
            trial.device_model = node.device_model if node is not None else ""
        self._dispatch.release(study, trial)
        study.trials.pop(trial.offer.number, None)
        if not study.ended:
            study.away[trial.offer.number] = trial
        elif not study.trials:
            self._studies.pop(study.name, None)

    def _rung_reached(self, event: RungReached) -> None:
        found = self._holder(event.study, event.number, event.generation)
        if found is None:
            return
        study, trial = found
        answered = (event.generation, event.rung)
        if trial.status not in ("running", "resizing") or answered <= trial.answered:
            return
        trial.answered = answered
        trial.since = event.at
        rungs = study.rungs(trial)
        if rungs is not None and rungs.report(event.number, event.rung, event.value):
            trial.epochs_done = float(rungs.ladder.milestones[event.rung])
        trial.at_rung = rungs is None or event.rung < rungs.top
        self._touch(event.study)

    def _epoch_ended(self, event: EpochEnded) -> None:
        found = self._holder(event.study, event.number, event.generation)
        if found is None or found[1].status != "running":
            return
        study, trial = found
        trial.epochs_done = max(trial.epochs_done, event.epochs_done)
        trial.since = event.at
        if event.epoch_s <= 0:
            return
        trial.speed.observe(trial.k, event.epoch_s)
        study.epoch_sum_s += trial.speed.epoch_s(1)
        study.epoch_count += 1
        if trial.grown:
            trial.grown = False
            if trial.speed.gain(trial.k // 2) <= self._tuning.least_gain:
                trial.most = trial.k // 2
                self._touch(event.study)
        if self._cluster.free_gpus:
            self._touch(event.study)

    def _started(self, event: TrialStarted) -> None:
        found = self._holder(event.study, event.number, event.generation)
        if found is None or found[1].status != "starting":
            return
        study, trial = found
        trial.status, trial.since, trial.started_at = "running", event.at, event.at
        study.start_cost_s += COST_SMOOTHING * (event.start_s - study.start_cost_s)

    def _resized(self, event: TrialResized) -> None:
        found = self._holder(event.study, event.number, event.generation)
        if found is None or found[1].status != "resizing" or found[1].resize != event.resize:
            return
        study, trial = found
        freed = bool(trial.leaving)
        self._dispatch.confirm_resize(study, trial)
        trial.since = event.at
        study.resize_cost_s += COST_SMOOTHING * (event.stall_s - study.resize_cost_s)
        if freed:
            self._touch_blocked()
            self._touch(event.study)

    # --- decisions -------------------------------------------------------------------------------

    def _solve(self, at: float) -> list[Action]:
        actions: list[Action] = []
        if not self._dirty:
            return actions
        dirty, self._dirty = self._dirty, {}
        for study, budget, found in self._shares.deal(dirty, at):
            actions += self._turn.take(study, found, budget, at, avoid=self._shares.kept_from(study))
        return actions

    def _touch(self, name: str) -> None:
        if name in self._studies:
            self._dirty[name] = None

    def _touch_all(self) -> None:
        self._dirty = dict.fromkeys(self._studies)

    def _touch_blocked(self) -> None:
        for name, study in self._studies.items():
            if study.blocked:
                self._dirty[name] = None

    # --- books -----------------------------------------------------------------------------------

    def _study(self, name: str, priority: int) -> StudyEntry:
        study = self._studies.get(name)
        if study is None:
            study = self._studies[name] = StudyEntry(name=name, order=len(self._studies), priority=priority)
        return study

    def _holder(self, name: str, number: int, generation: int) -> tuple[StudyEntry, TrialState] | None:
        """The trial that holds devices under this generation; None for anything late or repeated."""
        study = self._studies.get(name)
        trial = study.trials.get(number) if study is not None else None
        if study is None or trial is None or not trial.holds or trial.offer.generation != generation:
            return None
        return study, trial

    def _unit(self, request: Request) -> Fraction | int:
        unit = request.gpus if self._cluster.num_gpus else Fraction(request.cpus)
        return int(unit) if unit.denominator == 1 else unit

    def _reprice(self) -> None:
        for study in self._studies.values():
            study.holding = 0
            for trial in (*study.trials.values(), *study.away.values()):
                trial.unit = self._unit(trial.offer.request)
                study.holding += len(trial.slots + trial.leaving) * trial.unit

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

    def room(self, request: Request) -> int:
        """How many more trials of this request the pool could take, at their smallest size and counting those that
        would shrink for them."""
        unit = self._unit(request) * request.k_min
        holders = [t for s in self._studies.values() for t in s.trials.values() if t.holds]
        grown = sum(((t.k - t.offer.request.k_min) * t.unit for t in holders), Fraction(0)) if unit else 0
        return self._cluster.room(request) + (int(grown / unit) if grown else 0)

    def forget(self, study: str) -> None:
        """Drop what is remembered of an ended study, so that its name can be used again."""
        if study in self._studies and not self._studies[study].trials:
            del self._studies[study]

    def validate_state(self) -> None:
        """Check that what is reserved is what the trials hold; used by tests after every event."""
        holders: Iterable[TrialState] = [t for s in self._studies.values() for t in s.trials.values() if t.holds]
        self._cluster.validate((t.offer.request, t.slots + t.leaving) for t in holders)
        for study in self._studies.values():
            held = sum((len(t.slots + t.leaving) * t.unit for t in study.trials.values()), Fraction(0))
            assert study.holding == held, (study.name, study.holding, held)
            assert not set(study.trials) & set(study.away)
            assert all(not t.slots for t in study.trials.values() if not t.holds)
