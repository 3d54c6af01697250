"""The objective against one parameter after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from ...search.transitions import TrialStatus
from ..axes import Axis
from ..study_view import StudyView
from .theme import (
    AXIS,
    COLOUR,
    MARKERS,
    SHAPE,
    decimated,
    empty,
    figure,
    literal,
    rounded,
    shown,
    thinned,
    value_title,
)

PARAMETERS = 9
COLUMNS = 3
GAP = 0.05


def slices(view: StudyView, *, paths: Sequence[str] = ()) -> go.Figure:
    """A small chart for each of up to 9 parameters: values of ended trials against it.

    Args:
        paths: which parameters; empty: the first ones of the space.
    """
    title = "Slices"
    known = view.paths
    chosen = [path for path in paths if path in known][:PARAMETERS] or known[:PARAMETERS]
    if not chosen:
        return empty(title, "The study has no parameters.")
    trials = view.valued()
    if not trials:
        return empty(title, "No trial has ended with a value yet.")
    best = [view.state.best] if view.state.best else []
    drawn = decimated(trials, MARKERS // len(chosen), keep=best)
    columns = min(COLUMNS, len(chosen))
    rows = -(-len(chosen) // columns)
    layout: dict[str, Any] = {"height": 90 + 190 * rows, "margin": {"l": 62, "r": 14, "t": 64, "b": 60}}
    traces: list[dict[str, Any]] = []
    for i, path in enumerate(chosen):
        axis = view.axis(path)
        suffix = "" if i == 0 else str(i + 1)
        column, row = i % columns, i // columns
        width, height = 1 / columns, 1 / rows
        layout[f"xaxis{suffix}"] = {
            **_x_axis(axis),
            "domain": [column * width + (GAP / 2 if column else 0), (column + 1) * width - GAP / 2],
            "anchor": f"y{suffix}",
        }
        layout[f"yaxis{suffix}"] = {
            **AXIS,
            "domain": [1 - (row + 1) * height + 0.22 / rows, 1 - row * height],
            "anchor": f"x{suffix}",
            "showticklabels": column == 0,
            "matches": "y" if i else None,
            "title": {"text": value_title(view.objective) if i == 0 else "", "font": {"size": 11}},
        }
        traces += _markers(view, axis, drawn, suffix, named=i == 0)
    return figure(title, traces, layout, note=thinned(len(drawn), len(trials)))


def _x_axis(axis: Axis) -> dict[str, Any]:
    look: dict[str, Any] = {**AXIS, "title": {"text": literal(axis.path, 36), "standoff": 4, "font": {"size": 11}}}
    if axis.kind == "listed":
        count = len(axis.labels)
        few = decimated(list(enumerate(axis.labels)), 12)
        look |= {"tickvals": [i for i, _ in few], "ticktext": [literal(text, 14) for _, text in few]}
        look["range"] = [-0.5, count - 0.5]
    elif axis.kind == "log":
        look["type"] = "log"
    return look


def _markers(
    view: StudyView, axis: Axis, drawn: Sequence[Any], suffix: str, *, named: bool
) -> list[dict[str, Any]]:
    traces = []
    for status in (TrialStatus.STOPPED, TrialStatus.COMPLETED):
        points = [
            (place, trial)
            for trial in drawn
            if trial.status is status
            and axis.path in (flat := view.flat(trial))
            and (place := axis.place(flat[axis.path])) is not None
        ]
        if not points and not named:
            continue
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": str(status),
                "legendgroup": str(status),
                "showlegend": named,
                "x": [rounded(place) for place, _ in points],
                "y": [rounded(trial.value) for _, trial in points],
                "customdata": [trial.number for _, trial in points],
                "hovertext": [f"trial {trial.number}: {shown(trial.value)}" for _, trial in points],
                "hoverinfo": "text",
                "xaxis": f"x{suffix}",
                "yaxis": f"y{suffix}",
                "marker": {"color": COLOUR[status], "symbol": SHAPE[status], "size": 4.5, "opacity": 0.6},
            }
        )
    return traces
