"""A study of any size as a journal: what a run of it would have written, without running it."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from shoal.search.events import (
    Event,
    HeadOpened,
    StudyCreated,
    StudyEnded,
    TrialAssigned,
    TrialDecided,
    TrialEnded,
    TrialProposed,
    TrialReported,
)
from shoal.search.journal.sqlite import SqliteJournal
from shoal.search.spec import Budget, Chosen, EntryPoint, Objective, StudySpec
from shoal.spaces import Categorical, Choice, Configuration, Float, Int, Ordinal, Repeat, Space

SPACE = Space(
    lr=Float(1e-4, 1e-1, log=True),
    batch_size=Ordinal([32, 64, 128, 256]),
    weight_decay=Float(1e-6, 1e-2, log=True),
    dropout=Float(0.0, 0.6),
    augment=Categorical([True, False]),
    optimizer=Choice(sgd=Space(momentum=Float(0.0, 0.99)), adam=Space(beta2=Float(0.9, 0.9999))),
    layers=Repeat(Space(width=Int(16, 256, log=True), activation=Categorical(["relu", "gelu", "tanh"])), 1, 4),
)
METRIC = "val_accuracy"
EPOCHS = (3, 9, 18)
"""How long trials run, in turn: 10 epochs on average; the shorter ones are stopped."""

EPOCH_S = 4.0
STARTED_AT = 1.8e9
ROWS_A_COMMIT = 5000


def spec(name: str, trials: int) -> StudySpec:
    """The study as data."""
    return StudySpec(
        name=name,
        space=SPACE.to_json(),
        objectives=(Objective(metric=METRIC, direction="maximize"),),
        entry=EntryPoint(kind="trial", module="study", function="train"),
        strategy=Chosen(name="tpe"),
        early_stopping=Chosen(name="asha", options={"max_epochs": 27, "min_epochs": 3}),
        budget=Budget(trials=trials),
    )


def configuration(number: int) -> Configuration:
    """The configuration of a trial: the same one in every journal."""
    return SPACE.sample(np.random.default_rng((7, number)))


def curve(number: int) -> list[float]:
    """What a trial reports, epoch by epoch."""
    rng = np.random.default_rng((8, number))
    skill = _skill(configuration(number)) + 0.02 * float(rng.standard_normal())
    epochs = EPOCHS[number % len(EPOCHS)]
    noise = 0.005 * rng.standard_normal(epochs)
    return [round(skill * (1 - 0.6 * math.exp(-(i + 1) / 4)) + float(noise[i]), 6) for i in range(epochs)]


def events(name: str, trials: int, *, gpus: int = 64, running: int = 0) -> Iterator[Event]:
    """What happened, in order of time, one GPU a trial.

    Args:
        name: of the study.
        trials: how many.
        gpus: the pool.
        running: the last so many trials, fewer than `gpus`, have reported and not ended, and neither has the study.
    """
    yield StudyCreated(at=STARTED_AT, spec=spec(name, trials + running).to_json())
    yield HeadOpened(at=STARTED_AT, fence=1, host="here", pid=1)
    free = [(STARTED_AT + 0.01 * i, i) for i in range(gpus)]
    waiting: list[tuple[float, int, Event]] = []
    order = 0
    for number in range(trials):
        at, gpu = heapq.heappop(free)
        ends = number < trials - running
        told = trial_events(number, at, gpu, ends=ends)
        heapq.heappush(free, (told[-1].at + 0.5 if ends else math.inf, gpu))
        for event in told:
            order += 1
            heapq.heappush(waiting, (event.at, order, event))
        while waiting and waiting[0][0] < free[0][0]:
            yield heapq.heappop(waiting)[2]
    last = STARTED_AT
    while waiting:
        last, _, event = heapq.heappop(waiting)
        yield event
    if not running:
        yield StudyEnded(at=last, state="completed", reason=f"all {trials} trials are done")


def trial_events(number: int, at: float, gpu: int, *, ends: bool = True) -> list[Event]:
    """One trial from its proposal on, beginning at `at` (seconds since the epoch)."""
    told: list[Event] = [
        TrialProposed(
            at=at,
            number=number,
            config=configuration(number).to_json(),
            source="strategy",
            ask=number,
            seen_seq=1,
            reason="drawn at random",
        ),
        TrialAssigned(
            at=at,
            number=number,
            generation=1,
            node="local",
            workers=1,
            gpus=(str(gpu),),
            gpu_share=1.0,
            reason="first in line",
        ),
    ]
    values = curve(number)
    for step, value in enumerate(values, start=1):
        metrics = {METRIC: value, "loss": round(1.5 - value, 6)}
        told.append(
            TrialReported(
                at=at + EPOCH_S * step, number=number, generation=1, step=step, metrics=metrics, can_pause=True
            )
        )
    if ends:
        told += _end(number, at, at + EPOCH_S * len(values) + 0.2, len(values), values[-1])
    return told


def _end(number: int, began_at: float, at: float, epochs: int, value: float) -> list[Event]:
    is_full = epochs == max(EPOCHS)
    reason = "trained to its end" if is_full else f"rung {epochs // 4}: {value:.3g} is rank 9 of 14, needs the top 4"
    told: list[Event] = []
    if not is_full:
        told.append(TrialDecided(at=at - 0.1, number=number, decision="stop", reason=reason))
    told.append(
        TrialEnded(
            at=at,
            number=number,
            generation=1,
            outcome="completed" if is_full else "stopped",
            reason=reason,
            run_s=at - began_at,
            gpu_s=at - began_at,
            phases_s={"user": EPOCH_S * epochs, "start": 0.2},
        )
    )
    return told


def _skill(config: Configuration) -> float:
    """A smooth surface with its best near lr = 0.01, two or three layers, little dropout, and adam."""
    return float(
        0.9
        - 0.12 * abs(math.log10(config["lr"]) + 2.0)
        - 0.05 * abs(len(config["layers"]) - 2.5)
        - 0.1 * abs(config["dropout"] - 0.2)
        + (0.02 if str(config["optimizer"]) == "adam" else 0.0)
    )


def write_journal(path: Path, name: str, trials: int, *, gpus: int = 64, running: int = 0) -> int:
    """Write the study into a new journal; how many events that were."""
    journal = SqliteJournal(path)
    count = 0
    try:
        batch: list[Event] = []
        for event in events(name, trials, gpus=gpus, running=running):
            batch.append(event)
            count += 1
            if len(batch) == ROWS_A_COMMIT:
                journal.append(name, batch)
                journal.commit()
                batch = []
        journal.append(name, batch)
        journal.commit()
    finally:
        journal.close()
    return count
