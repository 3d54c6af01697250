"""The objective over two parameters."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import plotly.graph_objects as go

from ..axes import Axis
from ..study_view import StudyView
from ..ticks import log_ticks
from .theme import GOOD_TO_BAD, GREY, MARKERS, decimated, empty, figure, literal, rounded, shown

CELLS = 24
"""Grid points along each axis: finer than the data of a usual study supports anyway."""

FEWEST = 4


def contour(view: StudyView, *, x: str = "", y: str = "", metric: str = "") -> go.Figure:
    """Values between trials, by inverse distance weighting (Shepard 1968, power 2) in the axes' even coordinates.

    Args:
        x, y: the two parameters; empty: the first two of the space.
        metric: which objective; empty: the first.

    Raises:
        NotFound: the study has no such objective.
    """
    title = "Contour"
    objective = view.objective_named(metric)
    known = view.paths
    across = x if x in known else next((p for p in known if p != y), "")
    up = y if y in known and y != across else next((p for p in known if p != across), "")
    if not across or not up:
        return empty(title, "It takes two parameters.")
    x_axis, y_axis = view.axis(across), view.axis(up)
    points = []
    for trial in view.judged(objective):
        flat = view.flat(trial)
        if across in flat and up in flat:
            px, py = x_axis.place(flat[across]), y_axis.place(flat[up])
            if px is not None and py is not None:
                points.append((px, py, view.finite_value(trial, objective), trial.number))
    if len(points) < FEWEST:
        both = f"{literal(across, 30)} and {literal(up, 30)}"
        return empty(title, f"Fewer than {FEWEST} trials with a value have both {both}.")
    values = np.array([v for _, _, v, _ in points])
    xs, grid_x = _coordinates(x_axis, [p[0] for p in points])
    ys, grid_y = _coordinates(y_axis, [p[1] for p in points])
    surface = _surface(xs, ys, values, grid_x, grid_y)
    colours = GOOD_TO_BAD if objective.direction == "minimize" else GOOD_TO_BAD[::-1]
    scale = [[i / (len(colours) - 1), colour] for i, colour in enumerate(colours)]
    low, high = (float(np.quantile(values, q)) for q in (0.02, 0.98))
    traces: list[dict[str, Any]] = [
        {
            "type": "contour",
            "x": [rounded(float(v)) for v in grid_x],
            "y": [rounded(float(v)) for v in grid_y],
            "z": [[rounded(float(v)) for v in row] for row in surface],
            "colorscale": scale,
            "zmin": low,
            "zmax": high if high > low else low + 1e-12,
            "contours": {"coloring": "fill", "showlines": False},
            "colorbar": {"thickness": 10, "title": {"text": literal(objective.metric, 20), "side": "right"}},
            "hoverinfo": "skip",
        }
    ]
    shown_points = decimated(list(zip(xs, ys, points, strict=True)), MARKERS // 3)
    traces.append(
        {
            "type": "scatter",
            "mode": "markers",
            "cliponaxis": False,
            "showlegend": False,
            "x": [rounded(float(a)) for a, _, _ in shown_points],
            "y": [rounded(float(b)) for _, b, _ in shown_points],
            "customdata": [p[3] for _, _, p in shown_points],
            "hovertext": [f"trial {p[3]}: {shown(p[2])}" for _, _, p in shown_points],
            "hoverinfo": "text",
            "marker": {"size": 4, "color": "#ffffff", "line": {"color": GREY, "width": 1}},
        }
    )
    return figure(title, traces, {"xaxis": _look(x_axis, grid_x), "yaxis": _look(y_axis, grid_y)})


def _coordinates(axis: Axis, places: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """(even coordinates of the points, of the grid lines)."""
    at = np.array([axis.even(place) for place in places])
    if axis.kind == "listed":
        return at, np.arange(max(2, len(axis.labels)), dtype=float)
    low, high = float(at.min()), float(at.max())
    if low == high:
        low, high = low - 0.5, high + 0.5
    return at, np.linspace(low, high, CELLS)


def _surface(
    xs: np.ndarray, ys: np.ndarray, values: np.ndarray, grid_x: np.ndarray, grid_y: np.ndarray
) -> np.ndarray:
    def scaled(at: np.ndarray, grid: np.ndarray) -> np.ndarray:
        scaled_at: np.ndarray = (at - grid[0]) / (grid[-1] - grid[0])
        return scaled_at

    px, py = scaled(xs, grid_x), scaled(ys, grid_y)
    gx, gy = scaled(grid_x, grid_x), scaled(grid_y, grid_y)
    far = (gx[None, :, None] - px) ** 2 + (gy[:, None, None] - py) ** 2
    weight = 1.0 / (far + 1e-3)
    surface: np.ndarray = (weight * values).sum(axis=2) / weight.sum(axis=2)
    return surface


def _look(axis: Axis, grid: np.ndarray) -> dict[str, Any]:
    look: dict[str, Any] = {"title": {"text": literal(axis.path, 40)}, "range": [float(grid[0]), float(grid[-1])]}
    if axis.kind == "listed":
        few = decimated(list(enumerate(axis.labels)), 12)
        return look | {"tickvals": [i for i, _ in few], "ticktext": [literal(text, 16) for _, text in few]}
    if axis.kind == "log":
        ticks = log_ticks(10 ** float(grid[0]), 10 ** float(grid[-1]))
        return look | {"tickvals": [math.log10(t) for t in ticks], "ticktext": [shown(t) for t in ticks]}
    return look
