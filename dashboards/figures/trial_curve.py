"""One trial's reports, with marks where it changed hands."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from ..intervals import Interval
from ..study_view import StudyView, is_finite
from .theme import BLUE, COLOUR, decimated, empty, figure, literal, rounded, value_title

POINTS = 600
SHOWN_METRICS = 3
"""Metrics drawn at once; the others wait in the legend."""


def trial_curve(view: StudyView, *, number: int) -> go.Figure:
    """Every metric of a trial by epoch, with marks where it was paused, resized or lost and went on."""
    trial = view.state.trials[number]
    title = f"Trial {number}"
    names = [name for name, column in trial.columns.items() if any(is_finite(v) for v in column)]
    if not names:
        return empty(title, "It has reported nothing that can be drawn.")
    names.sort(key=lambda name: name != view.objective.metric)
    traces: list[dict[str, Any]] = []
    for name in names:
        points = decimated(list(zip(trial.steps, trial.columns[name], strict=True)), POINTS)
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": literal(name, 30),
                "x": [step for step, _ in points],
                "y": [rounded(value) for _, value in points],
                "marker": {"size": 4},
                "visible": True if len(traces) < SHOWN_METRICS else "legendonly",
            }
        )
    traces[0]["line"] = {"color": BLUE, "width": 2}
    held = view.intervals.of(number)
    shapes, notes = _marks(held[:-1], held[1:])
    layout = {
        "xaxis": {"title": {"text": "epoch"}},
        "yaxis": {"title": {"text": value_title(view.objective) if names[0] == view.objective.metric else "value"}},
        "shapes": shapes,
        "annotations": notes,
    }
    return figure(title, traces, layout)


def _marks(before: list[Interval], after: list[Interval]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """A line and a remark between two generations."""
    shapes, notes = [], []
    for old, new in zip(before, after, strict=True):
        colour = COLOUR.get(old.outcome, BLUE)
        if old.outcome == "paused" and old.workers != new.workers:
            what = f"{old.workers} → {new.workers} workers"
        else:
            what = f"{old.outcome}, then resumed"
        line = {"color": colour, "dash": "dot", "width": 1.5}
        at = old.last_step
        shapes.append({"type": "line", "x0": at, "x1": at, "yref": "paper", "y0": 0, "y1": 1, "line": line})
        notes.append(
            {
                "x": at,
                "y": 1,
                "yref": "paper",
                "yanchor": "top",
                "textangle": -90,
                "showarrow": False,
                "text": what,
                "hovertext": literal(old.reason, 120),
                "font": {"size": 10},
            }
        )
    return shapes, notes
