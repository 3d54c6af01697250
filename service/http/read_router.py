"""`GET` only: studies, trials, logs and the pool as JSON. The fields are those of `shoal show|trials -o json`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

from fastapi import APIRouter, Query

from ...dashboards.axes import written
from ...dashboards.ledger import ledger
from ...dashboards.redaction import covered
from ...dashboards.study_view import StudyView, is_finite
from ...dashboards.terminal.outlook import outlook
from ...dashboards.terminal.standing import leader, settled
from ...errors import NotFound
from ...search.journal.opening import open_reader
from ...search.remarks import tags_of
from ...search.spec import Json
from ...search.story import story
from ...search.transitions import TrialStatus
from ...search.trial_record import TrialRecord
from ..cli.study_json import moment, study_json, trial_json
from .log_files import log_part
from .strict import StrictJson
from .watching import JournalWatch

SortKey = Literal["number", "state", "value", "steps", "run_seconds", "ended_at"]
_LIVELINESS = {TrialStatus.RUNNING: 3, TrialStatus.PAUSED: 2, TrialStatus.QUEUED: -1}
_SORT: dict[str, Callable[[TrialRecord], float]] = {
    "number": lambda t: t.number,
    "state": lambda t: _LIVELINESS.get(t.status, 0),
    "steps": lambda t: t.last_step,
    "run_seconds": lambda t: t.run_s,
    "ended_at": lambda t: t.ended_at or 0.0,
}
QUEUE_ROWS = 200


def read_router(watch: JournalWatch) -> APIRouter:
    """The routes over a watched journal."""
    router = APIRouter(prefix="/api/v1", tags=["read"], default_response_class=StrictJson)

    @router.get("/studies")
    def studies() -> StrictJson:
        """Every study, oldest first; `used_s` and `owed_s` are device-seconds held and those of an equal share."""
        with watch.studies() as views:
            shares = ledger(views)
            rows = [summary(view) | asdict(shares[view.name]) for view in views]
        return safe({"studies": rows, "trouble": watch.trouble, "head_running": watch.head_is_running()})

    @router.get("/studies/{study}")
    def one_study(study: str) -> StrictJson:
        """A study with its outlook and its best trial's parameters on one level."""
        with watch.study(study) as view:
            body = summary(view)
        return safe({**body, "trouble": watch.trouble, "head_running": watch.head_is_running()})

    @router.get("/studies/{study}/trials")
    def trials(
        study: str,
        offset: Annotated[int, Query(ge=0)] = 0,
        limit: Annotated[int, Query(ge=1, le=500)] = 50,
        state: TrialStatus | None = None,
        tag: str = "",
        sort: SortKey = "number",
        descending: bool = False,
    ) -> StrictJson:
        """One page of a study's trials, and every tag that one of them has. By value, trials without one come last; by
        state, the running ones first."""
        with watch.study(study) as view:
            chosen = [t for t in view.trials if (state is None or t.status is state) and (not tag or tag in t.tags)]
            tags = tags_of(view.state)
            ordered = _sorted(view, chosen, sort, descending=descending)
            rows = [trial_row(view, t) for t in ordered[offset : offset + limit]]
        return safe({"total": len(chosen), "offset": offset, "tags": tags, "trials": rows})

    @router.get("/studies/{study}/trials/{number}")
    def one_trial(study: str, number: int) -> StrictJson:
        """A trial: all that `shoal trials -o json` has, its generations, its checkpoints."""
        with watch.study(study) as view:
            record = trial_of(view, number)
            body = trial_row(view, record) | {
                "metric": view.objective.metric,
                "trials": len(view.state.trials),
                "generations": [
                    {
                        "generation": one.generation,
                        "node": one.node,
                        "gpus": list(one.gpus),
                        "workers": one.workers,
                        "started_at": moment(one.started_at),
                        "ended_at": moment(one.ended_at),
                        "outcome": one.outcome,
                        "last_step": one.last_step,
                        "reason": one.reason,
                    }
                    for one in view.intervals.of(number)
                ],
                "phases_seconds": dict(record.phases_s),
            }
        return safe({**body, "checkpoints": checkpoints(_folder(watch.data, study, number))})

    @router.get("/studies/{study}/trials/{number}/story")
    def trial_story(study: str, number: int) -> StrictJson:
        """What happened to a trial and why, as `shoal explain` tells it."""
        with watch.study(study) as view:
            trial_of(view, number)
        with closing(open_reader(watch.journal)) as reader:
            told = story(reader.read_of_trial(study, number), number)
        return safe({"story": [{"at": moment(at), "what": text} for at, text in told]})

    @router.get("/studies/{study}/trials/{number}/log")
    def trial_log(study: str, number: int, offset: Annotated[int, Query(ge=-1)] = -1) -> StrictJson:
        """What a trial wrote, from byte `offset` of its newest log file; -1: its last part."""
        with watch.study(study) as view:
            trial_of(view, number)
        return safe(log_part(_folder(watch.data, study, number), offset))

    @router.get("/pool")
    def pool() -> StrictJson:
        """What runs where, and what waits and why, over all studies; `picture` is what `shoal pool -o json` shows."""
        with watch.studies() as views:
            running = [_running(view, view.state.trials[n]) for view in views for n in view.state.numbers(_RUNNING)]
            waiting = [row for view in views if not view.state.is_over for row in _waiting(view)]
        body = {"running": running, "waiting": waiting[:QUEUE_ROWS], "waiting_total": len(waiting)}
        return safe({**body, "picture": watch.pool(), "head_running": watch.head_is_running()})

    return router


