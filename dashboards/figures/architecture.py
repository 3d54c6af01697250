"""A configuration as a picture: repeated parts as a chain of boxes, cells as graphs, the rest as a list."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import plotly.graph_objects as go

from ...spaces.values import Value
from ..axes import written
from ..study_view import StudyView
from ..terminal.standing import leader
from .theme import BLUE, GREY, SERIES, empty, figure, literal

LINES_IN_A_BOX = 6
BOXES = 48
WIDTH = 12
"""Of the drawing, in its own units; a line of text is about 0.3 of them high."""

BOXES_IN_A_ROW = {False: 6, True: 3}
"""Boxes beside each other, by whether the screen is narrow."""

SETTINGS_IN_A_ROW = {False: 4, True: 2}

ITEM = re.compile(r"(?P<name>[^\[\]]+)\[(?P<index>\d+)\](?:\.(?P<rest>.+))?$")
EDGE = re.compile(r"(?:(?P<name>.+)\.)?edge_(?P<source>\d+)_(?P<target>\d+)$")


@dataclass(slots=True)
class Parts:
    """A flat configuration taken apart by the form of its paths."""

    settings: list[str] = field(default_factory=list)
    chains: dict[str, dict[int, list[str]]] = field(default_factory=dict)
    cells: dict[str, dict[tuple[int, int], str]] = field(default_factory=dict)


def parts_of(flat: Mapping[str, Value]) -> Parts:
    """Sort paths into chains (`layers[0].width`), cells (`cell.edge_0_1`) and settings.

    >>> parts_of({"lr": 0.1, "layers": 1, "layers[0].width": 64, "edge_0_1": "conv"})
    Parts(settings=['lr = 0.1'], chains={'layers': {0: ['width = 64']}}, cells={'': {(0, 1): 'conv'}})
    """
    parts = Parts()
    for path, value in flat.items():
        edge, item = EDGE.match(path), ITEM.match(path)
        if edge is not None:
            ends = int(edge["source"]), int(edge["target"])
            parts.cells.setdefault(edge["name"] or "", {})[ends] = written(value)
        elif item is not None:
            line = written(value) if item["rest"] is None else f"{item['rest']} = {written(value)}"
            parts.chains.setdefault(item["name"], {}).setdefault(int(item["index"]), []).append(line)
        else:
            parts.settings.append(f"{path} = {written(value)}")
    parts.settings = [line for line in parts.settings if line.partition(" = ")[0] not in parts.chains]
    return parts


def architecture(view: StudyView, *, number: int | None = None, narrow: bool = False) -> go.Figure:
    """The configuration of a trial.

    Args:
        number: the trial; None: the best completed one, and before there is one the trial that leads.
        narrow: fewer boxes beside each other.
    """
    trial = view.state.best or leader(view.state) if number is None else view.state.trials.get(number)
    if trial is None:
        return empty("Architecture", "No trial has a value yet.")
    leads = ", which leads so far" if number is None and view.state.best is None else ""
    title = f"Architecture of trial {trial.number}{leads}"
    flat = view.flat(trial)
    if not flat:
        return empty(title, "It has no parameters.")
    parts = parts_of(flat)
    sketch = _Sketch(narrow=narrow)
    for name, ops in parts.cells.items():
        sketch.cell(name or "cell", ops)
    for name, items in parts.chains.items():
        sketch.chain(name, items)
    if parts.settings:
        sketch.settings(parts.settings)
    hidden = {"visible": False, "fixedrange": True}
    layout = {
        "xaxis": {**hidden, "range": [-0.1, WIDTH + 0.1]},
        "yaxis": {**hidden, "range": [-sketch.depth, 0.2]},
        "height": int(58 + 62 * sketch.depth),
        "margin": {"l": 14, "r": 14, "t": 40, "b": 6},
        "shapes": sketch.shapes,
        "annotations": sketch.notes,
        "showlegend": False,
    }
    anchor = {"type": "scatter", "x": [0], "y": [0], "mode": "markers", "marker": {"opacity": 0}, "hoverinfo": "skip"}
    return figure(title, [anchor], layout)


class _Sketch:
    """Boxes, arrows and texts from the top down; `depth` is how far down the drawing has come."""

    def __init__(self, *, narrow: bool) -> None:
        self.narrow = narrow
        self.shapes: list[dict[str, Any]] = []
        self.notes: list[dict[str, Any]] = []
        self.depth = 0.0

    def chain(self, name: str, items: Mapping[int, list[str]]) -> None:
        self._heading(name)
        shown = sorted(items.items())[:BOXES]
        most = max(min(len(lines), LINES_IN_A_BOX) for _, lines in shown)
        height = 0.5 + 0.27 * most
        per_row = BOXES_IN_A_ROW[self.narrow]
        width = WIDTH / per_row
        for at, (index, lines) in enumerate(shown):
            column = at % per_row
            if at and column == 0:
                self.depth += height + 0.2
            left, top = column * width, -self.depth
            self._box(left, top, left + width - 0.45, top - height, SERIES[0])
            text = "<br>".join(literal(line, 22) for line in lines[:LINES_IN_A_BOX])
            more = "<br>…" if len(lines) > LINES_IN_A_BOX else ""
            self._text(left + (width - 0.45) / 2, top - height / 2, f"<b>{index}</b><br>{text}{more}")
            if column:
                self._arrow(left - 0.42, top - height / 2, left - 0.03, top - height / 2, GREY)
        self.depth += height + 0.4

    def cell(self, name: str, ops: Mapping[tuple[int, int], str]) -> None:
        self._heading(name)
        last = max(target for _, target in ops)
        height = 0.9 + 0.55 * last
        middle = -self.depth - height / 2
        gap = WIDTH / (last + 1)
        colours = {op: SERIES[i % len(SERIES)] for i, op in enumerate(dict.fromkeys(ops.values()))}
        for (source, target), op in ops.items():
            x0, x1 = (source + 0.5) * gap, (target + 0.5) * gap
            lift = 0.55 * (target - source - 1) * (1 if (source + target) % 2 else -1)
            peak = middle + lift
            points = f"M {x0},{middle} Q {(x0 + x1) / 2},{middle + 2 * lift} {x1},{middle}"
            self.shapes.append({"type": "path", "path": points, "line": {"color": colours[op], "width": 2}})
            self._text((x0 + x1) / 2, peak + 0.14, literal(op, 20), colour=colours[op])
        for node in range(last + 1):
            x = (node + 0.5) * gap
            self._box(x - 0.3, middle + 0.24, x + 0.3, middle - 0.24, BLUE, fill="rgba(0,114,178,0.35)")
            self._text(x, middle, "in" if node == 0 else "out" if node == last else str(node))
        self.depth += height + 0.3

    def settings(self, lines: list[str]) -> None:
        self._heading("settings")
        columns = SETTINGS_IN_A_ROW[self.narrow]
        for i, line in enumerate(lines[:60]):
            row, column = divmod(i, columns)
            self._text(column * WIDTH / columns, -self.depth - 0.34 * row - 0.1, literal(line, 44), anchor="left")
        self.depth += 0.34 * -(-min(len(lines), 60) // columns) + 0.2

    def _heading(self, text: str) -> None:
        self._text(0, -self.depth, f"<b>{literal(text, 40)}</b>", anchor="left")
        self.depth += 0.45

    def _box(self, x0: float, y0: float, x1: float, y1: float, colour: str, fill: str = "rgba(0,114,178,0.08)") -> None:
        corners = {"x0": x0, "y0": y0, "x1": x1, "y1": y1}
        self.shapes.append({"type": "rect", **corners, "line": {"color": colour, "width": 1.2}, "fillcolor": fill})

    def _text(self, x: float, y: float, text: str, *, anchor: str = "center", colour: str | None = None) -> None:
        font = {"size": 11} if colour is None else {"size": 11, "color": colour}
        self.notes.append({"x": x, "y": y, "text": text, "showarrow": False, "xanchor": anchor, "font": font})

    def _arrow(self, x0: float, y0: float, x1: float, y1: float, colour: str) -> None:
        place = {"x": x1, "y": y1, "ax": x0, "ay": y0, "axref": "x", "ayref": "y", "text": ""}
        self.notes.append({**place, "showarrow": True, "arrowhead": 2, "arrowcolor": colour, "arrowwidth": 1.3})
