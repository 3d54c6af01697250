"""The objective against one parameter after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from ...search.spec import Objective
from ...search.transitions import TrialStatus
from ...search.trial_record import TrialRecord
from ..axes import Axis
from ..study_view import StudyView
from ..ticks import log_ticks
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
COLUMNS = {False: 3, True: 2}
"""Charts beside each other, by whether the screen is narrow."""

GAP = 0.05


def slices(view: StudyView, *, paths: Sequence[str] = (), metric: str = "", narrow: bool = False) -> go.Figure:
    """A small chart for each of up to 9 parameters: values of trials against it.

    Args:
        paths: which parameters; empty: the first ones of the space.
        metric: which objective; empty: the first.
        narrow: two charts beside each other instead of three.

    Raises:
        NotFound: the study has no such objective.
    """
    title = "Slices"
    objective = view.objective_named(metric)
    known = view.paths
    chosen = [path for path in paths if path in known][:PARAMETERS] or known[:PARAMETERS]
    if not chosen:
        return empty(title, "The study has no parameters.")
    trials = view.judged(objective)
    if not trials:
        return empty(title, "No trial has a value yet.")
    best = min(trials, key=lambda t: (objective.loss(view.finite_value(t, objective)), t.number))
    drawn = decimated(trials, MARKERS // len(chosen), keep=[best])
    columns = min(COLUMNS[narrow], len(chosen))
    rows = -(-len(chosen) // columns)
    layout: dict[str, Any] = {"height": 150 + 200 * rows, "margin": {"l": 62, "r": 14, "t": 64, "b": 56}}
    traces: list[dict[str, Any]] = []
    for i, path in enumerate(chosen):
        axis = view.axis(path)
        suffix = "" if i == 0 else str(i + 1)
        column, row = i % columns, i // columns
        width, height = 1 / columns, 1 / rows
        layout[f"xaxis{suffix}"] = {
            **_x_axis(axis, [place for place in (_place(view, axis, t) for t in drawn) if place is not None]),
            "domain": [column * width + (GAP / 2 if column else 0), (column + 1) * width - GAP / 2],
            "anchor": f"y{suffix}",
        }
        layout[f"yaxis{suffix}"] = {
            **AXIS,
            "domain": [1 - (row + 1) * height + 0.22 / rows, 1 - row * height],
            "anchor": f"x{suffix}",
            "showticklabels": column == 0,
            "matches": "y" if i else None,
            "title": {"text": value_title(objective) if i == 0 else "", "font": {"size": 11}},
        }
        traces += _markers(view, axis, drawn, suffix, objective, named=i == 0)
    return figure(title, traces, layout, note=thinned(len(drawn), len(trials)))


def _x_axis(axis: Axis, places: Sequence[float]) -> dict[str, Any]:
    look: dict[str, Any] = {**AXIS, "title": {"text": literal(axis.path, 36), "standoff": 4, "font": {"size": 11}}}
    look["exponentformat"] = "e"
    if axis.kind == "listed":
        count = len(axis.labels)
        few = decimated(list(enumerate(axis.labels)), 12)
        look |= {"tickvals": [i for i, _ in few], "ticktext": [literal(text, 14) for _, text in few]}
        look["range"] = [-0.5, count - 0.5]
    elif axis.kind == "log":
        look["type"] = "log"
        if places:
            ticks = log_ticks(min(places), max(places))
            look |= {"tickvals": ticks, "ticktext": [shown(tick) for tick in ticks]}
    return look


def _place(view: StudyView, axis: Axis, trial: TrialRecord) -> float | None:
    flat = view.flat(trial)
    return axis.place(flat[axis.path]) if axis.path in flat else None


def _markers(
    view: StudyView, axis: Axis, drawn: Sequence[TrialRecord], suffix: str, objective: Objective, *, named: bool
) -> list[dict[str, Any]]:
    traces = []
    present = {trial.status for trial in drawn}
    for status in (s for s in (TrialStatus.STOPPED, TrialStatus.PAUSED, TrialStatus.COMPLETED) if s in present):
        points = [
            (place, trial.number, view.finite_value(trial, objective))
            for trial in drawn
            if trial.status is status and (place := _place(view, axis, trial)) is not None
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
                "x": [rounded(place) for place, _, _ in points],
                "y": [rounded(value) for _, _, value in points],
                "customdata": [number for _, number, _ in points],
                "hovertext": [f"trial {number}: {shown(value)}" for _, number, value in points],
                "hoverinfo": "text",
                "xaxis": f"x{suffix}",
                "yaxis": f"y{suffix}",
                "marker": {"color": COLOUR[status], "symbol": SHAPE[status], "size": 4.5, "opacity": 0.6},
            }
        )
    return traces
