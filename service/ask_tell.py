"""Ask and tell: for people who run their own loop and want only the proposals.

The study is a real one (journal in memory, one strategy in this process, the same head), only its runner is
the person: a "launched" trial is what `ask` hands out, and `tell` ends it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import SpecError, StrategyError
from ..scheduler.port import (
    Action,
    PoolEvent,
    Request,
    Start,
    TrialOffered,
    TrialWithdrawn,
    WorkerSlot,
)
from ..search.events import Enqueued, Event, StudyCreated
from ..search.journal.memory import MemoryJournal
from ..search.numbers import encode_number
from ..search.study_state import StudyState
from ..spaces import Configuration
from ..trial_runner.messages import (
    AnswerReport,
    Ended,
    Instruction,
    KillTrial,
    LaunchTrial,
    Prepared,
    PrepareStudy,
    Reported,
    RunnerEvent,
)
from .head import Head
from .results import StudyResults
from .strategy_host import InProcessHost
from .study_run import StudyRun

if TYPE_CHECKING:
    from .study import Study


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A trial to run: its configuration and the seed to run it with."""

    number: int
    config: Configuration
    seed: int


class PersonRunner:
    """The runner port over a person: launches wait to be asked for, ends are told."""

    def __init__(self) -> None:
        self.launched: deque[LaunchTrial] = deque()
        self.verdicts: dict[int, AnswerReport] = {}
        self._open: dict[int, LaunchTrial] = {}
        self._happened: list[RunnerEvent] = []

    def now(self) -> float:
        return time.time()

    def perform(self, instruction: Instruction) -> None:
        match instruction:
            case LaunchTrial():
                self._open[instruction.number] = instruction
                self.launched.append(instruction)
            case AnswerReport():
                self.verdicts[instruction.number] = instruction
            case KillTrial() if instruction.number in self._open:
                whose = self._whose(instruction.number)
                self._end(instruction.number, Ended(**whose, outcome="cancelled", reason=instruction.reason))
            case PrepareStudy():
                self._happened.append(Prepared(study=instruction.study, ok=True, note=""))
            case _:
                pass

    def waitables(self) -> Sequence[int]:
        return ()

    def next_due_s(self) -> float | None:
        return 0.0

    def drain(self) -> list[RunnerEvent]:
        happened, self._happened = self._happened, []
        return happened

    def close(self) -> None:
        self._open.clear()

    def is_open(self, number: int) -> bool:
        return number in self._open

    def reported(self, number: int, step: int, metric: str, value: float) -> None:
        metrics = {metric: encode_number(value)}
        self._happened.append(Reported(**self._whose(number), step=step, metrics=metrics, can_pause=False))

    def completed(self, number: int, value: float) -> None:
        told = Ended(**self._whose(number), outcome="completed", reason="told", value=encode_number(value))
        self._end(number, told)

    def stopped(self, number: int) -> None:
        reason = self.verdicts[number].reason
        self._end(number, Ended(**self._whose(number), outcome="stopped", reason=reason))

    def failed(self, number: int, why: str) -> None:
        self._end(number, Ended(**self._whose(number), outcome="failed", reason=why, failure="BUG"))

    def _end(self, number: int, ended: Ended) -> None:
        self._happened.append(ended)
        del self._open[number]

    def _whose(self, number: int) -> dict[str, Any]:
        launch = self._open[number]
        return {"study": launch.study, "number": number, "generation": launch.generation}


