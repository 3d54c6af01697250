"""Which trial held which device when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import plotly.graph_objects as go

from ..intervals import Interval
from ..study_view import StudyView
from .clock import Clock
from .theme import COLOUR, GREY, SERIES, empty, figure, literal, thinned

Colour = Literal["outcome", "study"]

WINDOW_S = 900.0
READABLE = 0.012
"""Part of the window that a bar has to take up to have its trial's number in it: less would overlap its neighbours."""

BARS = 1200
"""Bars in one chart; a window that holds more is cut to its latest ones, and the title says so."""


def gantt(
    views: Sequence[StudyView],
    *,
    since: float | None = None,
    until: float | None = None,
    number: int | None = None,
    colour: Colour = "outcome",
    utc_offset_s: float = 0.0,
) -> go.Figure:
    """A row a GPU (a row a worker on a pool without), a bar for each generation of a trial.

    Args:
        views: the studies that share the pool.
        since, until: seconds since the epoch; default: the last 15 minutes in which anything ran.
        number: this trial alone, for as long as it lived.
        colour: what colours tell apart: how a generation ended, or the studies.
        utc_offset_s: how far the reader's clock is ahead of UTC, s.
    """
    title = "Devices" if number is None else f"Devices of trial {number}"
    held = [(view, one) for view in views for one in view.intervals.all if number in (None, one.number)]
    if number is not None and held:
        since = min(one.started_at for _, one in held) if since is None else since
        ends = [view.state.last_at if one.ended_at is None else one.ended_at for view, one in held]
        until = max(end or 0.0 for end in ends) if until is None else until
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
    clock = Clock(utc_offset_s)
    groups: dict[str, list[Row]] = {}
    for row in cut:
        groups.setdefault(row[1].name if colour == "study" else row[2].outcome, []).append(row)
    low = max(begin, min(one.started_at for _, _, one in cut))
    frame = _Frame(places=places, last=last, readable_s=READABLE * (end - low), clock=clock)
    traces = [
        _bars(bars, group, _colour(group, i, colour), frame) for i, (group, bars) in enumerate(sorted(groups.items()))
    ]
    latest = thinned(len(cut), len(rows), "bars")
    note = f"the latest {latest}" if latest else ""
    marks = [mark.at for view in views for mark in view.intervals.marks if begin <= mark.at <= end]
    layout = {
        "barmode": "overlay",
        "bargap": 0.15,
        "height": max(220, 110 + 24 * len(names)),
        "xaxis": {**clock.axis(), "range": [clock.at(low), clock.at(end + 0.02 * max(1.0, end - low))]},
        "yaxis": {
            "tickvals": list(range(len(names))),
            "ticktext": [literal(name, 30) for name in names],
            "autorange": "reversed",
            "showgrid": False,
            "zeroline": False,
        },
        "shapes": [_head_line(clock.at(at)) for at in marks],
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Frame:
    """What all bars of a chart share: the row of each device, the newest moment (s since the epoch), the least span
    that has room for a number (s), and the reader's clock."""

    places: dict[str, int]
    last: float
    readable_s: float
    clock: Clock


def _bars(bars: list[Row], name: str, colour: str, frame: _Frame) -> dict[str, Any]:
    ends = [frame.last if one.ended_at is None else one.ended_at for _, _, one in bars]
    spans = [max(0.001, end - one.started_at) for end, (_, _, one) in zip(ends, bars, strict=True)]
    return {
        "type": "bar",
        "orientation": "h",
        "name": literal(name, 30),
        "showlegend": True,
        "y": [frame.places[device] for device, _, _ in bars],
        "base": [frame.clock.at(one.started_at) for _, _, one in bars],
        "x": [round(span * 1000) for span in spans],
        "text": [
            f"{one.number}" if span >= frame.readable_s else "" for span, (_, _, one) in zip(spans, bars, strict=True)
        ],
        "textposition": "inside",
        "insidetextanchor": "middle",
        "textangle": 0,
        "constraintext": "none",
        "cliponaxis": True,
        "textfont": {"size": 10, "color": "#ffffff"},
        "customdata": [[view.name, one.number] for _, view, one in bars],
        "hovertext": [_told(row, span) for row, span in zip(bars, spans, strict=True)],
        "hoverinfo": "text",
        "marker": {"color": colour, "line": {"color": "rgba(0,0,0,0.35)", "width": 1}},
    }


def _told(row: Row, span_s: float) -> str:
    name, view, one = row
    workers = "1 worker" if one.workers == 1 else f"{one.workers} workers"
    who = f"<b>{literal(view.name, 30)} trial {one.number}</b>, generation {one.generation}, {workers}"
    return f"{who}<br>{literal(name, 40)}: {span_s:.4g} s, {one.outcome}<br>{literal(one.reason, 100)}"


def _colour(group: str, index: int, by: Colour) -> str:
    return SERIES[index % len(SERIES)] if by == "study" else COLOUR.get(group, GREY)


def _head_line(at: str) -> dict[str, Any]:
    line = {"color": GREY, "dash": "dot", "width": 1}
    return {"type": "line", "x0": at, "x1": at, "yref": "paper", "y0": 0, "y1": 1, "line": line}


def _natural(name: str) -> tuple[str, int, str]:
    head, _, tail = name.rpartition(" ")
    return (head, int(tail) if tail.isdecimal() else 0, tail)
