"""Several studies in one chart."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from ..study_view import StudyView
from .history import By, improving, places_of
from .theme import SERIES, empty, figure, literal, rounded, value_title

DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
"""A study has a line style as well as its colour."""


def compare(views: Sequence[StudyView], *, by: By = "trials") -> go.Figure:
    """The best completed value so far of each study. Studies with another objective than the first are left out.

    Args:
        views: the studies, in the order of the legend.
        by: as in `history`.
    """
    title = "Best so far"
    if not views:
        return empty(title, "Choose studies to compare.")
    objective = views[0].objective
    alike = [view for view in views if view.objective == objective]
    traces = []
    unit = ""
    for i, view in enumerate(alike):
        places, unit = places_of(view, by)
        steps = improving(view, view.ended_trials)
        if not steps:
            continue
        last = max(places.values())
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "showlegend": True,
                "name": literal(view.name, 30),
                "x": [rounded(x) for x in [*(places[number] for number, _ in steps), last]],
                "y": [rounded(value) for _, value in [*steps, steps[-1]]],
                "line": {"shape": "hv", "color": SERIES[i % len(SERIES)], "dash": DASHES[i % len(DASHES)], "width": 2},
                "marker": {"size": 5},
            }
        )
    if not traces:
        return empty(title, "None of these studies has a completed trial yet.")
    left_out = len(views) - len(alike)
    note = f"{left_out} with another objective left out" if left_out else ""
    axes = {"xaxis": {"title": {"text": unit}}, "yaxis": {"title": {"text": value_title(objective)}}}
    return figure(title, traces, axes, note=note)
