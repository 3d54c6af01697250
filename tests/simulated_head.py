"""A head on a simulated pool: the real loop, journal in memory, virtual time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal.scheduler.first_come import FirstComePolicy
from shoal.scheduler.port import NodeUp, Request
from shoal.search.events import Event, StudyCreated
from shoal.search.journal.memory import MemoryJournal
from shoal.search.study_state import StudyState
from shoal.service.head import Head
from shoal.service.strategy_host import InProcessHost
from shoal.service.study_run import StudyRun
from shoal.spaces import Float, Space
from shoal.trial_runner.simulated import Model, SimulatedRunner

ONE_GPU = Request(k_min=1, k_max=1, gpus=Fraction(1), cpus=0)


def objective(config: Any) -> float:
    """Never called: the simulated runner has a model instead."""
    raise AssertionError


def curve(number: int, config: Any, seed: int, step: int) -> tuple[float, dict[str, float]] | None:
    """Nine epochs of one second; better the nearer x is to 0.3."""
    return (1.0, {"score": 1.0 - abs(config["x"] - 0.3) - 1.0 / (step + 1)}) if step <= 9 else None


@dataclass
class SimulatedHead:
    """A head, its parts, and what its observers saw."""

    head: Head
    journal: MemoryJournal
    runner: Any
    policy: Any
    events: list[Event] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    states: dict[str, StudyState] = field(default_factory=dict)

    def add(self, study: shoal.Study, *, request: Request = ONE_GPU) -> StudyState:
        """Create the study and give it to the head."""
        spec = study.spec()
        state = StudyState.create(spec)
        self.states[spec.name] = state
        run = StudyRun(state, self.journal, request, None, Path())
        self.head.add(run, [StudyCreated(at=self.runner.now(), spec=spec.to_json())])
        return state

    def turns(self, until: Callable[[], bool], limit: int = 1000) -> None:
        for _ in range(limit):
            if until():
                return
            self.head.turn()
        raise AssertionError(f"not reached in {limit} turns")


MakeHead = Callable[..., SimulatedHead]
MakeStudy = Callable[..., shoal.Study]


@pytest.fixture
def make_head() -> MakeHead:
    def make(
        model: Model = curve,
        *,
        gpus: int = 4,
        runner: Any = None,
        host: Any = None,
        policy: Any = None,
        interrupts: Any = None,
        asks: Sequence[Any] = (),
        journal: MemoryJournal | None = None,
    ) -> SimulatedHead:
        journal = journal or MemoryJournal()
        runner = runner or SimulatedRunner(model, asks=asks)
        policy = policy or FirstComePolicy()
        notices: list[str] = []
        ids = tuple(f"gpu{index}" for index in range(gpus))
        head = Head(
            journal=journal,
            runner=runner,
            host=host or InProcessHost(),
            policy=policy,
            nodes=[NodeUp(at=0.0, node="a", gpus=ids, cpus=4, memory_gib=8.0)],
            interrupts=interrupts,
            notice=notices.append,
        )
        simulated = SimulatedHead(head=head, journal=journal, runner=runner, policy=policy, notices=notices)
        head.subscribe(lambda state, event: simulated.events.append(event))
        return simulated

    return make


@pytest.fixture
def make_study() -> MakeStudy:
    def make(**settings: Any) -> shoal.Study:
        given: dict[str, Any] = {
            "space": Space(x=Float(0.0, 1.0)),
            "train": objective,
            "maximize": "score",
            "trials": 12,
            "strategy": "random",
            "name": "s",
        }
        return shoal.Study(**(given | settings))

    return make
