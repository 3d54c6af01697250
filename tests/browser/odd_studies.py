"""Studies that no page may stumble over, written straight into a journal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from shoal.search import events as e
from shoal.search.journal.sqlite import SqliteJournal
from shoal.search.spec import Budget, Chosen, EntryPoint, Objective, StudySpec
from shoal.spaces import Categorical, Float, Space

HARM = "<img src=x onerror=window.harmed=1>"
MARKUP = f"\"quoted\" & {HARM}"
CHOICES = Space(
    flag=Categorical([True, False]), odd=Categorical([(0, "a"), None, 1, 1.0, "1", HARM]), lr=Float(1e-3, 1.0, log=True)
)
Told = Sequence[tuple[str, Any]]

FINE: Told = [("completed" if n % 3 else "stopped", n / 20) for n in range(12)]
STUDIES: Mapping[str, tuple[Space | None, Told]] = {
    "not-finite": (CHOICES, [("completed", 0.5), ("completed", "nan"), ("stopped", "inf"), ("failed", "-inf"), *FINE]),
    "nothing-finished": (CHOICES, [("running", 0.5), ("running", None), ("queued", None)]),
    "no-trials": (CHOICES, []),
    "no-parameters": (Space(), FINE[:2]),
    "choices": (CHOICES, FINE),
    "all-failed": (CHOICES, [("failed", 0.1)] * 3),
    "thousand-parameters": (Space(**{f"p{n}": Float(0.0, 1.0) for n in range(1000)}), FINE[:4]),
    "names-with-markup": (None, FINE),
}
"""By name: the space (None: define by run, with markup in the parameters' names), (outcome, value) of each trial."""


def write_odd_studies(data: Path) -> None:
    """Make a data directory with all of them."""
    data.mkdir(parents=True, exist_ok=True)
    journal = SqliteJournal(data / "journal.db")
    try:
        for name, (space, told) in STUDIES.items():
            journal.append(name, [e.StudyCreated(at=0.0, spec=_spec(name, space, len(told)).to_json())])
            for number, (outcome, value) in enumerate(told):
                journal.append(name, one_trial(space, number, outcome, value))
            journal.commit()
    finally:
        journal.close()


def write_two_objectives(data: Path, name: str) -> None:
    """A study of 12 trials that raises score (0.0, 0.05, ...) and lowers ms (100, 99, ...)."""
    goals = (Objective(metric="score", direction="maximize"), Objective(metric="ms", direction="minimize"))
    journal = SqliteJournal(data / "journal.db")
    try:
        spec = replace(_spec(name, CHOICES, len(FINE)), objectives=goals)
        journal.append(name, [e.StudyCreated(at=0.0, spec=spec.to_json())])
        for number, (outcome, value) in enumerate(FINE):
            journal.append(name, one_trial(CHOICES, number, outcome, value, ms=100.0 - number))
        journal.commit()
    finally:
        journal.close()


def _spec(name: str, space: Space | None, trials: int) -> StudySpec:
    return StudySpec(
        name=name,
        space=None if space is None else space.to_json(),
        objectives=(Objective(metric="score", direction="maximize"),),
        entry=EntryPoint(kind="trial" if space is not None else "optuna", module="m", function="f"),
        strategy=Chosen(name="random"),
        early_stopping=Chosen(name="none"),
        budget=Budget(trials=trials + 5),
    )


def one_trial(space: Space | None, number: int, outcome: str, value: Any, **more: float) -> list[e.Event]:
    at = 10.0 * number
    config = None if space is None else space.sample(np.random.default_rng(number)).to_json()
    told: list[e.Event] = [
        e.TrialProposed(at=at, number=number, config=config, source="strategy", ask=0, seen_seq=0, reason=MARKUP)
    ]
    if outcome == "queued":
        return told
    told.append(
        e.TrialAssigned(
            at=at + 1, number=number, generation=1, node=HARM, workers=1, gpus=(), gpu_share=0.0, reason=MARKUP
        )
    )
    if space is None:
        told += [
            e.TrialSuggested(
                at=at + 2, number=number, path=path, domain=domain.to_json(), value=domain.encode(drawn)
            )
            for path, domain, drawn in (
                (MARKUP, Float(0.0, 1.0), number / 20),
                ("plain", Float(0.0, 1.0), 1 - number / 20),
            )
        ]
    if value is not None:
        for step in (1, 2, 3):
            metrics = {"score": value if step == 3 else 0.1 * step, "extra": "nan", **more}
            told.append(
                e.TrialReported(
                    at=at + 2 + step, number=number, generation=1, step=step, metrics=metrics, can_pause=True
                )
            )
    if outcome != "running":
        told.append(
            e.TrialEnded(
                at=at + 8,
                number=number,
                generation=1,
                outcome=outcome,  # type: ignore[arg-type]
                failure=e.FailureKind.BUG if outcome == "failed" else None,
                reason=MARKUP,
                run_s=7.0,
            )
        )
    return told
