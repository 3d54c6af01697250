"""How much of the pool was in use when."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from ..study_view import StudyView
from .clock import Clock
from .theme import SERIES, empty, figure


def utilisation(views: Sequence[StudyView], *, utc_offset_s: float = 0.0) -> go.Figure:
    """How many devices were held at each moment: GPUs, or trials where none had a GPU."""
    clock = Clock(utc_offset_s)
    title = "Devices held"
    held = [one for view in views for one in view.intervals.all]
    if not held:
        return empty(title, "Nothing has run yet.")
    on_gpus = any(one.gpus for one in held)
    last = max(view.state.last_at or 0.0 for view in views)
    xs, ys = stepped([(one.started_at, one.ended_at, len(one.gpus) if on_gpus else 1) for one in held], last)
    trace = {
        "type": "scatter",
        "mode": "lines",
        "x": [clock.at(x) for x in xs],
        "y": ys,
        "line": {"shape": "hv", "color": SERIES[0], "width": 1.5},
        "fill": "tozeroy",
        "fillcolor": "rgba(0,114,178,0.2)",
        "hoverinfo": "x+y",
    }
    layout = {
        "xaxis": clock.axis(),
        "yaxis": {
            "title": {"text": "GPUs" if on_gpus else "trials at once"},
            "rangemode": "tozero",
            "dtick": 1 if max(ys) <= MOST_TICKS else None,
        },
        "showlegend": False,
    }
    return figure(title, [trace], layout)


STEPS = 500
MOST_TICKS = 8
"""Counts up to this get a tick each; beyond it Plotly chooses, and finds whole numbers."""


def stepped(spans: list[tuple[float, float | None, int]], last: float) -> tuple[list[float], list[float]]:
    """How much was held when, as (moments, amounts); with many changes the greatest amount of each of 500 slots.

    >>> stepped([(0.0, 2.0, 1), (1.0, 3.0, 2)], 4.0)
    ([0.0, 1.0, 2.0, 3.0, 4.0], [1, 3, 2, 0, 0])
    """
    changes: dict[float, int] = {}
    for begin, end, amount in spans:
        changes[begin] = changes.get(begin, 0) + amount
        if end is not None:
            changes[end] = changes.get(end, 0) - amount
    xs: list[float] = []
    ys: list[float] = []
    level = 0
    for at in sorted(changes):
        level += changes[at]
        xs.append(at)
        ys.append(level)
    if len(xs) > STEPS:
        slot = (xs[-1] - xs[0]) / STEPS
        most: dict[int, float] = {}
        for x, y in zip(xs, ys, strict=True):
            index = int((x - xs[0]) / slot)
            most[index] = max(most.get(index, 0), y)
        start = xs[0]
        xs, ys = [start + index * slot for index in most], list(most.values())
    return [*xs, max(last, xs[-1])], [*ys, ys[-1]]
