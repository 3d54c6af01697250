"""What trials reported while they trained, and where they were stopped."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from ...search.spec import Objective
from ...search.transitions import TrialStatus
from ...search.trial_record import TrialRecord
from ..study_view import StudyView, is_finite
from .theme import COLOUR, GREY, SHAPE, decimated, empty, figure, literal, rounded, shown, thinned, value_title

CURVES = 20
"""Curves drawn one by one; the others are summed up as bands of quantiles."""

STOP_MARKS = 200
POINTS = 120
"""Points of one curve or band: as many as a chart 600 pixels wide can show."""

BANDS = ((0.05, 0.95, 0.12), (0.25, 0.75, 0.22))
"""(low quantile, high quantile, opacity)."""


def learning_curves(view: StudyView, *, curves: int = CURVES, metric: str = "") -> go.Figure:
    """The best trials' curves, the running ones', bands of quantiles over all trials, and a mark at each stop.

    Args:
        curves: how many trials are drawn one by one.
        metric: which objective; empty: the first.

    Raises:
        NotFound: the study has no such objective.
    """
    title = "Learning curves"
    objective = view.objective_named(metric)
    best = {t.number: value for t in view.trials if (value := _best(t, objective)) is not None}
    reporting = [view.state.trials[number] for number in best]
    if not reporting:
        return empty(title, f"No trial has reported {literal(objective.metric, 40)} yet.")
    ranked = sorted(reporting, key=lambda t: (objective.loss(best[t.number]), t.number))
    running = [t for t in reporting if t.status is TrialStatus.RUNNING][: max(1, curves // 2)]
    chosen = list({t.number: t for t in (*ranked[:curves], *running)}.values())
    traces = _bands(view, reporting, objective.metric) if len(reporting) > len(chosen) else []
    traces += [_curve(t, objective.metric) for t in chosen]
    traces += [_in_legend(status) for status in TrialStatus if any(t.status is status for t in chosen)]
    stops = [t for t in reporting if t.status in (TrialStatus.STOPPED, TrialStatus.FAILED)]
    traces += _stop_marks(view, decimated(stops, STOP_MARKS), objective.metric)
    alone = thinned(len(chosen), len(reporting))
    note = f"{alone} one by one, all of them as bands" if alone else ""
    axes = {
        "xaxis": {"title": {"text": "epoch"}},
        "yaxis": {"title": {"text": value_title(objective)}},
    }
    return figure(title, traces, axes, note=note)


def _best(trial: TrialRecord, objective: Objective) -> float | None:
    """The best finite value that it reported of an objective; None without one."""
    if objective == trial.objective:
        return trial.best_value if is_finite(trial.best_value) else None
    finite = [v for v in trial.columns.get(objective.metric, ()) if v is not None and is_finite(v)]
    return min(finite, key=objective.loss, default=None)


def _curve(trial: TrialRecord, metric: str) -> dict[str, Any]:
    points = decimated(trial.curve_of(metric), POINTS)
    return {
        "type": "scatter",
        "mode": "lines" if len(points) > 1 else "markers",
        "name": f"trial {trial.number}",
        "showlegend": False,
        "x": [step for step, _ in points],
        "y": [rounded(value) for _, value in points],
        "hovertext": [f"<b>trial {trial.number}</b> epoch {step}: {shown(value)}" for step, value in points],
        "hoverinfo": "text",
        "customdata": [trial.number] * len(points),
        "line": {"color": COLOUR[trial.status], "width": 1.4},
        "marker": {"color": COLOUR[trial.status], "symbol": SHAPE[trial.status], "size": 6},
        "opacity": 0.85,
    }


def _in_legend(status: TrialStatus) -> dict[str, Any]:
    """A trace without points that says what the colour of curves means."""
    look = {"line": {"color": COLOUR[status], "width": 2}, "hoverinfo": "skip"}
    return {"type": "scatter", "mode": "lines", "name": str(status), "x": [None], "y": [None], **look}


def _bands(view: StudyView, reporting: list[TrialRecord], metric: str) -> list[dict[str, Any]]:
    """Quantiles over the trials that reported at a step (or in a bin of steps)."""
    points = np.concatenate([view.once(f"points {metric}", t, lambda t: _points(t, metric)) for t in reporting])
    points = points[np.isfinite(points[:, 1])]
    steps, values = points[:, 0].astype(int), points[:, 1]
    width = max(1, int(np.ceil((steps.max() - steps.min() + 1) / POINTS)))
    bins = (steps - steps.min()) // width
    order = np.lexsort((values, bins))
    groups = np.split(values[order], np.flatnonzero(np.diff(bins[order])) + 1)
    wanted = [q for low, high, _ in BANDS for q in (low, high)] + [0.5]
    quantiles = np.array([np.quantile(group, wanted) for group in groups])
    xs = [int(b * width + steps.min()) for b in np.unique(bins)]
    traces = []
    for i, (low, high, opacity) in enumerate(BANDS):
        under = [rounded(float(q)) for q in quantiles[:, 2 * i]]
        over = [rounded(float(q)) for q in quantiles[:, 2 * i + 1]]
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": f"{low:.0%} to {high:.0%} of trials",
                "x": xs + xs[::-1],
                "y": under + over[::-1],
                "fill": "toself",
                "fillcolor": f"rgba(138,143,152,{opacity})",
                "line": {"width": 0, "color": GREY},
                "hoverinfo": "skip",
            }
        )
    median = [rounded(float(q)) for q in quantiles[:, -1]]
    line = {"color": GREY, "dash": "dot", "width": 1.5}
    traces.append(
        {"type": "scatter", "mode": "lines", "name": "median", "x": xs, "y": median, "line": line, "hoverinfo": "skip"}
    )
    return traces


def _points(trial: TrialRecord, metric: str) -> np.ndarray:
    """(step, value) of every report; NaN where it lacked the metric."""
    points: np.ndarray = np.array(trial.curve_of(metric), dtype=float)
    return points


def _stop_marks(view: StudyView, trials: list[TrialRecord], metric: str) -> list[dict[str, Any]]:
    marks = []
    for status in (TrialStatus.STOPPED, TrialStatus.FAILED):
        ends = [(t, *point) for t in trials if t.status is status and (point := _last_finite(t, metric))]
        if ends:
            marks.append(
                {
                    "type": "scatter",
                    "mode": "markers",
                    "name": f"{status} here",
                    "x": [step for _, step, _ in ends],
                    "y": [rounded(value) for _, _, value in ends],
                    "customdata": [t.number for t, _, _ in ends],
                    "hovertext": [view.once("stop mark", t, _stop_text) for t, _, _ in ends],
                    "hoverinfo": "text",
                    "marker": {"color": COLOUR[status], "symbol": SHAPE[status], "size": 7, "opacity": 0.8},
                }
            )
    return marks


def _stop_text(trial: TrialRecord) -> str:
    return f"<b>trial {trial.number}</b> {trial.status} after epoch {trial.last_step}<br>{literal(trial.reason, 100)}"


def _last_finite(trial: TrialRecord, metric: str) -> tuple[int, float] | None:
    return next(((s, v) for s, v in reversed(trial.curve_of(metric)) if v is not None and is_finite(v)), None)