_RUNNING = TrialStatus.RUNNING


def safe(body: Json) -> StrictJson:
    """The reply, with the secrets that found their way into it covered."""
    return StrictJson(covered(body))


def summary(view: StudyView) -> dict[str, Json]:
    """A study as its pages show it."""
    state = view.state
    body = study_json(state)
    best = state.best
    if body["best"] is not None and best is not None:
        body["best"] = {**body["best"], "parameters": parameters(view, best), "step": best.best_step}
    ahead = leader(state)
    expected = outlook(
        total=state.spec.budget.trials,
        settled=settled(state),
        running=len(state.numbers(_RUNNING)),
        run_s=state.run_s,
    )
    return body | {
        "seq": state.last_seq,
        "last_at": state.last_at,
        "over": state.is_over,
        "settled": settled(state),
        "leader": None if ahead is None else {"number": ahead.number, "value": ahead.best_value},
        "not_finite": sum(1 for t in state.trials.values() if t.value is not None and not is_finite(t.value)),
        "outlook": None
        if expected is None or state.is_over
        else {"remaining_s": expected.remaining_s, "low_s": expected.low_s, "high_s": expected.high_s},
        "parameters": view.paths,
        "active_seconds": round(state.active_s, 1),
        "weight": state.spec.weight,
        "priority": state.spec.priority,
    }


def trial_row(view: StudyView, trial: TrialRecord) -> dict[str, Json]:
    """A trial with its parameters on one level, as text."""
    body = trial_json(view.state, trial)
    del body["config"]
    return body | {
        "parameters": parameters(view, trial),
        "node": trial.node,
        "gpus": list(trial.gpus),
        "workers": trial.workers,
        "can_pause": trial.can_pause,
        "metrics": {name: column[-1] for name, column in trial.columns.items() if column},
    }


def parameters(view: StudyView, trial: TrialRecord) -> list[list[str]]:
    """[path, value] as text, in the space's order."""
    return [[path, written(value)] for path, value in view.flat(trial).items()]


def trial_of(view: StudyView, number: int) -> TrialRecord:
    """A trial of a study.

    Raises:
        NotFound: it has none with this number.
    """
    record = view.state.trials.get(number)
    if record is None:
        count = len(view.state.trials)
        there = f"It has trials 0 to {count - 1}." if count else "It has no trials yet."
        raise NotFound(f"study {view.name} has no trial {number}.", there)
    return record


def checkpoints(folder: Path) -> list[dict[str, Json]]:
    """Names and sizes of a trial's checkpoints. They are never opened. Those of a cluster lie in a folder a
    generation, with an empty file beside them."""
    try:
        files = sorted((folder / "checkpoints").rglob("*"))
    except OSError:
        return []
    sizes = {f.name: f.stat().st_size for f in files if f.is_file()}
    return [{"name": name, "bytes": size} for name, size in sizes.items() if size]


def _folder(data: Path, study: str, number: int) -> Path:
    return data / "studies" / study / "trials" / f"{number:04d}"


def _sorted(view: StudyView, trials: list[TrialRecord], sort: SortKey, *, descending: bool) -> list[TrialRecord]:
    if sort != "value":  # stable: those of one state by number, the newest first
        return sorted(trials[::-1] if sort == "state" else trials, key=_SORT[sort], reverse=descending)
    valued = [t for t in trials if is_finite(t.value)]
    others = [t for t in trials if not is_finite(t.value)]
    return sorted(valued, key=lambda t: (t.value or 0.0, -t.number), reverse=descending) + others


def _running(view: StudyView, trial: TrialRecord) -> dict[str, Json]:
    return {
        "study": view.name,
        "number": trial.number,
        "node": trial.node,
        "gpus": list(trial.gpus),
        "workers": trial.workers,
        "steps": trial.last_step,
        "value": trial.value,
        "reason": trial.reason,
        "started_at": moment(trial.started_at),
    }


def _waiting(view: StudyView) -> list[dict[str, Json]]:
    rows = []
    for status in (TrialStatus.QUEUED, TrialStatus.PAUSED):
        for number in view.state.numbers(status):
            trial = view.state.trials[number]
            why = trial.reason
            if view.state.waits_for_twin(trial):
                why = f"waits for the result of trial {trial.duplicate_of}, which has the same configuration"
            elif view.state.status == "paused":
                why = f"the study is paused: {view.state.reason}"
            rows.append({"study": view.name, "number": number, "state": str(status), "reason": why})
    return rows
