"""What all figures share: colours, shapes, texts, and an empty chart that says why it is empty.

The palette is Okabe and Ito's (2008), which people with any colour blindness can tell apart; a trial's status has a
shape of its own besides, so that colour is never the only sign. Backgrounds are transparent and greys are in the
middle, so that one figure reads on light and on dark pages; the pages recolour the text.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, TypeVar

import plotly.graph_objects as go

from ...search.spec import Objective
from ...search.transitions import TrialStatus
from ..redaction import redacted

Item = TypeVar("Item")

# Plotly imports this class when it is first used; two threads that do so at once can deadlock in circular imports, so
# it is done here, by the one thread that imports this module. So is pandas, where it is installed: plotly takes it from
# `sys.modules`, even when another thread, which imports Optuna, has only begun to import it.
Figure = go.Figure
with suppress(ImportError):
    importlib.import_module("pandas")

BLUE, ORANGE, GREEN, VERMILION = "#0072b2", "#e69f00", "#009e73", "#d55e00"
PURPLE, SKY, YELLOW, GREY = "#cc79a7", "#56b4e9", "#f0e442", "#8a8f98"
SERIES = (BLUE, ORANGE, GREEN, PURPLE, VERMILION, SKY, YELLOW, GREY)

GOOD_TO_BAD = ("#e0a800", "#c09a3d", "#a08e63", "#878787", "#6f84a0", "#5779b4", "#3f6fc8")
"""Seven steps from gold over grey to blue, the best first. They differ in lightness as well as along the axis that most
colour-blind people see, and all are visible on white and on black, which the ends of cividis and viridis are not."""

COLOUR: dict[str, str] = {
    TrialStatus.COMPLETED: BLUE,
    TrialStatus.STOPPED: ORANGE,
    TrialStatus.RUNNING: GREEN,
    TrialStatus.PAUSED: PURPLE,
    TrialStatus.FAILED: VERMILION,
    TrialStatus.QUEUED: GREY,
    TrialStatus.CANCELLED: GREY,
    TrialStatus.INFEASIBLE: GREY,
    "lost": YELLOW,
    "resized": SKY,
    "preempted": GREY,
}
SHAPE: dict[str, str] = {
    TrialStatus.COMPLETED: "circle",
    TrialStatus.STOPPED: "x",
    TrialStatus.RUNNING: "triangle-up",
    TrialStatus.PAUSED: "square",
    TrialStatus.FAILED: "diamond",
    TrialStatus.QUEUED: "circle-open",
    TrialStatus.CANCELLED: "diamond-open",
    TrialStatus.INFEASIBLE: "square-open",
    "lost": "star",
    "resized": "triangle-right",
    "preempted": "triangle-down",
}

MARKERS = 1000
"""Markers in one chart: more than that and an update takes a browser over 0.3 s (see DASHBOARDS in the design)."""


def figure(
    title: str, traces: Sequence[dict[str, Any]], layout: dict[str, Any] | None = None, *, note: str = ""
) -> go.Figure:
    """A figure in the house style; `layout` adds to it, `note` is a smaller line under the title."""
    named = [trace for trace in traces if trace.get("showlegend") is not False]
    has_legend = (layout or {}).get("showlegend", len(named) > 1 or any(t.get("showlegend") for t in named))
    base: dict[str, Any] = {
        "title": {
            "text": title,
            "font": {"size": 15},
            "subtitle": {"text": note, "font": {"size": 11}},
            "x": 0.01,
            "xanchor": "left",
            "yref": "container",
            "y": 0.98,
            "yanchor": "top",
        },
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "system-ui, sans-serif", "size": 12, "color": GREY},
        "margin": {"l": 62, "r": 14, "t": 64 if note else 44, "b": 72 if has_legend else 46},
        "hovermode": "closest",
        "hoverlabel": {"align": "left"},
        "legend": {"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom", "x": 0, "xanchor": "left"},
        "autosize": True,
        "colorway": SERIES,
        "xaxis": AXIS,
        "yaxis": AXIS,
    }
    for key, value in (layout or {}).items():
        base[key] = {**base[key], **value} if isinstance(value, dict) and isinstance(base.get(key), dict) else value
    return Figure(data=list(traces), layout=base)


AXIS: dict[str, Any] = {
    "gridcolor": "rgba(138,143,152,0.22)",
    "zerolinecolor": "rgba(138,143,152,0.35)",
    "linecolor": "rgba(138,143,152,0.5)",
    "automargin": True,
    "title": {"standoff": 8},
}


def empty(title: str, why: str) -> go.Figure:
    """A chart without data that says why, instead of a blank or an error."""
    hidden = {"visible": False}
    note = {"text": why, "x": 0.5, "y": 0.5, "xref": "paper", "yref": "paper", "showarrow": False}
    return figure(title, [], {"xaxis": hidden, "yaxis": hidden, "annotations": [note]})


def literal(text: object, width: int = 80) -> str:
    """`text` as Plotly shows it letter by letter, as it reads tags and entities in every text; secrets covered.

    >>> literal("<b>lr</b> & more"), literal("a" * 100, 5)
    ('&lt;b&gt;lr&lt;/b&gt; &amp; more', 'aaaa…')
    """
    plain = redacted(" ".join(str(text).split()))
    if len(plain) > width:
        plain = plain[: width - 1] + "…"
    return plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def shown(value: float | None) -> str:
    """A number with four significant digits; a dash for none."""
    return "-" if value is None else f"{value:.4g}"


def rounded(value: float | None) -> float | None:
    """`value` with six significant digits, which no eye can tell from all of them and which half the bytes carry.

    >>> rounded(0.123456789), rounded(float("nan")), rounded(None)
    (0.123457, None, None)
    """
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.6g}")


def decimated(items: Sequence[Item], limit: int, keep: Sequence[Item] = ()) -> list[Item]:
    """At most `limit` of `items` besides the last one, evenly spread in their order, and all of `keep`.

    The stride is a power of two, so that a list which grows keeps showing the same items for long.

    >>> decimated(range(10), 4, keep=[7])
    [0, 4, 7, 8, 9]
    """
    if len(items) <= limit:
        return list(items)
    stride = 1 << (-(-len(items) // max(1, limit)) - 1).bit_length()
    kept = {id(item) for item in keep}
    last = len(items) - 1
    return [item for i, item in enumerate(items) if i % stride == 0 or i == last or id(item) in kept]


def value_title(objective: Objective) -> str:
    """The title of an axis of objective values: the metric and an arrow to where it is better."""
    return f"{literal(objective.metric, 40)} {'↑' if objective.direction == 'maximize' else '↓'}"


def noted(*remarks: str) -> str:
    """The remarks that there are, on one line."""
    return "; ".join(remark for remark in remarks if remark)


def thinned(drawn: int, total: int, what: str = "trials") -> str:
    """`632 of 10000 trials` where not everything is drawn, else nothing."""
    return f"{drawn} of {total} {what}" if drawn < total else ""
