"""The value of every ended trial and the best so far."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

import plotly.graph_objects as go

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
TITLES: dict[str, str] = {"trials": "ended trials", "time": "hours since the start", "gpu_hours": "GPU-hours used"}
HOVER_PARAMETERS = 5


def history(view: StudyView, *, by: By = "trials") -> go.Figure:
    """Values of ended trials in the order of their ends, with the best completed one so far as a line.

    Args:
        by: what the x axis counts: trials, hours since the study was created, or GPU-hours used by all trials (worker-
            hours on a pool without GPUs).
    """
    title = "Best so far"
    ended = view.ended_trials
    drawn = view.valued()
    if not drawn:
        return empty(title, "No trial has ended with a value yet.")
    places, unit = places_of(view, by)
    improvements = improving(view, ended)
    shown_trials = decimated(drawn, MARKERS, keep=[view.state.trials[number] for number, _ in improvements])
    traces = [
        _markers(view, [t for t in shown_trials if t.status is status], status, places)
        for status in (TrialStatus.COMPLETED, TrialStatus.STOPPED)
    ]
    if improvements:
        traces.append(_line(improvements, places, last=max(places.values())))
    left_out = sum(1 for t in ended if t.value is not None and not is_finite(t.value))
    left_out_note = f"{left_out} with a value that is not finite left out" if left_out else ""
    bounds = ", ".join(str(constraint) for constraint in view.state.spec.constraints)
    line_note = f"the line is of trials with {literal(bounds, 60)}" if bounds else ""
    note = noted(thinned(len(shown_trials), len(drawn)), left_out_note, line_note)
    axes = {"xaxis": {"title": {"text": unit}}, "yaxis": {"title": {"text": value_title(view.objective)}}}
    return figure(title, [t for t in traces if t["x"]], axes, note=note)


def improving(view: StudyView, trials: Iterable[TrialRecord]) -> list[tuple[int, float]]:
    """(number, value) of each completed trial within the constraints that was better than all before it."""
    found: list[tuple[int, float]] = []
    for trial in trials:
        if trial.status is not TrialStatus.COMPLETED or not view.keeps_bounds(trial):
            continue
        value = trial.value
        if value is not None and is_finite(value) and (not found or view.objective.better(value, found[-1][1])):
            found.append((trial.number, value))
    return found


def hover(view: StudyView, trial: TrialRecord) -> str:
    """What a marker of a trial says."""
    return view.once("hover", trial, lambda t: _hover(view, t))


def _hover(view: StudyView, trial: TrialRecord) -> str:
    lines = [f"<b>trial {trial.number}</b> {trial.status} {shown(trial.value)}"]
    flat = view.flat(trial)
    lines += [f"{literal(path, 40)} = {literal(written(v), 40)}" for path, v in list(flat.items())[:HOVER_PARAMETERS]]
    if len(flat) > HOVER_PARAMETERS:
        lines.append(f"and {len(flat) - HOVER_PARAMETERS} more")
    return "<br>".join([*lines, f"<i>{literal(trial.reason, 90)}</i>"])


def places_of(view: StudyView, by: By) -> tuple[dict[int, float], str]:
    """x of every ended trial by number, and the axis title."""
    ended = view.ended_trials
    if by == "trials":
        return {t.number: float(i) for i, t in enumerate(ended, start=1)}, TITLES[by]
    if by == "time":
        return {t.number: ((t.ended_at or 0.0) - view.began_at) / 3600 for t in ended}, TITLES[by]
    on_gpus = any(t.gpu_s for t in ended)
    seconds: Callable[[TrialRecord], float] = (lambda t: t.gpu_s) if on_gpus else (lambda t: t.run_s)
    places: dict[int, float] = {}
    used = 0.0
    for trial in ended:
        used += seconds(trial)
        places[trial.number] = used / 3600
    return places, TITLES[by] if on_gpus else "hours of training, summed over trials"


def _markers(
    view: StudyView, trials: list[TrialRecord], status: TrialStatus, places: dict[int, float]
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": str(status),
        "x": [rounded(places[t.number]) for t in trials],
        "y": [rounded(t.value) for t in trials],
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
