"""A head gone wild: every event that the port allows, confirmed late, twice, in any order, or never.

Plays against an elastic policy and checks after every event that no device is promised twice, that every trial is in
one state and that every action makes sense for the state its trial is in. Used by property tests and by
`python -m benchmarks.fuzz_scheduling`.
"""

from __future__ import annotations

from collections import Counter
from random import Random

from ..elastic_policy import ElasticPolicy
from ..port import (
    Action,
    EpochEnded,
    MemoryMeasured,
    NodeCordoned,
    NodeDown,
    NodeUncordoned,
    NodeUp,
    Pause,
    PoolEvent,
    Promote,
    Refuse,
    Resize,
    ResizeRefused,
    RungReached,
    Start,
    Stop,
    StudyAdded,
    StudyEnded,
    Tick,
    TrialEnded,
    TrialOffered,
    TrialReleased,
    TrialResized,
    TrialStarted,
    TrialWithdrawn,
    WorkersLost,
    WorkerSlot,
)
from .chaos_draws import MILESTONES, About, Known, a_node, a_request, a_study

CONFIRMATIONS = (TrialStarted, TrialResized, TrialReleased, RungReached, ResizeRefused, WorkersLost)
"""Events that change nothing when they come again."""

UNSETTLED = ("pausing", "stopping", "away")


