"""How many trials got how far, and what became of them there."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from ...search.early_stopping.rungs import milestones
from ...search.transitions import TrialStatus
from ..study_view import StudyView
from .theme import COLOUR, GREY, empty, figure

BINS = 8
"""Groups of epochs where the stopping rule has no rungs of its own."""

WENT_ON = "went on"


def rungs(view: StudyView) -> go.Figure:
    """A bar for each rung: of the trials that reached it, how many went on and how many are where."""
    title = "Rungs"
    trials = [t for t in view.trials if t.steps]
    if not trials:
        return empty(title, "No trial has reported yet.")
    marks = _marks(view, max(t.last_step for t in trials))
    statuses = [s for s in TrialStatus if s is not TrialStatus.INFEASIBLE]
    counts: dict[str, list[int]] = {WENT_ON: [], **{str(s): [] for s in statuses}}
    for mark, after in zip(marks, [*marks[1:], None], strict=True):
        here = [t for t in trials if t.last_step >= mark and (after is None or t.last_step < after)]
        counts[WENT_ON].append(0 if after is None else sum(1 for t in trials if t.last_step >= after))
        for status in statuses:
            counts[str(status)].append(sum(1 for t in here if t.status is status))
    names = [f"epoch {mark}" for mark in marks]
    traces: list[dict[str, Any]] = [
        {
            "type": "bar",
            "name": what,
            "x": names,
            "y": numbers,
            "marker": {"color": "rgba(138,143,152,0.35)" if what == WENT_ON else COLOUR.get(what, GREY)},
            "hovertext": [f"{name}: {n} {what}" for name, n in zip(names, numbers, strict=True)],
            "hoverinfo": "text",
        }
        for what, numbers in counts.items()
        if any(numbers)
    ]
    layout = {
        "barmode": "stack",
        "xaxis": {"title": {"text": "last epoch at least"}, "type": "category"},
        "yaxis": {"title": {"text": "trials"}},
    }
    return figure(title, traces, layout)


def _marks(view: StudyView, last: int) -> list[int]:
    """The rule's rungs and its full length, or evenly spread epochs."""
    options = view.state.spec.early_stopping.options
    full, low, factor = options.get("max_epochs"), options.get("min_epochs", 1), options.get("reduction_factor", 3)
    if isinstance(full, int) and isinstance(low, int) and isinstance(factor, int) and low >= 1 and factor >= 2:
        return sorted({1, *milestones(low, full, factor), full})
    width = max(1, -(-last // BINS))
    return list(range(1, last + 1, width))
