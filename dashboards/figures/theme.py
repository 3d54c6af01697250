"""What all figures share: colours, shapes, texts, and an empty chart that says why it is empty.

The palette is Okabe and Ito's (2008), which people with any colour blindness can tell apart; a trial's status has a
shape of its own besides, so that colour is never the only sign. Backgrounds are transparent and greys are in the
middle, so that one figure reads on light and on dark pages; the pages recolour the text.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeVar

import plotly.graph_objects as go

from ...search.spec import Objective
from ...search.transitions import TrialStatus

Item = TypeVar("Item")

BLUE, ORANGE, GREEN, VERMILION = "#0072b2", "#e69f00", "#009e73", "#d55e00"
PURPLE, SKY, YELLOW, GREY = "#cc79a7", "#56b4e9", "#f0e442", "#8a8f98"
SERIES = (BLUE, ORANGE, GREEN, PURPLE, VERMILION, SKY, YELLOW, GREY)

GOOD_TO_BAD = ("#fde333", "#c3bc4a", "#949a5b", "#6c7b66", "#4a5f6d", "#26456e", "#00204d")
"""Seven steps of cividis (Nunez et al. 2018), the best first: perceptually even, safe for colour blindness."""

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
}

MARKERS = 1000
"""Markers in one chart: more than that and an update takes a browser over 0.3 s (see DASHBOARDS in the design)."""


def figure(title: str, traces: Sequence[dict[str, Any]], layout: dict[str, Any] | None = None) -> go.Figure:
    """A figure in the house style; `layout` adds to it."""
    base: dict[str, Any] = {
        "title": {"text": title, "font": {"size": 15}, "x": 0.01, "xanchor": "left", "y": 0.97, "yanchor": "top"},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "system-ui, sans-serif", "size": 12, "color": GREY},
        "margin": {"l": 62, "r": 14, "t": 46, "b": 48},
        "hovermode": "closest",
        "hoverlabel": {"align": "left"},
        "legend": {"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 1, "xanchor": "right"},
        "autosize": True,
        "colorway": SERIES,
        "xaxis": AXIS,
        "yaxis": AXIS,
    }
    for key, value in (layout or {}).items():
        base[key] = {**base[key], **value} if isinstance(value, dict) and isinstance(base.get(key), dict) else value
    return go.Figure(data=list(traces), layout=base)


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
    """`text` as Plotly shows it letter by letter: it reads tags and entities in every text.

    >>> literal("<b>lr</b> & more"), literal("a" * 100, 5)
    ('&lt;b&gt;lr&lt;/b&gt; &amp; more', 'aaaa…')
    """
    plain = " ".join(str(text).split())
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
    """The title of an axis of objective values: `val_accuracy (higher is better)`."""
    better = "higher" if objective.direction == "maximize" else "lower"
    return f"{literal(objective.metric)} ({better} is better)"


def passed_over(count: int, what: str = "trials with a value that is not finite") -> str:
    """A remark for the title about what is not drawn."""
    return f" <sup>{count} {what} not drawn</sup>" if count else ""