class OnDemandPolicy:
    """Starts exactly as many trials as were asked for, in the order offered."""

    def __init__(self) -> None:
        self.demand = 0
        self._line: dict[int, TrialOffered] = {}

    def step(self, event: PoolEvent) -> list[Action]:
        match event:
            case TrialOffered():
                self._line[event.number] = event
            case TrialWithdrawn():
                self._line.pop(event.number, None)
            case _:
                pass
        started: list[Action] = []
        while self._line and self.demand > 0:
            self.demand -= 1
            offer = self._line.pop(next(iter(self._line)))
            started.append(
                Start(
                    study=offer.study,
                    number=offer.number,
                    generation=offer.generation,
                    reason="asked for",
                    node="by hand",
                    workers=(WorkerSlot(gpus=(), share=Fraction(0), cpus=1),),
                )
            )
        return started

    def waiting(self) -> Sequence[tuple[str, int, str]]:
        return [(offer.study, offer.number, "nobody asked for it yet") for offer in self._line.values()]

    def room(self, request: Request) -> int:
        """One less than is asked for: the strategy thinks one trial ahead of `room`, and a person who tells
        a result before asking again wants the next proposal to know of it."""
        return self.demand - 1


class AskTell:
    """One session of `Study.ask` and `Study.tell`."""

    def __init__(self, study: Study) -> None:
        spec = study.spec()
        if study.space is None:
            raise SpecError("ask and tell need a space.", "Set space=Space(...).")
        self._space = study.space
        self._metric = spec.objective.metric
        self._runner = PersonRunner()
        self._policy = OnDemandPolicy()
        self._host = InProcessHost()
        journal = MemoryJournal()
        self._state = StudyState.create(spec)
        self._head = Head(journal=journal, runner=self._runner, host=self._host, policy=self._policy, nodes=())
        request = Request(k_min=1, k_max=1, gpus=Fraction(0), cpus=1)
        run = StudyRun(self._state, journal, request, archive=None, study_dir=Path())
        first: list[Event] = [StudyCreated(at=self._runner.now(), spec=spec.to_json())]
        first += [Enqueued(at=self._runner.now(), config=config, key=key) for config, key in study.enqueue]
        self._head.add(run, first)
        self._turn()

    def ask(self) -> Asked:
        """The next trial.

        Raises:
            StrategyError: the study has no more.
        """
        if not self._runner.launched:
            self._policy.demand += 1
            self._head.reconsider()
            self._turn()
        if not self._runner.launched:
            self._policy.demand = 0
            raise StrategyError(
                f"study {self._state.name} has nothing to ask for: {self._state.reason}.",
                "Raise trials=, or tell the results that are still open.",
            )
        launch = self._runner.launched.popleft()
        return Asked(number=launch.number, config=self._space.configuration(launch.config), seed=launch.seed)

    def report(self, asked: Asked | int, step: int, value: float) -> bool:
        """A value on the way, after `step` epochs; False: the stopping rule ended the trial, do not tell
        it."""
        number = self._open_number(asked)
        self._runner.reported(number, step, self._metric, _finite_or_not("value", value))
        self._turn()
        verdict = self._runner.verdicts.get(number)
        if verdict is None or verdict.step != step or verdict.verdict == "continue":
            return True
        self._runner.stopped(number)
        self._turn()
        return False

    def tell(self, asked: Asked | int, value: float | None, *, failed: str = "") -> None:
        """The trial's end.

        Raises:
            StrategyError: the trial is not open, or neither a value nor a failure is given.
        """
        number = self._open_number(asked)
        if failed:
            self._runner.failed(number, failed)
        elif value is None:
            raise StrategyError(f"tell({number}) has no value.", "Give the value, or failed='why'.")
        else:
            self._runner.completed(number, _finite_or_not("value", value))
        self._turn()

    def results(self) -> StudyResults:
        return StudyResults(self._state, self._space)

    def _open_number(self, asked: Asked | int) -> int:
        number = asked if isinstance(asked, int) else asked.number
        if not self._runner.is_open(number):
            raise StrategyError(f"trial {number} is not open.", "Tell each asked trial once.")
        return number

    def _turn(self) -> None:
        """Head turns until nothing is left to do: a told result, the ask that follows, its answer, the start."""
        while self._head.turn():
            continue


def _finite_or_not(name: str, value: Any) -> float:
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise StrategyError(f"{name}={value!r} is a {type(value).__name__}, not a number.", "Give a float.")
    return float(value)
