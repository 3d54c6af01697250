"""Looking at studies: `ls`, `show`, `trials`, `export`. All of them only read the journal."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...dashboards.terminal.figures import configuration
from ...dashboards.terminal.parameters import flat
from ...errors import NotFound, SpecError
from .importance import EvaluatorFlag, ImportanceFlag, MetricFlag, WithStoppedFlag, write_importance
from .options import DataFlag, NumberWord, OutputFlag, StudyName, StudyOrTrial, data_directory, output_format
from .output import write_csv, write_record, write_rows
from .settings import DEFAULTS, Settings
from .study_json import metric_names, study_json, trial_json, trial_row
from .trial_reference import parse

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
    study: StudyOrTrial,
    number: NumberWord = None,
    data: DataFlag = None,
    output: OutputFlag = None,
    origin: Annotated[bool, typer.Option("--origin", help="Also say where each setting came from.")] = False,
    importance: ImportanceFlag = False,
    evaluator: EvaluatorFlag = "ped_anova",
    with_stopped: WithStoppedFlag = None,
    metric: MetricFlag = "",
) -> None:
    """Show a study or a trial. A study's state, counts, best configuration, cost, note and tags, or how much each
    parameter mattered; a trial's state, values, configuration, note and tags."""
    from .journal_reading import open_reader

    on = parse(study, number)
    if on.number is not None and (importance or origin):
        raise SpecError("--importance and --origin are about a study.", f"Use shoal show {on.study} with them.")
    with open_reader(data_directory(data)) as reader:
        state = reader.state(on.study)
        if on.number is not None:
            write_record(trial_json(state, reader.trial(on.study, on.number)), output_format(output))
            return
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
    tag: Annotated[str | None, typer.Option("--tag", help="Only trials with this tag.")] = None,
) -> None:
    """List a study's trials. With their values and the reason for their state."""
    from ...search.remarks import tags_of
    from .journal_reading import open_reader

    form = output_format(output)
    with open_reader(data_directory(data)) as reader:
        found = reader.state(study)
    states = [str(status) for status in found.counts()]
    if state is not None and state not in states:
        raise SpecError(f"trial state {state!r} is unknown.", f"Use one of {', '.join(states)}.")
    known = tags_of(found)
    if tag is not None and tag not in known:
        close = get_close_matches(tag, known, n=1)
        there = f"There are {', '.join(known)}." if known else f"Tag some: shoal tag {study}#7 +good."
        raise NotFound(f"no trial of {study} has the tag {tag!r}.", f"Did you mean {close[0]}?" if close else there)
    by_number = [t for _, t in sorted(found.trials.items())]
    chosen = [t for t in by_number if (state is None or str(t.status) == state) and (tag is None or tag in t.tags)]
    if form == "csv":
        write_csv([trial_row(found, t, metric_names(found)) for t in chosen], sys.stdout)
        return
    rows = [trial_json(found, t) for t in chosen]
    if form == "table":
        for row, trial in zip(rows, chosen, strict=True):
            row["config"] = configuration(flat(found, trial))
            row["tags"] = " ".join(trial.tags)
    several, constrained = len(found.spec.objectives) > 1, bool(found.spec.constraints)
    judged = ("values" if several else "value", *(["feasible"] if constrained else []))
    tagged = ["tags"] if any(t.tags for t in chosen) else []
    shown = ("number", "state", *judged, "steps", "run_seconds", "config", *tagged, "reason")
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
