"""A runner without processes: trials are functions of (number, config, seed, step), time is virtual and
costs nothing.

The second implementation of the runner port (`service/ports.py`), beside the node agent. It serves tests,
policies and the comparison of a real run with its ideal: `drain` jumps to the next event, so a study of
hours takes milliseconds. Deterministic: events are ordered by (time, the order in which they were
scheduled).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from .messages import (
    AnswerReport,
    AnswerSuggestion,
    Ended,
    ForgetStudy,
    Instruction,
    Json,
    KillTrial,
    LaunchTrial,
    PauseTrial,
    Prepared,
    PrepareStudy,
    Reported,
    Resized,
    ResizeTrial,
    RunnerEvent,
    Started,
    SuggestionAsked,
)

TrialKey = tuple[str, int]

Outcome = Literal["completed", "stopped", "failed", "cancelled", "paused"]

Epoch = tuple[float, Mapping[str, float]]
"""How long an epoch takes (seconds) and what it reports."""

Model = Callable[[int, Json, int, int], Epoch | None]
"""`model(number, config, seed, step)` describes epoch `step` (from 1); None: the function returns before
it."""


class SimulatedFailure(Exception):
    """Raised by a model: the trial fails here. `kind` is a FailureKind name such as "OOM" or "LOST"."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(kind, text)
        self.kind = kind
        self.text = text


@dataclass(slots=True)
class SimulatedTrial:
    """One launched trial between its start and its end."""

    launch: LaunchTrial
    step: int
    run_s: float = 0.0
    answered: dict[str, Json] = field(default_factory=dict)
    pause_reason: str | None = None


