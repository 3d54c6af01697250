"""A figure as strict JSON: what a browser parses, without NaN and infinities."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go

from ...search.spec import Json


def figure_json(figure: go.Figure) -> Json:
    """`{"data": [...], "layout": {...}}` of plain lists and numbers; what is not finite is null.

    >>> figure_json(go.Figure(data=[{"type": "scatter", "y": [1.0, float("nan")]}]))["data"][0]["y"]
    [1.0, None]
    """
    body = figure.to_plotly_json()
    layout = dict(body["layout"])
    layout.pop("template", None)  # 7 kB of defaults that Plotly's browser half has too
    return {"data": [_strict(trace) for trace in body["data"]], "layout": _strict(layout)}


def dumped(body: Json) -> bytes:
    """Compact JSON; fails on NaN instead of writing what is no JSON."""
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def _strict(value: Any) -> Json:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str | int | bool | None):
        return value
    if isinstance(value, Mapping):
        return {str(key): _strict(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        return _strict(value.tolist())
    if isinstance(value, list | tuple):
        return [_strict(item) for item in value]
    raise TypeError(f"a figure holds {value!r}, which is no JSON value")
