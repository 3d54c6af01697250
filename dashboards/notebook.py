"""A study in a notebook: a summary that is plain HTML and SVG, and the figures by name."""

from __future__ import annotations

import html
from typing import Any

from ..errors import NotFound
from ..search.study_data import StudyData
from .axes import written
from .study_view import StudyView
from .terminal.figures import number
from .terminal.standing import best_so_far

OF_RESULTS = (
    "history",
    "learning_curves",
    "parallel_coordinates",
    "slices",
    "contour",
    "importance",
    "pareto",
    "rungs",
    "architecture",
    "trial_curve",
)
"""Figures that need nothing but a study's state."""

WIDTH, HEIGHT = 260, 48
POINTS = 200
LEFT = "text-align:left"


class ResultFigures:
    """Figures of a study: `results.figures.history(by="time")` is a Plotly figure, which a notebook shows."""

    def __init__(self, state: StudyData) -> None:
        self._view = StudyView(state)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in OF_RESULTS:
            raise AttributeError(f"no figure {name!r}; there are {', '.join(OF_RESULTS)}")
        return lambda **options: self.draw(name, **options)

    def __dir__(self) -> list[str]:
        return [*OF_RESULTS, "draw"]

    def draw(self, name: str, **options: Any) -> Any:
        """The figure `name`, with the fields of `shoal.dashboards.figures.Options`.

        Raises:
            NotFound: there is no such figure.
        """
        from .figures import Options, study_figure

        if name not in OF_RESULTS:
            raise NotFound(f"no figure {name!r}.", f"There are {', '.join(OF_RESULTS)}.")
        return study_figure(self._view, name, Options(**options))


def summary_html(state: StudyData) -> str:
    """State, counts, best configuration and a small line of the best so far; no script, so it shows everywhere."""
    view = StudyView(state)
    best = state.best
    counts = ", ".join(f"{n} {status}" for status, n in state.counts().items() if n) or "no trials"
    rows = [("state", f"{state.status}: {state.reason}"), ("trials", counts)]
    if best is not None:
        rows.append((f"best {view.objective.metric}", f"{number(best.value)} (trial {best.number})"))
        rows += [(path, written(value)) for path, value in view.flat(best).items()]
    rows += [("tags", " ".join(state.tags))] if state.tags else []
    rows += [("note", state.note)] if state.note else []
    body = "".join(
        f'<tr><th style="{LEFT}">{html.escape(name)}</th><td style="{LEFT}">{html.escape(value)}</td></tr>'
        for name, value in rows
    )
    line = sparkline_svg(list(best_so_far(state.trials.values(), view.objective)))
    return f"<div><b>{html.escape(state.name)}</b>{line}<table>{body}</table></div>"


def sparkline_svg(values: list[float]) -> str:
    """A small line through the values; nothing for fewer than two.

    >>> sparkline_svg([1.0])
    ''
    """
    if len(values) < 2:
        return ""
    stride = -(-len(values) // POINTS)
    shown = [*values[::stride], values[-1]]
    low, span = min(shown), (max(shown) - min(shown)) or 1.0
    step = WIDTH / (len(shown) - 1)
    points = " ".join(
        f"{i * step:.1f},{HEIGHT - 4 - (v - low) / span * (HEIGHT - 8):.1f}" for i, v in enumerate(shown)
    )
    return (
        f'<svg width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="best so far">'
        f'<polyline points="{points}" fill="none" stroke="#0072b2" stroke-width="1.5"/></svg>'
    )
