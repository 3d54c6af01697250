"""How much each parameter mattered, with how sure that is."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from ..importances import FEWEST, Importance
from ..study_view import StudyView
from .theme import BLUE, GREY, empty, figure, literal, rounded

BARS = 20


def importance(view: StudyView, *, found: list[Importance], evaluator: str, with_stopped: bool) -> go.Figure:
    """Bars with 90 % intervals; the label says how many trials each is from.

    Args:
        view: the study.
        found: what `importances` computed; it is slow, so callers keep it.
        evaluator, with_stopped: what it was computed with, for the title.
    """
    title = "Importance"
    trials = "completed or stopped trials" if with_stopped else "completed trials"
    if not found:
        return empty(title, f"It takes at least {FEWEST} {trials} and two values of a parameter.")
    bars = sorted(found, key=lambda one: one.share)[-BARS:]
    note = f"{literal(evaluator)}, {trials}; lines are 90 % intervals"
    trace: dict[str, Any] = {
        "type": "bar",
        "orientation": "h",
        "x": [rounded(one.share) for one in bars],
        "y": list(range(len(bars))),
        "marker": {"color": BLUE},
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [rounded(max(0.0, one.high - one.share)) for one in bars],
            "arrayminus": [rounded(max(0.0, one.share - one.low)) for one in bars],
            "color": GREY,
            "thickness": 1.5,
            "width": 3,
        },
        "hovertext": [
            f"{literal(one.path)}<br>{one.share:.3f} (90 %: {one.low:.3f} to {one.high:.3f}), {one.trials} trials"
            for one in bars
        ],
        "hoverinfo": "text",
    }
    layout = {
        "yaxis": {
            "tickvals": list(range(len(bars))),
            "ticktext": [f"{literal(one.path, 28)} <sub>n={one.trials}</sub>" for one in bars],
            "showgrid": False,
        },
        "xaxis": {"title": {"text": "share of the explained variation"}, "rangemode": "tozero"},
        "height": max(260, 110 + 22 * len(bars)),
    }
    return figure(title, [trace], layout, note=note)