class Chaos:
    """Random events against `policy`; all randomness comes from `random`."""

    def __init__(self, policy: ElasticPolicy, random: Random, *, gangs: bool = True, shares: bool = True) -> None:
        self.policy = policy
        self.log: list[str] = []
        self._random = random
        self._gangs = gangs
        self._shares = shares
        self._at = 0.0
        self._trials: dict[tuple[str, int], Known] = {}
        self._studies: dict[str, int] = {}
        self._nodes: dict[str, NodeUp] = {}
        self._down: dict[str, NodeUp] = {}
        self._unconfirmed: list[PoolEvent] = []
        self._sent: list[PoolEvent] = []
        for i in range(random.randint(1, 4)):
            self._down[f"n{i}"] = a_node(random, f"n{i}")
        for name in list(self._down):
            self._bring_up(name)

    def step(self) -> None:
        """One random event."""
        self._at += self._random.choice((0.0, 0.1, 1.0, 20.0))
        draw = self._random.random()
        if draw < 0.35 and self._unconfirmed:
            self._send(self._unconfirmed.pop(self._random.randrange(len(self._unconfirmed))))
        elif draw < 0.65:
            self._progress()
        elif draw < 0.80:
            self._offer_someone()
        elif draw < 0.88 and self._sent:
            self._repeat(self._random.choice(self._sent))
        elif draw < 0.92:
            self._send(Tick(at=self._at))
        elif draw < 0.95:
            self._study_event()
        elif draw < 0.97:
            self._withdraw()
        else:
            self._node_event()

    def settle(self) -> None:
        """Confirm everything; afterwards the policy is at rest."""
        while self._unconfirmed:
            self._send(self._unconfirmed.pop(0))
        self._at += 1000.0
        self._send(Tick(at=self._at))
        while self._unconfirmed:
            self._send(self._unconfirmed.pop(0))

    def unserved(self) -> list[tuple[str, int]]:
        """Trials that are new or certain and wait although there is a place for them, in the eyes of the policy."""
        return self.policy.unserved(self._at)

    def idle_while_wanted(self) -> list[int]:
        """New one-GPU trials that wait although a GPU is free; empty after `settle` unless work is not conserved."""
        cordoned = self.policy.cordoned()
        held = Counter(slot.node for known in self._trials.values() for slot in known.workers)
        if all(held[name] >= len(node.gpus) for name, node in self._nodes.items() if name not in cordoned):
            return []
        return [number for (_, number), known in self._trials.items() if known.state == "offered" and not known.rung]

    # --- events ----------------------------------------------------------------------------------

    def _send(self, event: PoolEvent) -> None:
        known = self._note(event)
        actions = self.policy.step(event)
        self._sent.append(event)
        del self._sent[:-50]
        for action in actions:
            self._obey(action)
        self._check()
        if known is not None and known.state == "stopped":
            assert isinstance(event, TrialReleased)
            del self._trials[event.study, event.number]
            self._send(TrialEnded(at=self._at, study=event.study, number=event.number))

    def _check(self) -> None:
        """The policy's books are right in themselves, and what they say of each trial is what the head knows."""
        self.policy.validate_state()
        held = self.policy.holdings()
        for key, known in self._trials.items():
            there = Counter(slot for slot in known.workers if slot.node in self._nodes)
            assert known.state in UNSETTLED or Counter(held.get(key, ())) == there, (key, known, held.get(key))

    def _repeat(self, event: PoolEvent) -> None:
        """Late and repeated confirmations change nothing."""
        if isinstance(event, CONFIRMATIONS):
            actions = self.policy.step(event)
            assert not actions, f"{event} came twice and caused {actions}"
            self._check()

    def _note(self, event: PoolEvent) -> Known | None:
        """What the head itself knows after the event: the trial that it is about."""
        if not isinstance(event, TrialStarted | TrialReleased | TrialResized | ResizeRefused):
            return None
        known = self._trials.get((event.study, event.number))
        if known is None or known.generation != event.generation:
            return None
        match event:
            case TrialStarted() if known.state == "starting":
                known.state = "running"
            case TrialReleased() if known.state == "pausing":
                known.state, known.workers, known.former = "away", (), ()
            case TrialResized() if known.state == "resizing" and event.resize == known.resize:
                known.state, known.former = "running", ()
            case ResizeRefused() if known.state == "resizing" and event.resize == known.resize:
                known.state, known.workers, known.former = "running", known.former, ()
            case TrialReleased() if known.state == "stopping":
                known.state, known.workers, known.former = "stopped", (), ()
        return known

    def _progress(self) -> None:
        running = [key for key, known in self._trials.items() if known.state == "running"]
        if not running:
            return
        key = self._random.choice(running)
        known = self._trials[key]
        study, number = key
        where = About(at=self._at, study=study, number=number, generation=known.generation)
        draw = self._random.random()
        if draw < 0.05:  # its processes die
            known.state = "pausing"
            self._send(TrialReleased(**where, lost=True))
        elif draw < 0.1:
            self._go_on(key, self._random.sample(known.workers, self._random.randint(1, len(known.workers))))
        elif draw < 0.14:
            self._send(MemoryMeasured(**where, gpu_memory_gib=self._random.choice((1.0, 5.0, 9.0))))
        elif draw < 0.4:
            self._send(EpochEnded(**where, epochs_done=known.epochs, epoch_s=self._random.uniform(1.0, 90.0)))
        elif study in self._studies:
            known.epochs = float(MILESTONES[known.rung])
            known.rung += 1
            value = self._random.choice((None, float("nan"), self._random.random(), 0.5))
            top = known.rung == len(MILESTONES)
            known.state = "running" if top else "at_rung"
            self._send(RungReached(**where, rung=known.rung - 1, value=value))
            assert known.state != "at_rung", f"{key} was left at its rung without an answer"
            if top:
                known.state = "pausing"
                self._send(TrialReleased(**where))
                del self._trials[key]
                self._send(TrialEnded(at=self._at, study=study, number=number))

    def _go_on(self, key: tuple[str, int], survivors: list[WorkerSlot]) -> None:
        """Some workers died; the trial goes on with a power of two of the survivors."""
        known = self._trials[key]
        where = About(at=self._at, study=key[0], number=key[1], generation=known.generation)
        known.workers = tuple(survivors[: 1 << (len(survivors).bit_length() - 1)])
        known.former = ()
        known.losses += 1
        known.state = known.state if known.state == "starting" else "running"
        self._send(WorkersLost(**where, loss=known.losses, workers=known.workers))

    def _offer_someone(self) -> None:
        away = [key for key, known in self._trials.items() if known.state == "away"]
        if away and self._random.random() < 0.6:
            key = self._random.choice(away)
        else:
            study = f"s{self._random.randrange(3)}"
            if study not in self._studies:
                self._studies[study] = 0
                self._send(self._added(study))
            self._studies[study] += 1
            key = (study, self._studies[study])
            self._trials[key] = Known(
                request=a_request(self._random, gangs=self._gangs, shares=self._shares),
                can_pause=self._random.random() < 0.9,
            )
        known = self._trials[key]
        known.losses = 0
        known.generation += 1
        known.state = "offered"
        self._send(
            TrialOffered(
                at=self._at,
                study=key[0],
                number=key[1],
                generation=known.generation,
                request=known.request,
                priority=0,
                rung=known.rung,
                epochs_done=known.epochs,
                can_pause=known.can_pause,
                exact=self._random.random() < 0.7,
            )
        )

    def _added(self, study: str) -> StudyAdded:
        return a_study(self._random, study, self._at, budgets=self._gangs)

    def _study_event(self) -> None:
        if not self._studies:
            return
        study = self._random.choice(list(self._studies))
        busy = any(name == study for name, _ in self._trials)
        self._send(self._added(study) if busy else StudyEnded(at=self._at, study=study))
        if not busy:
            del self._studies[study]
            self._sent = [event for event in self._sent if getattr(event, "study", "") != study]

    def _withdraw(self) -> None:
        offered = [key for key, known in self._trials.items() if known.state == "offered"]
        if offered:
            study, number = self._random.choice(offered)
            del self._trials[study, number]
            self._send(TrialWithdrawn(at=self._at, study=study, number=number))

    def _node_event(self) -> None:
        if self._down and self._random.random() < 0.7:
            self._bring_up(self._random.choice(list(self._down)))
        elif self._nodes and self._random.random() < 0.5:
            self._cordon(self._random.choice(list(self._nodes)))
        elif self._nodes:
            name = self._random.choice(list(self._nodes))
            self._down[name] = self._nodes.pop(name)
            self._send(NodeDown(at=self._at, node=name))
            for key, known in list(self._trials.items()):
                held = known.former or known.workers
                if known.state in UNSETTLED or not any(s.node == name for s in (*known.workers, *known.former)):
                    continue
                survivors = [slot for slot in held if slot.node != name]
                if known.state == "resizing" and len(survivors) == len(held):  # only new workers were there
                    self._send(
                        ResizeRefused(
                            at=self._at, study=key[0], number=key[1], generation=known.generation, resize=known.resize
                        )
                    )
                elif survivors and self._random.random() < 0.7:
                    self._go_on(key, survivors)
                else:
                    known.state = "pausing"
                    self._unconfirmed.append(
                        TrialReleased(at=self._at, study=key[0], number=key[1], generation=known.generation)
                    )

    def _cordon(self, name: str) -> None:
        if name in self.policy.cordoned():
            self._send(NodeUncordoned(at=self._at, node=name))
        else:
            self._send(NodeCordoned(at=self._at, node=name, drain=self._random.random() < 0.5))

    def _bring_up(self, name: str) -> None:
        self._nodes[name] = self._down.pop(name)
        self._send(self._nodes[name])

    # --- actions ---------------------------------------------------------------------------------

    def _obey(self, action: Action) -> None:
        key = (action.study, action.number)
        known = self._trials.get(key)
        assert known is not None, f"{action} is about a trial that is over"
        assert action.generation == known.generation, f"{action} is of another generation"
        assert action.reason, action
        cordoned = self.policy.cordoned()
        self.log.append(f"{self._at:.1f} {type(action).__name__} {key} {action.reason}")
        where = About(at=self._at, study=action.study, number=action.number, generation=action.generation)
        match action:
            case Start():
                assert known.state == "offered", (action, known)
                self._check_size(known, action.workers)
                assert not any(slot.node in cordoned for slot in action.workers), (action, cordoned)
                known.state = "starting"
                known.workers = action.workers
                self._unconfirmed.append(TrialStarted(**where, start_s=3.0))
            case Resize():
                assert known.state in ("running", "at_rung"), (action, known)
                assert known.can_pause, (action, known)
                self._check_size(known, action.workers)
                added = Counter(action.workers) - Counter(known.workers)
                assert not any(slot.node in cordoned for slot in added), (action, cordoned)
                known.state, known.resize = "resizing", action.resize
                known.workers, known.former = action.workers, known.workers
                if self._random.random() < 0.8:
                    self._unconfirmed.append(TrialResized(**where, resize=action.resize, stall_s=3.0))
                else:
                    self._unconfirmed.append(ResizeRefused(**where, resize=action.resize))
            case Promote():
                assert known.state == "at_rung", (action, known)
                known.state = "running"
            case Pause():
                assert known.state == "at_rung" or (known.state == "running" and known.can_pause), (action, known)
                known.state = "pausing"
                self._unconfirmed.append(TrialReleased(**where))
            case Stop() if known.state == "at_rung":
                assert not known.can_pause, (action, known)
                known.state = "stopping"
                self._unconfirmed.append(TrialReleased(**where))
            case Stop() | Refuse():
                assert known.state == "offered", (action, known)
                del self._trials[key]

    def _check_size(self, known: Known, workers: tuple[WorkerSlot, ...]) -> None:
        request = known.request
        assert request.k_min <= len(workers) <= request.k_max, (request, workers)
        assert len(workers).bit_count() == 1, workers
        assert len({self._nodes[slot.node].device_model for slot in workers}) == 1, workers
