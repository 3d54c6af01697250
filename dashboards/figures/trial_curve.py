"""One trial's reports, with marks where it changed hands."""

from __future__ import annotations

from collections import Counter
from typing import Any

import plotly.graph_objects as go

from ..intervals import RESIZED, Interval
from ..study_view import StudyView, is_finite
from .theme import BLUE, COLOUR, decimated, empty, figure, literal, rounded, value_title

POINTS = 600
MARKS_AT_ONE_EPOCH = 2
SHOWN_METRICS = 3
"""Metrics drawn at once; the others wait in the legend."""


def trial_curve(view: StudyView, *, number: int) -> go.Figure:
    """Every metric of a trial by epoch, with marks where it was paused, resized or lost and went on."""
    trial = view.state.trials[number]
    title = f"Reports of trial {number}"
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
    """A line and a remark at each epoch after which the trial let its devices go or changed them."""
    told: dict[int, list[tuple[Interval, str]]] = {}
    for old, new in zip(before, after, strict=True):
        resumed = "moved" if old.outcome == RESIZED else f"{old.outcome}, then resumed"
        what = resumed if old.workers == new.workers else f"{old.outcome}: {old.workers} → {new.workers} workers"
        told.setdefault(old.last_step, []).append((old, what))
    shapes, notes = [], []
    for at, changes in told.items():
        line = {"color": COLOUR.get(changes[-1][0].outcome, BLUE), "dash": "dot", "width": 1.5}
        shapes.append({"type": "line", "x0": at, "x1": at, "yref": "paper", "y0": 0, "y1": 1, "line": line})
        notes.append(
            {
                "x": at,
                "y": 1,
                "yref": "paper",
                "yanchor": "top",
                "xshift": 8,
                "textangle": -90,
                "showarrow": False,
                "text": "; ".join(_counted([what for _, what in changes])[-MARKS_AT_ONE_EPOCH:]),
                "hovertext": "<br>".join(literal(old.reason, 120) for old, _ in changes),
                "font": {"size": 10},
            }
        )
    return shapes, notes


def _counted(remarks: list[str]) -> list[str]:
    """Each remark once, in the order of first appearance, with how often it was made."""
    return [what if count == 1 else f"{what} ({count} times)" for what, count in Counter(remarks).items()]
