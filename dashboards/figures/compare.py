"""Several studies in one chart."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from ..study_view import StudyView
from .history import By, improving, places_of, unit_of, uses_gpus
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
    found = [_steps(view, by) for view in alike]
    on_gpus = any(uses_gpus(view.state.trials.values()) for view in alike)
    divisor, unit = unit_of(by, max(last for _, last in found), on_gpus=on_gpus)
    traces = []
    for i, (view, (steps, last)) in enumerate(zip(alike, found, strict=True)):
        if not steps:
            continue
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "showlegend": True,
                "name": literal(view.name, 30),
                "x": [rounded(x / divisor) for x in [*(place for place, _ in steps), last]],
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


def _steps(view: StudyView, by: By) -> tuple[list[tuple[float, float]], float]:
    """((place, value) of each improvement, the last place of all)."""
    resting = view.resting_trials
    places = places_of(view, resting, by)
    steps = [(places[number], value) for number, value in improving(view, resting, view.objective)]
    return steps, max(places.values(), default=0.0)
