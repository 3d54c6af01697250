"""A head gone wild: every event that the port allows, confirmed late, twice, in any order, or never.

Plays against an elastic policy and checks after every event that no device is promised twice, that every trial is in
one state and that every action makes sense for the state its trial is in. Used by property tests and by
`python -m benchmarks.fuzz_scheduling`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import TypedDict

from ..elastic_policy import ElasticPolicy
from ..port import (
    Action,
    EpochEnded,
    Ladder,
    NodeDown,
    NodeUp,
    Pause,
    PoolEvent,
    Promote,
    Refuse,
    Request,
    Resize,
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
)

MILESTONES = (1, 3, 9)
SHARES = (Fraction(1), Fraction(1), Fraction(1), Fraction(2), Fraction(1, 2), Fraction(1, 10))


@dataclass(slots=True)
class Known:
    """What the head knows of a trial: offered, starting, running, at_rung, pausing or away."""

    request: Request
    generation: int = 0
    state: str = "away"
    rung: int = 0
    epochs: float = 0.0
    workers: int = 0
    nodes: frozenset[str] = frozenset()


class About(TypedDict):
    """Whom an event is about."""

    at: float
    study: str
    number: int
    generation: int


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
            count = random.choice((1, 2, 4, 8))
            gpus = tuple(f"n{i}.{g}" for g in range(count))
            self._down[f"n{i}"] = NodeUp(at=0.0, node=f"n{i}", gpus=gpus, cpus=4 * count, memory_gib=16.0 * count)
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

    def idle_while_wanted(self) -> list[int]:
        """New one-GPU trials that wait although a GPU is free; empty after `settle` unless work is not conserved."""
        held = sum(known.workers for known in self._trials.values())
        capacity = sum(len(node.gpus) for node in self._nodes.values())
        if held >= capacity:
            return []
        return [number for (_, number), known in self._trials.items() if known.state == "offered" and not known.rung]

    # --- events ----------------------------------------------------------------------------------

    def _send(self, event: PoolEvent) -> None:
        self._note(event)
        actions = self.policy.step(event)
        self._sent.append(event)
        del self._sent[:-50]
        for action in actions:
            self._obey(action)
        self.policy.validate_state()

    def _repeat(self, event: PoolEvent) -> None:
        """Late and repeated confirmations change nothing."""
        if isinstance(event, TrialStarted | TrialResized | TrialReleased | RungReached):
            actions = self.policy.step(event)
            assert not actions, f"{event} came twice and caused {actions}"
            self.policy.validate_state()

    def _note(self, event: PoolEvent) -> None:
        if isinstance(event, TrialStarted | TrialReleased):
            known = self._trials.get((event.study, event.number))
            if known is None or known.generation != event.generation:
                return
            if isinstance(event, TrialStarted) and known.state == "starting":
                known.state = "running"
            if isinstance(event, TrialReleased) and known.state == "pausing":
                known.state, known.workers, known.nodes = "away", 0, frozenset()

    def _progress(self) -> None:
        running = [key for key, known in self._trials.items() if known.state == "running"]
        if not running:
            return
        key = self._random.choice(running)
        known = self._trials[key]
        study, number = key
        where = About(at=self._at, study=study, number=number, generation=known.generation)
        draw = self._random.random()
        if draw < 0.1:  # its processes die
            known.state = "pausing"
            self._send(TrialReleased(**where))
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
            self._trials[key] = Known(request=self._request())
        known = self._trials[key]
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
            )
        )

    def _request(self) -> Request:
        share = self._random.choice(SHARES) if self._shares else Fraction(1)
        k_min = self._random.choice((1, 1, 1, 2)) if self._gangs else 1
        memory = self._random.choice((None, None, 1.5)) if self._shares else None
        return Request(k_min=k_min, k_max=k_min * self._random.choice((1, 2, 4)), gpus=share, cpus=1, memory_gib=memory)

    def _added(self, study: str) -> StudyAdded:
        ladder = Ladder(milestones=MILESTONES, eta=3, planned=self._random.randint(3, 30), lower_is_better=True)
        return StudyAdded(
            at=self._at,
            study=study,
            weight=self._random.choice((1.0, 2.0, 0.5)),
            priority=self._random.choice((0, 0, 1)),
            ladders=(ladder,),
        )

    def _study_event(self) -> None:
        if not self._studies:
            return
        study = self._random.choice(list(self._studies))
        busy = any(name == study for name, _ in self._trials)
        self._send(self._added(study) if busy else StudyEnded(at=self._at, study=study))
        if not busy:
            del self._studies[study]

    def _withdraw(self) -> None:
        offered = [key for key, known in self._trials.items() if known.state == "offered"]
        if offered:
            study, number = self._random.choice(offered)
            del self._trials[study, number]
            self._send(TrialWithdrawn(at=self._at, study=study, number=number))

    def _node_event(self) -> None:
        if self._down and self._random.random() < 0.7:
            self._bring_up(self._random.choice(list(self._down)))
        elif self._nodes:
            name = self._random.choice(list(self._nodes))
            self._down[name] = self._nodes.pop(name)
            self._send(NodeDown(at=self._at, node=name))
            for (study, number), known in list(self._trials.items()):
                if name in known.nodes:
                    known.state = "pausing"
                    event = TrialReleased(at=self._at, study=study, number=number, generation=known.generation)
                    self._unconfirmed.append(event)

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
        self.log.append(f"{self._at:.1f} {type(action).__name__} {key} {action.reason}")
        where = About(at=self._at, study=action.study, number=action.number, generation=action.generation)
        match action:
            case Start():
                assert known.state == "offered", (action, known)
                self._check_size(known, len(action.workers))
                known.state = "starting"
                known.nodes = frozenset(slot.node for slot in action.workers)
                self._unconfirmed.append(TrialStarted(**where, start_s=3.0))
            case Resize():
                assert known.state in ("running", "at_rung"), (action, known)
                self._check_size(known, len(action.workers))
                known.state = "running"
                known.nodes = frozenset(slot.node for slot in action.workers)
                self._unconfirmed.append(TrialResized(**where, resize=action.resize, stall_s=3.0))
            case Promote():
                assert known.state == "at_rung", (action, known)
                known.state = "running"
            case Pause():
                assert known.state in ("running", "at_rung"), (action, known)
                known.state = "pausing"
                self._unconfirmed.append(TrialReleased(**where))
            case Stop() | Refuse():
                assert known.state == "offered", (action, known)
                del self._trials[key]

    def _check_size(self, known: Known, workers: int) -> None:
        request = known.request
        assert request.k_min <= workers <= request.k_max, (request, workers)
        assert workers.bit_count() == 1, workers
        known.workers = workers
