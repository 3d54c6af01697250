"""Ask and tell: for people who run their own loop and want only the proposals.

The study is a real one (journal in memory, one strategy in this process, the same head), only its runner is
the person: a "launched" trial is what `ask` hands out, and `tell` ends it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
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
    StudyShare,
    TrialEnded,
    TrialOffered,
    TrialWithdrawn,
    WorkerSlot,
)
from ..search.events import Enqueued, Event, StudyCreated
from ..search.journal.memory import MemoryJournal
from ..search.spec import Json
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


Told = float | Mapping[str, float]
"""One objective's value, or values by metric: all objectives, and what the study is subject to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A trial to run: its configuration and the seed to run it with; `parent` is the trial whose state it starts from
    (population-based training), None for a fresh start."""

    number: int
    config: Configuration
    seed: int
    parent: int | None = None


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

    def reported(self, number: int, step: int, metrics: Mapping[str, float]) -> None:
        self._happened.append(Reported(**self._whose(number), step=step, metrics=dict(metrics), can_pause=False))

    def completed(self, number: int, value: Json) -> None:
        self._end(number, Ended(**self._whose(number), outcome="completed", reason="told", value=value))

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
        return self.steps([event])

    def steps(self, events: Sequence[PoolEvent]) -> list[Action]:
        for event in events:
            match event:
                case TrialOffered():
                    self._line[event.number] = event
                case TrialWithdrawn() | TrialEnded():
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

    def shares(self, at: float) -> Sequence[StudyShare]:
        return ()

    def cordoned(self) -> Mapping[str, str]:
        return {}


class AskTell:
    """One session of `Study.ask` and `Study.tell`."""

    def __init__(self, study: Study) -> None:
        spec = study.spec()
        if study.space is None:
            raise SpecError("ask and tell need a space.", "Set space=Space(...).")
        if study.like is not None:
            raise SpecError(
                f"like={study.like!r}: ask and tell keep no data directory, so there is no study to borrow from.",
                "Leave like out, or use study.run().",
            )
        self._space = study.space
        self._spec = spec
        self._runner = PersonRunner()
        self._policy = OnDemandPolicy()
        self._host = InProcessHost()
        journal = MemoryJournal()
        self._state = StudyState.create(spec)
        self._head = Head(journal=journal, runner=self._runner, host=self._host, policy=self._policy, nodes=())
        request = Request(k_min=1, k_max=1, gpus=Fraction(0), cpus=1)
        run = StudyRun(self._state, journal, request, archive=None, study_dir=Path())
        first: list[Event] = [StudyCreated(at=self._runner.now(), spec=spec.to_json())]
        first += [Enqueued(at=self._runner.now(), config=config, key=key) for config, key in study.first_points]
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
        config = self._space.configuration(launch.config)
        return Asked(number=launch.number, config=config, seed=launch.seed, parent=launch.parent)

    def report(self, asked: Asked | int, step: int, value: Told) -> bool:
        """A value on the way, or several by metric, after `step` epochs; False: the stopping rule ended the trial, do
        not tell it."""
        number = self._open_number(asked)
        self._runner.reported(number, step, self._by_metric(value))
        self._turn()
        verdict = self._runner.verdicts.get(number)
        if verdict is None or verdict.step != step or verdict.verdict == "continue":
            return True
        self._runner.stopped(number)
        self._turn()
        return False

    def tell(self, asked: Asked | int, value: Told | None, *, failed: str = "") -> None:
        """The trial's end.

        Raises:
            StrategyError: the trial is not open, neither a value nor a failure is given, or an objective or a
                constraint's metric is missing.
        """
        number = self._open_number(asked)
        if failed:
            self._runner.failed(number, failed)
        elif value is None:
            raise StrategyError(f"tell({number}) has no value.", "Give the value, or failed='why'.")
        else:
            told = self._by_metric(value)
            self._refuse_missing(number, told)
            self._runner.completed(number, told)
        self._turn()

    def results(self) -> StudyResults:
        return StudyResults(self._state, self._space)

    def _by_metric(self, value: Told) -> dict[str, float]:
        """A value as that of the one objective; several are told by name."""
        if isinstance(value, Mapping):
            return {str(metric): _number(metric, one) for metric, one in value.items()}
        first, *others = self._spec.objectives
        if others:
            metrics = ", ".join(f"{objective.metric!r}: ..." for objective in self._spec.objectives)
            raise StrategyError(f"{value!r} is one value; the study has several objectives.", f"Give {{{metrics}}}.")
        return {first.metric: _number("value", value)}

    def _refuse_missing(self, number: int, told: Mapping[str, float]) -> None:
        reported = self._state.trials[number].columns
        needed = [objective.metric for objective in self._spec.objectives if objective.metric not in told]
        needed += [c.metric for c in self._spec.constraints if c.metric not in told and c.metric not in reported]
        if needed:
            has = ", ".join(map(repr, told)) or "nothing"
            raise StrategyError(
                f"tell({number}) lacks {', '.join(map(repr, needed))}; it has {has}.",
                f"Give {{{needed[0]!r}: ...}} too, or failed='why'.",
            )

    def _open_number(self, asked: Asked | int) -> int:
        number = asked if isinstance(asked, int) else asked.number
        if not self._runner.is_open(number):
            raise StrategyError(f"trial {number} is not open.", "Tell each asked trial once.")
        return number

    def _turn(self) -> None:
        """Head turns until nothing is left to do: a told result, the ask that follows, its answer, the start."""
        while self._head.turn():
            continue


def _number(name: object, value: Any) -> float:
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise StrategyError(f"{name}={value!r} is a {type(value).__name__}, not a number.", "Give a float.")
    return float(value)
