"""Who used how much of the pool, and how much an equal share would have been."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from ..intervals import Interval
from ..study_view import StudyView
from .theme import BLUE, GREY, empty, figure, literal, rounded


def shares(views: Sequence[StudyView]) -> go.Figure:
    """Hours that each study held devices for, beside an equal share of all hours held while it was open."""
    title = "Shares of the pool"
    used_s = {view.name: sum(_held_s(view, one) for one in view.intervals.all) for view in views}
    if not any(used_s.values()):
        return empty(title, "Nothing has run yet.")
    owed_s = equal_shares([(view.name, *_open_span(view)) for view in views], _pieces(views))
    names = [view.name for view in views]
    on_gpus = any(one.gpus for view in views for one in view.intervals.all)

    def bar(what: str, seconds: dict[str, float], colour: str) -> dict[str, Any]:
        hours = [seconds.get(name, 0.0) / 3600 for name in names]
        return {
            "type": "bar",
            "name": what,
            "x": list(range(len(names))),
            "y": [rounded(h) for h in hours],
            "marker": {"color": colour},
            "hovertext": [f"{literal(name)}: {what} {h:.4g} h" for name, h in zip(names, hours, strict=True)],
            "hoverinfo": "text",
        }

    layout = {
        "barmode": "group",
        "xaxis": {"tickvals": list(range(len(names))), "ticktext": [literal(name, 24) for name in names]},
        "yaxis": {"title": {"text": "GPU-hours" if on_gpus else "worker-hours"}, "rangemode": "tozero"},
    }
    return figure(title, [bar("used", used_s, BLUE), bar("an equal share", owed_s, GREY)], layout)


def equal_shares(
    spans: list[tuple[str, float, float]], pieces: list[tuple[float, float, float]]
) -> dict[str, float]:
    """Deal out what was held, at each moment in equal parts to the studies that were open then.

    Args:
        spans: (study, opened at, ended at).
        pieces: (from, to, how many devices were held).

    >>> equal_shares([("a", 0.0, 10.0), ("b", 5.0, 10.0)], [(0.0, 10.0, 2.0)])
    {'a': 15.0, 'b': 5.0}
    """
    owed = {name: 0.0 for name, _, _ in spans}
    edges = sorted({edge for _, begin, end in spans for edge in (begin, end)})
    for left, right in itertools.pairwise(edges):
        present = [name for name, begin, end in spans if begin <= left and end >= right]
        amount = sum(max(0.0, min(right, to) - max(left, at)) * held for at, to, held in pieces)
        for name in present:
            owed[name] += amount / len(present)
    return owed


def _pieces(views: Sequence[StudyView]) -> list[tuple[float, float, float]]:
    return [
        (one.started_at, _end(view, one), float(len(one.gpus) or one.workers))
        for view in views
        for one in view.intervals.all
    ]


def _held_s(view: StudyView, one: Interval) -> float:
    return (_end(view, one) - one.started_at) * (len(one.gpus) or one.workers)


def _end(view: StudyView, one: Interval) -> float:
    return (view.state.last_at or one.started_at) if one.ended_at is None else one.ended_at


def _open_span(view: StudyView) -> tuple[float, float]:
    last = view.state.ended_at or view.state.last_at or view.began_at
    return view.began_at, max(last, view.began_at)
