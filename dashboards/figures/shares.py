"""Who used how much of the pool, and how much an equal share would have been."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from ..ledger import ledger
from ..study_view import StudyView
from .theme import BLUE, GREY, empty, figure, literal, rounded


def shares(views: Sequence[StudyView]) -> go.Figure:
    """Hours that each study held devices for, beside an equal share of all hours held while it was open."""
    title = "Shares of the pool"
    of_study = ledger(views)
    if not any(share.used_s for share in of_study.values()):
        return empty(title, "Nothing has run yet.")
    names = [view.name for view in views]
    on_gpus = any(one.gpus for view in views for one in view.intervals.all)

    def bar(what: str, seconds: Sequence[float], colour: str) -> dict[str, Any]:
        hours = [one / 3600 for one in seconds]
        return {
            "type": "bar",
            "orientation": "h",
            "name": what,
            "x": [rounded(h) for h in hours],
            "y": list(range(len(names))),
            "marker": {"color": colour},
            "hovertext": [f"{literal(name)}: {what} {h:.4g} h" for name, h in zip(names, hours, strict=True)],
            "hoverinfo": "text",
        }

    layout = {
        "barmode": "group",
        "bargap": max(0.2, 0.8 - 0.15 * len(names)),
        "height": max(360, 130 + 44 * len(names)),
        "xaxis": {"title": {"text": "GPU-hours" if on_gpus else "worker-hours"}, "rangemode": "tozero"},
        "yaxis": {
            "tickvals": list(range(len(names))),
            "ticktext": [literal(name, 24) for name in names],
            "autorange": "reversed",
            "showgrid": False,
        },
    }
    used = bar("used", [of_study[name].used_s for name in names], BLUE)
    owed = bar("an equal share", [of_study[name].owed_s for name in names], GREY)
    return figure(title, [used, owed], layout)
