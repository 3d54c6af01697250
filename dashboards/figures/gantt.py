"""Which trial held which device when."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import plotly.graph_objects as go

from ..intervals import Interval
from ..study_view import StudyView
from .theme import COLOUR, GREY, SERIES, empty, figure, literal, thinned

WINDOW_S = 900.0
BARS = 1200
"""Bars in one chart; a window that holds more is cut to its latest ones, and the title says so."""


def gantt(views: Sequence[StudyView], *, since: float | None = None, until: float | None = None) -> go.Figure:
    """A row a GPU (a row a worker on a pool without), a bar for each generation of a trial, coloured by how it ended.

    Args:
        views: the studies that share the pool.
        since, until: seconds since the epoch; default: the last 15 minutes in which anything ran.
    """
    title = "Devices"
    held = [(view, one) for view in views for one in view.intervals.all]
    if not held:
        return empty(title, "Nothing has run yet.")
    last = max(view.state.last_at or 0.0 for view in views)
    end = last if until is None else until
    begin = end - WINDOW_S if since is None else since
    inside = [(v, i) for v, i in held if i.started_at <= end and (i.ended_at is None or i.ended_at >= begin)]
    if not inside:
        return empty(title, "Nothing ran in this window.")
    rows = _rows(inside)
    cut = rows[-BARS:]
    names = sorted({name for name, _, _ in rows}, key=_natural)
    places = {name: i for i, name in enumerate(names)}
    many = len(views) > 1
    traces = []
    for outcome in dict.fromkeys(one.outcome for _, _, one in cut):
        bars = [row for row in cut if row[2].outcome == outcome]
        traces.append(_bars(bars, outcome, places, last, many=many))
    latest = thinned(len(cut), len(rows), "bars")
    note = f"the latest {latest}" if latest else ""
    low = max(begin, min(one.started_at for _, _, one in cut))
    layout = {
        "barmode": "overlay",
        "bargap": 0.15,
        "height": max(220, 110 + 24 * len(names)),
        "xaxis": {"type": "date", "range": [_moment(low), _moment(end + 0.02 * max(1.0, end - low))]},
        "yaxis": {
            "tickvals": list(range(len(names))),
            "ticktext": [literal(name, 30) for name in names],
            "autorange": "reversed",
            "showgrid": False,
            "zeroline": False,
        },
        "shapes": [_head_line(mark.at) for view in views for mark in view.intervals.marks if begin <= mark.at <= end],
    }
    return figure(title, traces, layout, note=note)


Row = tuple[str, StudyView, Interval]


def _rows(inside: list[tuple[StudyView, Interval]]) -> list[Row]:
    """(row's name, study, interval), oldest first; without GPUs every interval takes the first lane that is free."""
    rows: list[Row] = []
    free_from: dict[str, list[float]] = {}
    for view, one in sorted(inside, key=lambda pair: pair[1].started_at):
        if one.gpus:
            rows += [(f"{one.node} GPU {gpu}", view, one) for gpu in one.gpus]
            continue
        lanes = free_from.setdefault(one.node, [])
        lane = next((i for i, free in enumerate(lanes) if free <= one.started_at), len(lanes))
        if lane == len(lanes):
            lanes.append(0.0)
        lanes[lane] = float("inf") if one.ended_at is None else one.ended_at
        rows.append((f"{one.node} place {lane + 1}", view, one))
    return rows


def _bars(bars: list[Row], outcome: str, places: dict[str, int], last: float, *, many: bool) -> dict[str, Any]:
    spans = [max(0.001, (last if one.ended_at is None else one.ended_at) - one.started_at) for _, _, one in bars]
    return {
        "type": "bar",
        "orientation": "h",
        "name": outcome,
        "y": [places[name] for name, _, _ in bars],
        "base": [_moment(one.started_at) for _, _, one in bars],
        "x": [round(span * 1000) for span in spans],
        "text": [f"{one.number}" for _, _, one in bars],
        "textposition": "inside",
        "insidetextanchor": "middle",
        "textangle": 0,
        "constraintext": "none",
        "cliponaxis": True,
        "textfont": {"size": 10, "color": "#ffffff"},
        "customdata": [[view.name, one.number] for _, view, one in bars],
        "hovertext": [_told(row, span, many=many) for row, span in zip(bars, spans, strict=True)],
        "hoverinfo": "text",
        "marker": {"color": COLOUR.get(outcome, GREY), "line": {"color": "rgba(0,0,0,0.35)", "width": 1}},
    }


def _told(row: Row, span_s: float, *, many: bool) -> str:
    name, view, one = row
    study = f"{literal(view.name, 30)} " if many else ""
    workers = "1 worker" if one.workers == 1 else f"{one.workers} workers"
    return (
        f"<b>{study}trial {one.number}</b>, generation {one.generation}, {workers}<br>{literal(name, 40)}: "
        f"{span_s:.4g} s, {one.outcome}<br>{literal(one.reason, 100)}"
    )


def utilisation(views: Sequence[StudyView]) -> go.Figure:
    """How many devices were held at each moment: GPUs, or trials where none had a GPU."""
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
        "x": [_moment(x) for x in xs],
        "y": ys,
        "line": {"shape": "hv", "color": SERIES[0], "width": 1.5},
        "fill": "tozeroy",
        "fillcolor": "rgba(0,114,178,0.2)",
        "hoverinfo": "x+y",
    }
    layout = {
        "xaxis": {"type": "date"},
        "yaxis": {"title": {"text": "GPUs" if on_gpus else "trials at once"}, "rangemode": "tozero"},
        "showlegend": False,
    }
    return figure(title, [trace], layout)


STEPS = 500


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


def _head_line(at: float) -> dict[str, Any]:
    line = {"color": GREY, "dash": "dot", "width": 1}
    return {"type": "line", "x0": _moment(at), "x1": _moment(at), "yref": "paper", "y0": 0, "y1": 1, "line": line}


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(sep=" ", timespec="milliseconds").removesuffix("+00:00")


def _natural(name: str) -> tuple[str, int, str]:
    head, _, tail = name.rpartition(" ")
    return (head, int(tail) if tail.isdecimal() else 0, tail)
