"""What the study knows of one trial: changed by the fold alone, read by everybody."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from math import isfinite
from typing import Self

from .events import DecidedBy, Decision, FailureKind, Source
from .numbers import decode_number, encode_number
from .spec import Json, Objective, ValueFrom
from .transitions import TrialStatus

PENDING = (TrialStatus.QUEUED, TrialStatus.RUNNING, TrialStatus.PAUSED)


@dataclass(slots=True, kw_only=True)
class TrialRecord:
    """One trial.

    `steps` are the finished epochs it reported at, ascending; `columns` holds one value a step for every metric, None
    where a report lacked it. The first report of a step counts, so a trial that is run again from an earlier checkpoint
    cannot rewrite what decisions were based on. `values` (one number an objective) and `outcomes` (the metric of
    every outcome constraint) are set when the trial has ended with some. `parent`: the trial whose state it started
    from; `until`: the step at which it is done; `returned`: its training function came to an end of its own. `split`:
    its batches are cut into so many times the usual number of shards, since it ran out of memory. `approximate`: it was
    trained in a way that depends on the number of its workers. `paused_by`: who had paused it when the study's end
    came, so that it is paused again if the study goes on. `note` and `tags`: what people wrote on it. Times: `at`
    fields in seconds since the epoch, `run_s` and `gpu_s` summed over its generations.
    """

    number: int
    config: Json
    source: Source
    reason: str
    created_at: float
    objectives: tuple[Objective, ...]
    value_from: ValueFrom
    ask: int = -1
    seen_seq: int = 0
    attrs: Json = None
    duplicate_of: int | None = None
    parent: int | None = None
    until: int | None = None
    status: TrialStatus = TrialStatus.QUEUED
    generation: int = 0
    flat: dict[str, Json] = field(default_factory=dict)
    domains: dict[str, Json] = field(default_factory=dict)
    steps: list[int] = field(default_factory=list)
    columns: dict[str, list[float | None]] = field(default_factory=dict)
    values: tuple[float, ...] | None = None
    outcomes: tuple[float | None, ...] = ()
    best_value: float | None = None
    best_step: int | None = None
    can_pause: bool = False
    decision: Decision | None = None
    decided_by: DecidedBy | None = None
    paused_by: DecidedBy | None = None
    losses: int = 0
    split: int = 1
    approximate: bool = False
    failure: FailureKind | None = None
    message: str = ""
    started_at: float | None = None
    ended_at: float | None = None
    run_s: float = 0.0
    gpu_s: float = 0.0
    phases_s: dict[str, float] = field(default_factory=dict)
    node: str = ""
    gpus: tuple[str, ...] = ()
    workers: int = 0
    rung: int = 0
    returned: bool = False
    note: str = ""
    tags: tuple[str, ...] = ()

    @property
    def objective(self) -> Objective:
        """The first objective: the one of curves and of the best step."""
        return self.objectives[0]

    @property
    def last_step(self) -> int:
        """The last finished epoch it reported, 0 before the first."""
        return self.steps[-1] if self.steps else 0

    @property
    def curve(self) -> list[tuple[int, float | None]]:
        """(step, value of the first objective); None where a report lacked it."""
        return self.curve_of(self.objective.metric)

    def curve_of(self, metric: str) -> list[tuple[int, float | None]]:
        """(step, value of a metric); None where a report lacked it."""
        column = self.columns.get(metric)
        return list(zip(self.steps, column, strict=True)) if column else [(step, None) for step in self.steps]

    @property
    def metrics(self) -> list[tuple[int, dict[str, float]]]:
        """(step, {metric: value}) of every report."""
        rows: list[tuple[int, dict[str, float]]] = [(step, {}) for step in self.steps]
        for name, column in self.columns.items():
            for (_, row), value in zip(rows, column, strict=True):
                if value is not None:
                    row[name] = value
        return rows

    @property
    def value(self) -> float | None:
        """What the trial is judged by: at its end, or so far; None for one that ended without."""
        if self.values is not None:
            return self.values[0]
        if self.status not in PENDING:
            return None
        judged = self.judged_row()
        return None if judged is None else self.columns[self.objective.metric][judged]

    def losses_at(self, row: int) -> tuple[float, ...] | None:
        """The losses of all objectives in a report; None where it lacks one."""
        columns = [(objective, self.columns.get(objective.metric)) for objective in self.objectives]
        cells = [(objective, column[row] if column else None) for objective, column in columns]
        found = tuple(objective.loss(cell) for objective, cell in cells if cell is not None)
        return found if len(found) == len(self.objectives) else None

    @property
    def named_values(self) -> dict[str, float] | None:
        """Every objective's value by its metric; None for a trial that has not ended with values."""
        if self.values is None:
            return None
        return {objective.metric: value for objective, value in zip(self.objectives, self.values, strict=True)}

    def judged_row(self) -> int | None:
        """Index of the report the trial is judged by: its best, or the last one that had the metric."""
        if self.value_from == "best" and self.best_step is not None:
            return self.steps.index(self.best_step)
        column = self.columns.get(self.objective.metric, ())
        return next((row for row in reversed(range(len(column))) if column[row] is not None), None)

    def report(self, step: int, metrics: Mapping[str, Json]) -> bool:
        """Take a report in; False (and nothing changes) for a step that is not beyond the last one."""
        if self.steps and step <= self.steps[-1]:
            return False
        rows = len(self.steps)
        self.steps.append(step)
        for name, body in metrics.items():
            column = self.columns.get(name)
            if column is None:
                column = self.columns[name] = [None] * rows
            column.append(decode_number(body))
        if len(metrics) < len(self.columns):
            for name, column in self.columns.items():
                if name not in metrics:
                    column.append(None)
        value = self.columns[self.objective.metric][-1] if self.objective.metric in metrics else None
        if value is None or not isfinite(value):
            return True
        if self.best_value is None or self.objective.better(value, self.best_value):
            self.best_value, self.best_step = value, step
        return True

    def to_json(self) -> Json:
        """Every field but the study's own (`objectives`, `value_from`); fields at their defaults are left out."""
        body = {name: getattr(self, name) for name in _STORED if getattr(self, name) != _DEFAULTS.get(name)}
        if "columns" in body:
            body["columns"] = {name: [*map(encode_number, column)] for name, column in self.columns.items()}
        if "values" in body:
            body["values"] = [*map(encode_number, self.values or ())]
        if "outcomes" in body:
            body["outcomes"] = [*map(encode_number, self.outcomes)]
        for name in ("gpus", "steps", "tags"):
            if name in body:
                body[name] = list(body[name])
        for name in ("flat", "domains", "phases_s"):
            if name in body:
                body[name] = dict(body[name])
        return body

    @classmethod
    def from_json(cls, body: Json, objectives: tuple[Objective, ...], value_from: ValueFrom) -> Self:
        record = cls(**body, objectives=objectives, value_from=value_from)
        record.status = TrialStatus(record.status)
        record.failure = None if record.failure is None else FailureKind(record.failure)
        record.gpus, record.tags = tuple(record.gpus), tuple(record.tags)
        record.columns = {name: [*map(decode_number, column)] for name, column in record.columns.items()}
        record.outcomes = tuple(map(decode_number, record.outcomes))
        if record.values is not None:
            record.values = tuple(value for body in record.values if (value := decode_number(body)) is not None)
        return record


_STORED = tuple(f.name for f in fields(TrialRecord) if f.name not in ("objectives", "value_from"))
_DEFAULTS: dict[str, Json] = {
    **{f.name: f.default for f in fields(TrialRecord)},
    **{name: {} for name in ("flat", "domains", "columns", "phases_s")},
    "steps": [],
}
