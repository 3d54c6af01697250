"""How much each parameter mattered, with how sure that is."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from ..importances import MOST_TRIALS, Evaluator, Importance, Sample, why_none
from .theme import BLUE, GREY, empty, figure, literal, noted, rounded

BARS = 20


def importance(found: list[Importance], *, data: Sample, evaluator: Evaluator) -> go.Figure:
    """Bars with 90 % intervals; the label says how many trials each is from.

    Args:
        found: what `importances` computed; it is slow, so callers keep it.
        data: what it was computed from.
        evaluator: what it was computed with.
    """
    title = f"Importance for {literal(data.objective.metric, 40)}"
    if not found:
        return empty(title, why_none(data))
    bars = sorted(found, key=lambda one: one.share)[-BARS:]
    limit = MOST_TRIALS[evaluator]
    judged = f"{limit} of them were judged" if len(data.rows) > limit else ""
    note = noted(f"{evaluator} over {data.told()}", judged, "lines are 90 % intervals")
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
