"""Studies and trials as the JSON that `-o json` prints. The fields are documented in docs/command-line.md."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ...dashboards.terminal.parameters import flat
from ...dashboards.terminal.standing import best_value
from ...search.spec import Json

if TYPE_CHECKING:
    from ...search.study_data import StudyData
    from ...search.trial_record import TrialRecord

STUDY_FIELDS = {
    "name": "the study's name",
    "state": "running, paused, stopping, completed, stopped or failed",
    "reason": "why it is in this state",
    "objective": "metric and direction (maximize or minimize) of the first objective",
    "objectives": "metric and direction of every objective",
    "subject_to": "the outcome constraints, e.g. latency_ms <= 5",
    "trials": "how many trials are in each state; every state is listed",
    "budget": "trials, max_failures, trial_time_limit_s, study_time_limit_s; null: no limit",
    "best": "number, value and config of the best completed trial that keeps the constraints, null before the first",
    "front": "of several objectives: number, values and config of the trials no other one is superior to; else empty",
    "closest": "where no completed trial keeps the constraints: number and outcomes of the nearest; else null",
    "strategy": "name and options",
    "early_stopping": "name and options",
    "seed": "the study's seed",
    "epochs_trained": "epochs reported by all trials",
    "gpu_seconds": "GPU-seconds held by all trials",
    "run_seconds": "wall seconds run by all trials, summed",
    "phases_seconds": "where the trials' time went, summed by phase",
    "created_at": "ISO 8601, UTC",
    "ended_at": "ISO 8601, UTC; null while it runs",
    "note": "what a person wrote on it; empty without",
    "tags": "its tags, in the order in which they came",
    "head_is_running": "does a program run the studies of this data directory now",
}

TRIAL_FIELDS = {
    "number": "the trial's number in the study",
    "state": "queued, running, paused, completed, stopped, failed, cancelled or infeasible",
    "value": "what the trial is judged by (the first objective); null without one or when it is not finite",
    "values": "every objective's value by its metric; null before it has ended with some",
    "feasible": "does it keep the outcome constraints; null where there are none, or where it has no result",
    "not_finite": "nan, inf or -inf when the value is not finite, else null",
    "best_value": "the best value it reported or returned",
    "best_step": "the step of that report, null without reports",
    "steps": "epochs reported",
    "config": "the configuration, nested as the space is",
    "source": "strategy, enqueued or fallback",
    "failure": "BUG, OOM, TIMEOUT, DIVERGED, LOST or PREEMPTED; null unless failed",
    "message": "what went wrong, null unless failed",
    "split": "1; after it ran out of memory: how many times the usual number of shards its batches have",
    "approximate": "trained with exact=False: its result depends on the number of its workers",
    "reason": "the last decision's reason",
    "duplicate_of": "the trial whose result was reused, null otherwise",
    "run_seconds": "wall seconds on workers",
    "gpu_seconds": "GPU-seconds held",
    "started_at": "ISO 8601, UTC; null before the start",
    "ended_at": "ISO 8601, UTC; null before the end",
    "note": "what a person wrote on it; empty without",
    "tags": "its tags, in the order in which they came",
}


def study_json(state: StudyData) -> dict[str, Json]:
    """A study as `shoal show -o json` prints it; keys as in STUDY_FIELDS."""
    spec, best = state.spec, state.best
    budget = spec.budget
    return {
        "name": state.name,
        "state": str(state.status),
        "reason": state.reason,
        "objective": {"metric": spec.objective.metric, "direction": spec.objective.direction},
        "objectives": [{"metric": o.metric, "direction": o.direction} for o in spec.objectives],
        "subject_to": [str(constraint) for constraint in spec.constraints],
        "trials": {str(status): count for status, count in state.counts().items()},
        "budget": {
            "trials": budget.trials,
            "max_failures": budget.max_failures,
            "trial_time_limit_s": budget.trial_time_limit_s,
            "study_time_limit_s": budget.study_time_limit_s,
        },
        "best": None if best is None else {"number": best.number, "value": best.value, "config": config_json(best)},
        "front": _front(state) if len(spec.objectives) > 1 else [],
        "closest": _closest(state),
        "strategy": {"name": spec.strategy.name, "options": dict(spec.strategy.options)},
        "early_stopping": {"name": spec.early_stopping.name, "options": dict(spec.early_stopping.options)},
        "seed": spec.seed,
        "epochs_trained": state.epochs_trained,
        "gpu_seconds": round(state.gpu_s, 3),
        "run_seconds": round(state.run_s, 3),
        "phases_seconds": {name: round(s, 3) for name, s in state.phases_s.items()},
        "created_at": moment(state.created_at),
        "ended_at": moment(state.ended_at),
        "note": state.note,
        "tags": list(state.tags),
    }


def _front(state: StudyData) -> list[Json]:
    trials = (state.trials[number] for number in sorted(state.front))
    return [{"number": t.number, "values": t.named_values, "config": config_json(t)} for t in trials]


def _closest(state: StudyData) -> Json:
    trial = state.closest
    if trial is None:
        return None
    outcomes = {c.metric: outcome for c, outcome in zip(state.spec.constraints, trial.outcomes, strict=True)}
    return {"number": trial.number, "outcomes": outcomes}


def trial_json(state: StudyData, trial: TrialRecord) -> dict[str, Json]:
    """A trial as `shoal trials -o json` prints it; keys as in TRIAL_FIELDS."""
    value = trial.value
    finite = value is None or math.isfinite(value)
    return {
        "number": trial.number,
        "state": str(trial.status),
        "value": value if finite else None,
        "not_finite": None if finite else str(value),
        "values": trial.named_values,
        "feasible": state.excess(trial) == 0 if state.spec.constraints and trial.values is not None else None,
        "best_value": best_value(trial),
        "best_step": trial.best_step,
        "steps": trial.last_step,
        "config": config_json(trial),
        "source": trial.source,
        "failure": None if trial.failure is None else str(trial.failure),
        "message": trial.message or None,
        "split": trial.split,
        "approximate": trial.approximate,
        "reason": trial.reason,
        "duplicate_of": trial.duplicate_of,
        "run_seconds": round(trial.run_s, 3),
        "gpu_seconds": round(trial.gpu_s, 3),
        "started_at": moment(trial.started_at),
        "ended_at": moment(trial.ended_at),
        "note": trial.note,
        "tags": list(trial.tags),
    }


def config_json(trial: TrialRecord) -> Json:
    """The nested configuration; a define-by-run trial's has one level, its suggestions by name."""
    return trial.config if trial.config is not None else dict(trial.flat or {})


