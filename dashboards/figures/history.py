"""The value of every ended trial and the best so far."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import plotly.graph_objects as go

from ...search.spec import Objective
from ...search.transitions import TrialStatus
from ...search.trial_record import TrialRecord
from ..axes import written
from ..study_view import StudyView, is_finite
from .theme import (
    COLOUR,
    GREY,
    MARKERS,
    SHAPE,
    decimated,
    empty,
    figure,
    literal,
    noted,
    rounded,
    shown,
    thinned,
    value_title,
)

By = Literal["trials", "time", "gpu_hours"]
UNITS = ((1.0, "seconds", 180.0), (60.0, "minutes", 7200.0), (3600.0, "hours", math.inf))
"""(seconds in it, name, spans in seconds up to which it is used)."""

HOVER_PARAMETERS = 5


def history(view: StudyView, *, by: By = "trials", metric: str = "") -> go.Figure:
    """Values of ended and paused trials in the order in which they last trained, the best completed so far as a line.

    Args:
        by: what the x axis counts: trials, time since the study was created, or GPU-hours used by all trials (worker-
            hours on a pool without GPUs).
        metric: which objective; empty: the first.

    Raises:
        NotFound: the study has no such objective.
    """
    title = "Best so far"
    objective = view.objective_named(metric)
    resting = view.resting_trials
    drawn = sorted(view.judged(objective), key=view.rested_at)
    if not drawn:
        return empty(title, "No trial has ended or paused with a value yet.")
    seconds = places_of(view, resting, by)
    divisor, unit = unit_of(by, max(seconds.values()), on_gpus=uses_gpus(resting))
    places = {number: place / divisor for number, place in seconds.items()}
    improvements = improving(view, resting, objective)
    shown_trials = decimated(drawn, MARKERS, keep=[view.state.trials[number] for number, _ in improvements])
    traces = [
        _markers(view, [t for t in shown_trials if t.status is status], status, places, objective)
        for status in (TrialStatus.COMPLETED, TrialStatus.STOPPED, TrialStatus.PAUSED)
    ]
    if improvements:
        traces.append(_line(improvements, places, last=max(places.values())))
    left_out = sum(1 for t in resting if (v := view.value_of(t, objective)) is not None and not is_finite(v))
    left_out_note = f"{left_out} with a value that is not finite left out" if left_out else ""
    bounds = ", ".join(str(constraint) for constraint in view.state.spec.constraints)
    line_note = f"the line is of trials with {literal(bounds, 60)}" if bounds else ""
    note = noted(thinned(len(shown_trials), len(drawn)), left_out_note, line_note)
    axes = {"xaxis": {"title": {"text": unit}}, "yaxis": {"title": {"text": value_title(objective)}}}
    return figure(title, [t for t in traces if t["x"]], {**axes, "showlegend": True}, note=note)


def improving(view: StudyView, trials: Iterable[TrialRecord], objective: Objective) -> list[tuple[int, float]]:
    """(number, value) of each completed trial within the constraints that was better than all before it."""
    found: list[tuple[int, float]] = []
    for trial in trials:
        if trial.status is not TrialStatus.COMPLETED or not view.keeps_bounds(trial):
            continue
        value = view.value_of(trial, objective)
        if value is not None and is_finite(value) and (not found or objective.better(value, found[-1][1])):
            found.append((trial.number, value))
    return found


def hover(view: StudyView, trial: TrialRecord) -> str:
    """What a marker of a trial says."""
    return view.once("hover", trial, lambda t: _hover(view, t))


def _hover(view: StudyView, trial: TrialRecord) -> str:
    lines = [f"<b>trial {trial.number}</b> {trial.status} {_values(trial)}"]
    flat = view.flat(trial)
    lines += [f"{literal(path, 40)} = {literal(written(v), 40)}" for path, v in list(flat.items())[:HOVER_PARAMETERS]]
    if len(flat) > HOVER_PARAMETERS:
        lines.append(f"and {len(flat) - HOVER_PARAMETERS} more")
    return "<br>".join([*lines, f"<i>{literal(trial.reason, 90)}</i>"])


def _values(trial: TrialRecord) -> str:
    named = trial.named_values or {}
    if len(named) < 2:
        return shown(trial.value)
    return ", ".join(f"{literal(metric, 30)} {shown(value)}" for metric, value in named.items())


def places_of(view: StudyView, resting: Sequence[TrialRecord], by: By) -> dict[int, float]:
    """Where each of `view.resting_trials` stands, by number: counted, or in seconds."""
    if by == "trials":
        return {t.number: float(i) for i, t in enumerate(resting, start=1)}
    if by == "time":
        return {t.number: view.rested_at(t) - view.began_at for t in resting}
    on_gpus = uses_gpus(resting)
    places: dict[int, float] = {}
    used = 0.0
    for trial in resting:
        used += trial.gpu_s if on_gpus else trial.run_s
        places[trial.number] = used
    return places


def uses_gpus(trials: Iterable[TrialRecord]) -> bool:
    """Did any of them hold a GPU?"""
    return any(trial.gpu_s for trial in trials)


def unit_of(by: By, most: float, *, on_gpus: bool) -> tuple[float, str]:
    """(what places are divided by, the title of their axis), so that the last one, `most`, reads well.

    >>> unit_of("time", 90.0, on_gpus=True), unit_of("gpu_hours", 9000.0, on_gpus=True)
    ((1.0, 'seconds since the start'), (3600.0, 'GPU-hours used'))
    """
    if by == "trials":
        return 1.0, "trials, in the order in which they last trained"
    divisor, unit = next((d, u) for d, u, limit in UNITS if most < limit)
    if by == "time":
        return divisor, f"{unit} since the start"
    return divisor, f"GPU-{unit} used" if on_gpus else f"{unit} of training, summed over trials"


def _markers(
    view: StudyView, trials: list[TrialRecord], status: TrialStatus, places: dict[int, float], objective: Objective
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": str(status),
        "x": [rounded(places[t.number]) for t in trials],
        "y": [rounded(view.value_of(t, objective)) for t in trials],
        "customdata": [t.number for t in trials],
        "hovertext": [hover(view, t) for t in trials],
        "hoverinfo": "text",
        "marker": {"color": COLOUR[status], "symbol": SHAPE[status], "size": 6, "opacity": 0.75},
    }


def _line(improvements: list[tuple[int, float]], places: dict[int, float], last: float) -> dict[str, Any]:
    """Only the steps, so that 10,000 trials cost no more than ten."""
    xs = [places[number] for number, _ in improvements] + [last]
    ys = [value for _, value in improvements] + [improvements[-1][1]]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "best completed",
        "x": [rounded(x) for x in xs],
        "y": [rounded(y) for y in ys],
        "line": {"shape": "hv", "color": GREY, "width": 2},
        "hoverinfo": "skip",
    }
