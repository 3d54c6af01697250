"""How good rules are that stop early: regret of whole studies, decided by the real study state, on a simulated device.

The protocol of the recorded anchors: a budget of 20 full trainings, one device, a new epoch costs one epoch whether the
trial was paused or not, and the regret is that of the best loss that any epoch has reported so far. Read at 10, 25, 50
and 100 % of the budget.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shoal.search import strategies
from shoal.search.early_stopping import to_chosen
from shoal.search.events import Event, HeadOpened, Outcome, StudyCreated, TrialAssigned, TrialEnded, TrialReported
from shoal.search.instructions import Answer, Ask, Offer
from shoal.search.instructions import Outcome as Decisions
from shoal.search.spec import Budget, Chosen, EntryPoint, Objective, StudySpec
from shoal.search.strategies.port import Strategy
from shoal.search.study_state import StudyState

from .search_tasks.curves import CurveTask, curve_task
from .search_tasks.data import folder

FULL_TRAININGS = 20
READ_AT = (10, 25, 50, 100)
"""Percent of the budget."""
DOWN = (Objective(metric="loss", direction="minimize"),)

METHODS: dict[str, tuple[str, Mapping[str, Any], str | None]] = {
    "random": ("random", {}, None),
    "asha": ("random", {}, "asha"),
    "hyperband": ("random", {}, "hyperband"),
    "asha_bayesian": ("bayesian", {"random_share": 0.33}, "asha"),
    "freeze_thaw": ("bayesian", {"random_share": 0.33}, "freeze_thaw"),
}
"""Strategy, its options (a third at random, as BOHB has it: trials that stop early are cheap), stopping rule."""


def run(method: str, task_name: str, seed: int) -> dict[int, float]:
    """One study: regret by percent of the budget."""
    strategy, options, rule = METHODS[method]
    return one_run(curve_task(task_name), strategy, options, rule, {}, seed)


def summary(runs: Sequence[Mapping[int, float]]) -> dict[str, float]:
    """The keys of one method."""
    keys = {f"mean_regret_{p}pct": round(float(np.mean([run[p] for run in runs])), 4) for p in READ_AT}
    return keys | {"median_regret_100pct": round(float(np.median([run[100] for run in runs])), 4)}


def recorded() -> dict[str, dict[str, float]]:
    """What existing tools reached on the five tasks: DEHB, SMAC3's Hyperband, ASHA, TPE and others."""
    runs: dict[str, list[dict[int, float]]] = {}
    with (folder() / "anchors" / "multi_fidelity.csv").open(newline="") as lines:
        for row in csv.DictReader(lines):
            runs.setdefault(row["method"], []).append({p: float(row[f"regret_{p}pct"]) for p in READ_AT})
    return {method: summary(found) for method, found in runs.items()}


def one_run(
    task: CurveTask, strategy: str, options: Mapping[str, Any], rule: str | None, rule_options: Mapping[str, Any],
    seed: int,
) -> dict[int, float]:  # fmt: skip
    """Regret by percent of the budget."""
    stopping = None if rule is None else Chosen(name=rule, options={"max_epochs": task.epochs, **rule_options})
    spec = StudySpec(
        name="s",
        space=task.space.to_json(),
        objectives=DOWN,
        entry=EntryPoint(kind="trial", module="none", function="none"),
        strategy=Chosen(name=strategy, options=options),
        early_stopping=to_chosen(stopping),
        budget=Budget(trials=None, study_time_limit_s=1e9),
        seed=seed,
    )
    device = OneDevice(task, StudyState.create(spec), strategies.make(spec.strategy, task.space, DOWN, seed=seed))
    lowest = np.minimum.accumulate(device.losses(FULL_TRAININGS * task.epochs))
    return {percent: task.regret(lowest[len(lowest) * percent // 100 - 1]) for percent in READ_AT}


class OneDevice:
    """A study on one device: what the head, a first-come policy and a runner do, without their processes."""

    def __init__(self, task: CurveTask, state: StudyState, strategy: Strategy) -> None:
        self._task = task
        self._state = state
        self._strategy = strategy
        self._waiting: dict[int, Offer] = {}
        self._asks: list[Ask] = []
        self._answer: Answer | None = None
        self._seq = 0
        self._at = 0.0
        self._handle(StudyCreated(at=0.0, spec=state.spec.to_json()))
        self._handle(HeadOpened(at=0.0, fence=1, host="here", pid=1))

    def losses(self, epochs: int) -> list[float]:
        """What so many epochs reported, one after the other."""
        seen: list[float] = []
        while len(seen) < epochs:
            self._wish(1)
            number = min(self._waiting, key=lambda n: (-self._waiting[n].rung, n))
            self._run(self._waiting.pop(number), seen, epochs)
        return seen

    def _run(self, offer: Offer, seen: list[float], epochs: int) -> None:
        number, generation = offer.number, offer.generation
        record = self._state.trials[number]
        assigned = TrialAssigned(
            at=self._at, number=number, generation=generation, node="a", workers=1, gpus=(), gpu_share=1.0,
            reason="it is free",
        )  # fmt: skip
        self._handle(assigned)
        self._wish(0)
        curve = self._task.curve(self._task.space.configuration(record.config))
        outcome: Outcome = "completed"
        for step in range(record.last_step + 1, self._task.epochs + 1):
            self._at += 1.0
            seen.append(float(curve[step - 1]))
            report = TrialReported(
                at=self._at, number=number, generation=generation, step=step, metrics={"loss": seen[-1]}, can_pause=True
            )
            self._handle(report)
            assert self._answer is not None, "every report is answered"
            if self._answer.verdict != "continue" or len(seen) == epochs:
                outcome = "paused" if self._answer.verdict == "pause" else "stopped"
                break
        self._handle(
            TrialEnded(at=self._at, number=number, generation=generation, outcome=outcome, reason="as told")
        )

    def _handle(self, event: Event) -> None:
        self._seq += 1
        self._take(self._state.handle(event, self._seq))

    def _wish(self, room: int) -> None:
        self._take(self._state.wish(room, self._at, self._seq + 1))
        while self._asks:
            ask = self._asks.pop()
            self._strategy.tell(ask.results)
            proposals = self._strategy.ask(ask.first_number, ask.n, ask.pending, ask.seed)
            self._take(self._state.answer(ask.ask, proposals, False, "", self._at, self._seq + 1))

    def _take(self, outcome: Decisions) -> None:
        self._seq += len(outcome.events)
        for instruction in outcome.instructions:
            match instruction:
                case Offer():
                    self._waiting[instruction.number] = instruction
                case Ask():
                    self._asks.append(instruction)
                case Answer():
                    self._answer = instruction