class SimulatedRunner:
    """Runs trials in virtual time.

    Args:
        model: what every epoch costs and reports.
        start_s: seconds from launch to the first line of user code, also after a pause.
        can_pause: whether trials keep a checkpoint at every epoch.
        asks: define by run: (path, domain as JSON) pairs that every trial asks for before its first epoch;
            the model is then given the answers as its config.
        start_at: where the clock starts, seconds since the epoch.
    """

    def __init__(
        self,
        model: Model,
        *,
        start_s: float = 0.0,
        can_pause: bool = True,
        asks: Sequence[tuple[str, Json]] = (),
        start_at: float = 0.0,
    ) -> None:
        self._model = model
        self._start_s = start_s
        self._can_pause = can_pause
        self._asks = tuple(asks)
        self._now = start_at
        self._scheduled: list[tuple[float, int, TrialKey, int, RunnerEvent]] = []
        self._order = 0
        self._running: dict[TrialKey, SimulatedTrial] = {}
        self._waiting_for_verdict: set[TrialKey] = set()
        self._reached: dict[TrialKey, int] = {}

    # --- the port --------------------------------------------------------------------------------

    def now(self) -> float:
        return self._now

    def waitables(self) -> Sequence[int]:
        return ()

    def next_due_s(self) -> float | None:
        return 0.0 if self._scheduled else None

    def drain(self) -> list[RunnerEvent]:
        """Everything that happens at the next moment at which something happens."""
        self._drop_stale()
        if not self._scheduled:
            return []
        self._now = max(self._now, self._scheduled[0][0])
        events: list[RunnerEvent] = []
        while self._scheduled and self._scheduled[0][0] <= self._now:
            _, _, key, generation, event = heapq.heappop(self._scheduled)
            if self._is_stale(key, generation):
                continue
            events.append(event)
            self._happened(key, event)
        return events

    def close(self) -> None:
        self._scheduled.clear()
        self._running.clear()
        self._waiting_for_verdict.clear()

    def perform(self, instruction: Instruction) -> None:
        match instruction:
            case PrepareStudy():
                ready = Prepared(study=instruction.study, ok=True, note="")
                self._schedule(0.0, (instruction.study, -1), -1, ready)
            case LaunchTrial():
                self._launch(instruction)
            case AnswerReport():
                self._answer_report(instruction)
            case AnswerSuggestion():
                self._answer_suggestion(instruction)
            case PauseTrial():
                self._pause(instruction)
            case KillTrial():
                self._kill(instruction)
            case ResizeTrial():
                self._resize(instruction)
            case ForgetStudy():
                pass

    # --- instructions ----------------------------------------------------------------------------

    def _launch(self, launch: LaunchTrial) -> None:
        key = (launch.study, launch.number)
        assert key not in self._running, f"{key} was launched while it runs"
        step = launch.reported_step
        if launch.parent is not None:
            step = max(step, self._reached.get((launch.study, launch.parent), 0))
        trial = SimulatedTrial(launch=launch, step=step, answered=dict(launch.suggested))
        self._running[key] = trial
        started = Started(
            study=launch.study,
            number=launch.number,
            generation=launch.generation,
            start_s=self._start_s,
            pids=(),
        )
        self._schedule(self._start_s, key, launch.generation, started)

    def _answer_report(self, answer: AnswerReport) -> None:
        key = (answer.study, answer.number)
        if self._is_stale(key, answer.generation) or key not in self._waiting_for_verdict:
            return
        self._waiting_for_verdict.discard(key)
        trial = self._running[key]
        if answer.verdict == "stop":
            self._end(key, "stopped", answer.reason)
        elif answer.verdict == "pause":
            self._end(key, "paused", answer.reason)
        elif trial.pause_reason is not None and self._can_pause:
            self._end(key, "paused", trial.pause_reason)
        else:
            self._next_epoch(key)

    def _answer_suggestion(self, answer: AnswerSuggestion) -> None:
        key = (answer.study, answer.number)
        if self._is_stale(key, answer.generation):
            return
        if answer.error:
            self._end(key, "failed", answer.error, failure="BUG")
            return
        self._running[key].answered[answer.path] = answer.value
        self._ask_or_train(key)

    def _pause(self, pause: PauseTrial) -> None:
        key = (pause.study, pause.number)
        if not self._is_stale(key, pause.generation):
            self._running[key].pause_reason = pause.reason

    def _resize(self, order: ResizeTrial) -> None:
        """At once, and without an effect on the speed: the model knows nothing of workers."""
        key = (order.study, order.number)
        if not self._is_stale(key, order.generation):
            resized = Resized(
                study=order.study,
                number=order.number,
                generation=order.generation,
                resize=order.resize,
                ok=True,
                slots=order.slots,
                stall_s=0.0,
                reason=f"{len(order.slots)} workers",
            )
            self._schedule(0.0, key, order.generation, resized)

    def _kill(self, kill: KillTrial) -> None:
        key = (kill.study, kill.number)
        if not self._is_stale(key, kill.generation):
            self._end(key, "cancelled", kill.reason)

    # --- the trial's own course ------------------------------------------------------------------

    def _happened(self, key: TrialKey, event: RunnerEvent) -> None:
        match event:
            case Started():
                self._ask_or_train(key)
            case Reported():
                self._waiting_for_verdict.add(key)
                self._running[key].step = self._reached[key] = event.step
            case Ended():
                del self._running[key]
                self._waiting_for_verdict.discard(key)
            case _:
                pass

    def _ask_or_train(self, key: TrialKey) -> None:
        trial = self._running[key]
        for path, domain in self._asks:
            if path not in trial.answered:
                asked = SuggestionAsked(
                    study=key[0],
                    number=key[1],
                    generation=trial.launch.generation,
                    path=path,
                    domain=domain,
                )
                self._schedule(0.0, key, trial.launch.generation, asked)
                return
        self._next_epoch(key)

    def _next_epoch(self, key: TrialKey) -> None:
        trial = self._running[key]
        launch = trial.launch
        config = trial.answered if self._asks else launch.config
        try:
            epoch = self._model(launch.number, config, launch.seed, trial.step + 1)
        except SimulatedFailure as failure:
            self._end(key, "failed", failure.text, failure=failure.kind)
            return
        if epoch is None:
            self._end(key, "completed", "the function returned")
            return
        epoch_s, metrics = epoch
        limit_s = launch.time_limit_s if launch.time_limit_s is not None else math.inf
        if trial.run_s + epoch_s > limit_s:
            reason = f"time limit of {limit_s:g} s"
            self._end(key, "failed", reason, failure="TIMEOUT", after_s=limit_s - trial.run_s)
            return
        trial.run_s += epoch_s
        report = Reported(
            study=launch.study,
            number=launch.number,
            generation=launch.generation,
            step=trial.step + 1,
            metrics=metrics,
            can_pause=self._can_pause,
        )
        self._schedule(epoch_s, key, launch.generation, report)

    def _end(
        self,
        key: TrialKey,
        outcome: Outcome,
        reason: str,
        *,
        failure: str | None = None,
        after_s: float = 0.0,
    ) -> None:
        """Schedule the trial's end; whatever else it had ahead is void."""
        trial = self._running[key]
        self._waiting_for_verdict.discard(key)
        self._scheduled = [entry for entry in self._scheduled if entry[2] != key]
        heapq.heapify(self._scheduled)
        ended = Ended(
            study=key[0],
            number=key[1],
            generation=trial.launch.generation,
            outcome=outcome,
            reason=reason,
            failure=failure,
            phases_s={"start": self._start_s, "user": trial.run_s},
        )
        self._schedule(after_s, key, trial.launch.generation, ended)

    def _schedule(self, after_s: float, key: TrialKey, generation: int, event: RunnerEvent) -> None:
        self._order += 1
        heapq.heappush(self._scheduled, (self._now + after_s, self._order, key, generation, event))

    def _is_stale(self, key: TrialKey, generation: int) -> bool:
        if key[1] < 0:  # about a study, not a trial
            return False
        trial = self._running.get(key)
        return trial is None or trial.launch.generation != generation

    def _drop_stale(self) -> None:
        while self._scheduled and self._is_stale(self._scheduled[0][2], self._scheduled[0][3]):
            heapq.heappop(self._scheduled)