def trial_row(state: StudyData, trial: TrialRecord, metrics: tuple[str, ...]) -> dict[str, Json]:
    """A trial on one level for a spreadsheet: `params.PATH` and, as last reported, `metrics.NAME`."""
    body = trial_json(state, trial)
    del body["config"]
    values = body.pop("values") or {}
    if len(state.spec.objectives) > 1:
        body |= {f"values.{objective.metric}": values.get(objective.metric) for objective in state.spec.objectives}
    if body["not_finite"] is not None:
        body["value"] = body["not_finite"]
    row: dict[str, Json] = {key: body[key] for key in body if key != "not_finite"}
    row |= {f"params.{path}": value for path, value in flat(state, trial).items()}
    last = {name: column[-1] for name, column in trial.columns.items() if column}
    return row | {f"metrics.{name}": last.get(name) for name in metrics}


def metric_names(state: StudyData) -> tuple[str, ...]:
    """Every metric any trial reported, in order of first appearance."""
    return tuple(dict.fromkeys(name for trial in state.trials.values() for name in trial.columns))


def moment(at: float | None) -> str | None:
    """Seconds since the epoch as ISO 8601 in UTC.

    >>> moment(0.0), moment(None)
    ('1970-01-01T00:00:00+00:00', None)
    """
    return None if at is None else datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
