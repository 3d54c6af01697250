"""Looking at studies: `ls`, `show`, `trials`, `export`. All of them only read the journal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...dashboards.terminal.figures import configuration
from ...dashboards.terminal.parameters import flat
from ...errors import SpecError
from .importance import EvaluatorFlag, ImportanceFlag, MetricFlag, WithStoppedFlag, write_importance
from .options import DataFlag, OutputFlag, StudyName, data_directory, output_format
from .output import write_csv, write_record, write_rows
from .settings import DEFAULTS, Settings
from .study_json import metric_names, study_json, trial_json, trial_row

if TYPE_CHECKING:
    from ...search.study_data import StudyData


def ls(data: DataFlag = None, output: OutputFlag = None) -> None:
    """List the studies of a data directory."""
    from ..journal_place import has_journal
    from .journal_reading import open_reader

    directory, form = data_directory(data), output_format(output)
    rows = []
    if has_journal(directory):
        with open_reader(directory) as reader:
            live = {"head_is_running": reader.head_is_running()}
            rows = [_summary(reader.state(name)) | live for name in reader.studies()]
    if not rows:
        print(f"no studies in {directory}", file=sys.stderr)
    write_rows(rows, form)


def show(
    study: StudyName,
    data: DataFlag = None,
    output: OutputFlag = None,
    origin: Annotated[bool, typer.Option("--origin", help="Also say where each setting came from.")] = False,
    importance: ImportanceFlag = False,
    evaluator: EvaluatorFlag = "ped_anova",
    with_stopped: WithStoppedFlag = None,
    metric: MetricFlag = "",
) -> None:
    """Show a study. State, counts of trials, best configuration, cost; or how much each parameter mattered."""
    from .journal_reading import open_reader

    with open_reader(data_directory(data)) as reader:
        state = reader.state(study)
        if importance:
            form = output_format(output)
            write_importance(state, form, evaluator=evaluator, with_stopped=with_stopped, metric=metric)
            return
        record = study_json(state) | {"head_is_running": reader.head_is_running()}
    if origin:
        flags = {"data": None if data is None else str(data), "output": output}
        settings = Settings.read()
        resolved = [settings.resolve(name, flags.get(name)) for name in DEFAULTS]
        record["settings"] = {s.name: {"value": s.value, "origin": s.origin} for s in resolved}
    write_record(record, output_format(output))


def trials(
    study: StudyName,
    data: DataFlag = None,
    output: OutputFlag = None,
    state: Annotated[str | None, typer.Option("--state", help="Only trials in this state, e.g. failed.")] = None,
) -> None:
    """List a study's trials. With their values and the reason for their state."""
    from .journal_reading import open_reader

    form = output_format(output)
    with open_reader(data_directory(data)) as reader:
        found = reader.state(study)
    states = [str(status) for status in found.counts()]
    if state is not None and state not in states:
        raise SpecError(f"trial state {state!r} is unknown.", f"Use one of {', '.join(states)}.")
    chosen = [t for _, t in sorted(found.trials.items()) if state is None or str(t.status) == state]
    if form == "csv":
        write_csv([trial_row(found, t, metric_names(found)) for t in chosen], sys.stdout)
        return
    rows = [trial_json(found, t) for t in chosen]
    if form == "table":
        for row, trial in zip(rows, chosen, strict=True):
            row["config"] = configuration(flat(found, trial))
    several, constrained = len(found.spec.objectives) > 1, bool(found.spec.constraints)
    judged = ("values" if several else "value", *(["feasible"] if constrained else []))
    shown = ("number", "state", *judged, "steps", "run_seconds", "config", "reason")
    write_rows(rows, form, columns=shown)


def export(
    study: StudyName,
    csv: Annotated[bool, typer.Option("--csv", help="A row per trial: parameters, metrics, times.")] = False,
    out: Annotated[Path | None, typer.Option("--out", help="File to write; default: stdout.")] = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="A report with every figure in one HTML file.")
    ] = None,
    data: DataFlag = None,
) -> None:
    """Export a study. Its trials as CSV, a column per parameter and metric, or a report as one HTML file."""
    from .journal_reading import open_reader

    if html is not None:
        _export_report(study, html, data_directory(data))
        if not csv:
            return
    if not csv:
        raise SpecError("no export format is given.", "Use shoal export STUDY --csv or --html report.html.")
    with open_reader(data_directory(data)) as reader:
        state = reader.state(study)
    rows = [trial_row(state, t, metric_names(state)) for _, t in sorted(state.trials.items())]
    if out is None:
        write_csv(rows, sys.stdout)
        return
    try:
        with out.open("w", encoding="utf-8", newline="") as stream:
            write_csv(rows, stream)
    except OSError as error:
        raise SpecError(f"{out} cannot be written: {error.strerror}.", "Name a file in a folder you own.") from error
    print(f"{len(rows)} trials written to {out}", file=sys.stderr)


def _export_report(study: str, path: Path, directory: Path) -> None:
    from ...dashboards.report import write_report
    from ...dashboards.watched_study import WatchedStudy
    from .journal_reading import open_reader

    with open_reader(directory) as reader:
        reader.require(study)
        write_report(WatchedStudy(reader.journal, study).view, path)
    print(f"report written to {path}", file=sys.stderr)


def _summary(state: StudyData) -> dict[str, object]:
    best = state.best
    budget = state.spec.budget.trials
    ended = sum(n for status, n in state.counts().items() if status.is_terminal)
    return {
        "name": state.name,
        "state": str(state.status),
        "trials": ended,
        "budget": budget,
        "metric": state.spec.objective.metric,
        "best": None if best is None else best.value,
        "best_trial": None if best is None else best.number,
        "created_at": study_json(state)["created_at"],
    }
