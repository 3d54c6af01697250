"""Each trial as a line across its parameters.

Drawn as ordinary SVG lines in a few colours, one trace a colour: Plotly's own chart of this kind needs WebGL, which
browsers on machines without a graphics card lack, and cannot show that a conditional parameter is not active.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from ...search.spec import Objective
from ...search.trial_record import TrialRecord
from ..axes import Axis
from ..study_view import StudyView
from .theme import GOOD_TO_BAD, GREY, decimated, empty, figure, literal, noted, shown, thinned

DIMENSIONS = {False: 12, True: 5}
"""Parameters, by whether the screen is narrow."""

NAMES_BESIDE = {False: 7, True: 3}
"""Names that have room on one line, by whether the screen is narrow; more of them take turns on two."""

LINES = 300
"""Lines beyond this many are a solid block of colour."""

NOT_ACTIVE = -0.1
"""Height at which a line passes a parameter that its trial does not have; the axes reach from 0 to 1."""


def parallel_coordinates(
    view: StudyView, *, paths: Sequence[str] = (), metric: str = "", limit: int = LINES, narrow: bool = False
) -> go.Figure:
    """Lines across up to 12 parameters and the objective, coloured from the best seventh to the worst.

    Args:
        paths: which parameters; empty: the first ones of the space.
        metric: which objective; empty: the first.
        narrow: up to 5 parameters, which is what a phone has room for.
        limit: how many trials are drawn: a third of them the best ones, the others evenly spread.

    Raises:
        NotFound: the study has no such objective.
    """
    title = "Parallel coordinates"
    objective = view.objective_named(metric)
    known = view.paths
    chosen = [path for path in paths if path in known] or known[: DIMENSIONS[narrow]]
    trials = view.judged(objective)
    if not chosen:
        return empty(title, "The study has no parameters.")
    if not trials:
        return empty(title, "No trial has a value yet.")
    ranked = sorted(trials, key=lambda t: (objective.loss(view.finite_value(t, objective)), t.number))
    drawn = decimated(ranked, limit - limit // 3, keep=ranked[: limit // 3])
    axes = [view.axis(path) for path in chosen]
    scales = [_Scale(axis, [_place(view, axis, t) for t in drawn]) for axis in axes]
    values = _Scale(Axis(path="", kind="linear"), [view.finite_value(t, objective) for t in drawn])
    traces = _lines(view, drawn, axes, scales, values, objective)
    names = [literal(path, 22) for path in chosen] + [f"<b>{literal(objective.metric, 22)}</b>"]
    crowded = len(names) > NAMES_BESIDE[narrow]
    staggered = [f"<br>{name}" if crowded and i % 2 else name for i, name in enumerate(names)]
    remark = noted(thinned(len(drawn), len(trials)), thinned(len(chosen), len(known), "parameters"))
    layout = {
        "xaxis": {
            "tickvals": list(range(len(names))),
            "ticktext": staggered,
            "tickangle": 0,
            "range": [-0.4, len(names) - 0.55],
            "showgrid": False,
            "zeroline": False,
            "showline": False,
        },
        "margin": {"l": 14, "r": 14, "b": 84},
        "yaxis": {"visible": False, "range": [NOT_ACTIVE - 0.05, 1.05]},
        "shapes": [_pole(i) for i in range(len(names))],
        "annotations": [note for i, scale in enumerate([*scales, values]) for note in scale.notes(i)],
    }
    return figure(title, traces, layout, note=remark)


class _Scale:
    """An axis squeezed into heights from 0 to 1."""

    def __init__(self, axis: Axis, places: Sequence[float | None]) -> None:
        self.axis = axis
        even = [axis.even(place) for place in places if place is not None]
        if axis.kind == "listed":
            even = [0.0, float(max(1, len(axis.labels) - 1))]
        self.low, self.high = (min(even), max(even)) if even else (0.0, 1.0)

    def height(self, place: float | None) -> float:
        if place is None:
            return NOT_ACTIVE
        span = self.high - self.low
        if not span > 0:
            return 0.5
        return round((self.axis.even(place) - self.low) / span, 4)

    def notes(self, x: int) -> list[dict[str, Any]]:
        """The values at the ends of an axis, or the names on it."""
        if self.axis.kind == "listed":
            labels = self.axis.labels
            few = decimated(list(enumerate(labels)), 9)
            return [_note(x, self.height(float(i)) if len(labels) > 1 else 0.0, literal(text, 14)) for i, text in few]
        low, high = (10**self.low, 10**self.high) if self.axis.kind == "log" else (self.low, self.high)
        if low == high:
            return [_note(x, 0.5, shown(low))]
        return [_note(x, 0.0, shown(low)), _note(x, 1.0, shown(high))]


def _lines(
    view: StudyView,
    drawn: list[TrialRecord],
    axes: list[Axis],
    scales: list[_Scale],
    values: _Scale,
    objective: Objective,
) -> list[dict[str, Any]]:
    """One trace a colour, its lines apart by gaps; the best are drawn last, on top."""
    groups = len(GOOD_TO_BAD)
    traces = []
    for group in reversed(range(groups)):
        members = drawn[group * len(drawn) // groups : (group + 1) * len(drawn) // groups]
        if not members:
            continue
        xs: list[float | None] = []
        ys: list[float | None] = []
        for trial in members:
            ys += [s.height(_place(view, axis, trial)) for axis, s in zip(axes, scales, strict=True)]
            ys += [values.height(view.finite_value(trial, objective)), None]
            xs += [*range(len(axes) + 1), None]
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": _group_name(group, groups),
                "x": xs,
                "y": ys,
                "line": {"color": GOOD_TO_BAD[group], "width": 2 if group == 0 else 1},
                "opacity": 0.95 if group == 0 else 0.5,
                "hoverinfo": "skip",
                "showlegend": group in (0, groups - 1),
            }
        )
    return traces


def _group_name(group: int, groups: int) -> str:
    return f"best 1/{groups}" if group == 0 else f"worst 1/{groups}" if group == groups - 1 else f"group {group + 1}"


def _place(view: StudyView, axis: Axis, trial: TrialRecord) -> float | None:
    flat = view.flat(trial)
    return axis.place(flat[axis.path]) if axis.path in flat else None


def _pole(x: int) -> dict[str, Any]:
    return {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "layer": "below", "line": {"color": GREY, "width": 1}}


def _note(x: int, y: float, text: str) -> dict[str, Any]:
    return {"x": x, "y": y, "text": text, "showarrow": False, "xanchor": "left", "xshift": 3, "font": {"size": 10}}
