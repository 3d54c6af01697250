"""How long the policy takes to decide on a pool of 10,000 GPUs with 12,000 candidates.

CPU time of the deciding thread: the policy neither waits nor does I/O, so on a quiet core this is the wall time, and on
a busy one it is still the policy's own.
"""

from __future__ import annotations

import random
import statistics
import time
from collections import deque
from fractions import Fraction

from shoal.scheduler.elastic_policy import ElasticPolicy
from shoal.scheduler.port import (
    Action,
    EpochEnded,
    Ladder,
    Pause,
    PoolEvent,
    Promote,
    Request,
    Resize,
    RungReached,
    Start,
    StudyAdded,
    Tick,
    TrialEnded,
    TrialOffered,
    TrialReleased,
    TrialResized,
    TrialStarted,
)

from .scheduling_workload import nodes

NUM_GPUS, STUDIES, CANDIDATES = 10_000, 200, 60
EVENTS = 2_000
MILESTONES = (1, 3, 9, 27, 81)


class Stream:
    """Plays trials against the policy: at random, one of them reaches a rung."""

    def __init__(self, policy: ElasticPolicy, seed: int = 0) -> None:
        self._policy = policy
        self._random = random.Random(seed)
        self._at = 0.0
        self._next = CANDIDATES
        self._running: dict[tuple[str, int], tuple[int, int]] = {}
        self._generation: dict[tuple[str, int], int] = {}
        self._rung: dict[tuple[str, int], int] = {}
        self.times_s: list[float] = []
        self.starts = 0

    def offer(self, study: str, number: int) -> TrialOffered:
        key = (study, number)
        self._generation[key] = self._generation.get(key, 0) + 1
        rung = self._rung.get(key, 0)
        serial = self._random.choice((0.02, 0.05, 0.1, 0.25))
        return TrialOffered(
            at=self._at,
            study=study,
            number=number,
            generation=self._generation[key],
            request=Request(k_min=1, k_max=32, gpus=Fraction(1), cpus=1),
            priority=0,
            rung=rung,
            epochs_done=float(MILESTONES[rung - 1]) if rung else 0.0,
            epoch_s=60.0,
            speedups=tuple(1 / (serial + (1 - serial) / (1 << i)) for i in range(6)),
        )

    def fill(self) -> float:
        """Offer everything at once; seconds of the decision that starts it all."""
        events: list[PoolEvent] = list(nodes(NUM_GPUS))
        ladder = Ladder(milestones=MILESTONES, eta=3, planned=4 * CANDIDATES, lower_is_better=True)
        for index in range(STUDIES):
            weight = self._random.choice((1.0, 1.0, 2.0, 4.0))
            events.append(StudyAdded(at=0.0, study=f"s{index}", weight=weight, ladders=(ladder,)))
            events += [self.offer(f"s{index}", number) for number in range(CANDIDATES)]
        return self._decide(events, timed=False)

    def tick(self) -> float:
        """Seconds to decide everything anew."""
        self._at += 1.0
        return self._decide([Tick(at=self._at)], timed=False)

    def event(self) -> None:
        """One trial ends its segment; its devices find somebody else."""
        self._at += 0.05
        study, number = self._random.choice(list(self._running))
        generation, _ = self._running[study, number]
        rung = self._rung.get((study, number), 0)
        at = self._at
        self._decide(
            [
                EpochEnded(
                    at=at,
                    study=study,
                    number=number,
                    generation=generation,
                    epochs_done=float(MILESTONES[rung]),
                    epoch_s=0.0,
                ),
                RungReached(
                    at=at, study=study, number=number, generation=generation, rung=rung, value=self._random.random()
                ),
            ]
        )
        self._rung[study, number] = rung + 1
        if rung + 1 == len(MILESTONES):
            self._running.pop((study, number), None)
            self._decide(
                [
                    TrialReleased(at=at, study=study, number=number, generation=generation),
                    TrialEnded(at=at, study=study, number=number),
                ]
            )
        self._next += 1
        self._decide([self.offer(study, self._next)])

    def _decide(self, events: list[PoolEvent], *, timed: bool = True) -> float:
        """Tell the policy and do what it says until it says nothing more; seconds of the first decision."""
        told = deque([events])
        first_s = 0.0
        while told:
            began = time.thread_time()
            actions = self._policy.steps(told.popleft())
            took = time.thread_time() - began
            first_s = first_s or took
            if timed:
                self.times_s.append(took)
            told.extend(self._obey(actions))
        return first_s

    def _obey(self, actions: list[Action]) -> list[list[PoolEvent]]:
        """What the pool answers to the actions, one batch of events each."""
        answers: list[list[PoolEvent]] = []
        at = self._at
        for action in actions:
            study, number, generation = action.study, action.number, action.generation
            match action:
                case Start():
                    self.starts += 1
                    self._running[study, number] = (generation, len(action.workers))
                    answers.append(
                        [TrialStarted(at=at, study=study, number=number, generation=generation, start_s=3.0)]
                    )
                case Resize():
                    answers.append(
                        [
                            TrialResized(
                                at=at,
                                study=study,
                                number=number,
                                generation=generation,
                                resize=action.resize,
                                stall_s=3.0,
                            )
                        ]
                    )
                case Pause():
                    self._running.pop((study, number), None)
                    released = TrialReleased(at=at, study=study, number=number, generation=generation)
                    answers.append([released, self.offer(study, number)])
                case Promote():
                    pass
        return answers


def decision_times() -> dict[str, float]:
    """Milliseconds: deciding everything anew, and one event's median and 99th percentile."""
    policy = ElasticPolicy()
    stream = Stream(policy)
    cold_s = stream.fill()
    for _ in range(EVENTS // 4):
        stream.event()
    stream.times_s.clear()
    for _ in range(EVENTS):
        stream.event()
    full_s = min(stream.tick() for _ in range(3))
    times = sorted(stream.times_s)
    return {
        "decision_full_ms_10k": 1e3 * full_s,
        "decision_cold_ms_10k": 1e3 * cold_s,
        "decision_p50_ms_10k": 1e3 * statistics.median(times),
        "decision_p99_ms_10k": 1e3 * times[int(0.99 * len(times))],
        "decisions_timed": float(len(times)),
    }
