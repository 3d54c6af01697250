"""Two objectives against each other, or the objective against what it cost."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import plotly.graph_objects as go

from ...search.spec import Objective
from ...search.transitions import TrialStatus
from ...search.trial_record import TrialRecord
from ..study_view import StudyView, is_finite
from .history import hover
from .theme import COLOUR, GREY, MARKERS, SHAPE, decimated, empty, figure, literal, rounded, value_title

SHOWN = (TrialStatus.COMPLETED, TrialStatus.STOPPED, TrialStatus.PAUSED)
OUTSIDE = "outside of the constraints"

Measure = Callable[[TrialRecord], float | None]


def pareto(view: StudyView, *, against: str = "") -> go.Figure:
    """Trials, and those of them that no other one beats in both; trials outside of the constraints are drawn apart.

    Args:
        against: another objective, or "run_s", "gpu_s", "epochs" (less is better), or a reported metric (less is
            better). Empty: the second objective, or without one GPU-seconds (wall seconds where no trial had a GPU).
    """
    title = "Pareto front"
    name, measure, less_is_better = _measure(view, against)
    judged = view.valued() if view.state.spec.constraints else view.judged()  # a paused one has no outcomes yet
    trials = [t for t in judged if is_finite(measure(t))]
    if not trials:
        return empty(title, "No trial has ended with a value yet.")

    def key(trial: TrialRecord) -> tuple[float, float, int]:
        cost = measure(trial)
        assert cost is not None and trial.value is not None
        return (cost if less_is_better else -cost, view.objective.loss(trial.value), trial.number)

    kept = [t for t in trials if view.keeps_bounds(t)]
    best = [view.state.trials[number] for _, _, number in undominated([key(t) for t in kept])]
    drawn = decimated(trials, MARKERS, keep=best)
    groups = {
        **{str(s): (COLOUR[s], SHAPE[s], [t for t in drawn if t.status is s and view.keeps_bounds(t)]) for s in SHOWN},
        OUTSIDE: (GREY, "circle-open", [t for t in drawn if not view.keeps_bounds(t)]),
    }
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": what,
            "x": [rounded(measure(t)) for t in members],
            "y": [rounded(t.value) for t in members],
            "customdata": [t.number for t in members],
            "hovertext": [hover(view, t) for t in members],
            "hoverinfo": "text",
            "marker": {"color": colour, "symbol": shape, "size": 6, "opacity": 0.6},
        }
        for what, (colour, shape, members) in groups.items()
        if members
    ]
    traces.append(
        {
            "type": "scatter",
            "mode": "lines",
            "name": f"front ({len(best)})",
            "x": [rounded(measure(t)) for t in best],
            "y": [rounded(t.value) for t in best],
            "line": {"shape": "hv" if less_is_better else "vh", "color": GREY, "width": 2},
            "hoverinfo": "skip",
        }
    )
    axes = {"xaxis": {"title": {"text": name}}, "yaxis": {"title": {"text": value_title(view.objective)}}}
    others = len(view.state.spec.objectives) - 2
    note = f"in two of {others + 2} objectives; over all of them the front has {len(view.state.front)} trials"
    return figure(title, traces, axes, note=note if others > 0 else "")


def undominated(points: list[tuple[float, float, int]]) -> list[tuple[float, float, int]]:
    """The points (first loss, second loss, number) that no other one is at least as good as in both.

    >>> undominated([(1.0, 3.0, 0), (2.0, 2.0, 1), (2.0, 4.0, 2), (3.0, 2.0, 3)])
    [(1.0, 3.0, 0), (2.0, 2.0, 1)]
    """
    found = []
    lowest = math.inf
    for point in sorted(points):
        if point[1] < lowest:
            found.append(point)
            lowest = point[1]
    return found


def _measure(view: StudyView, against: str) -> tuple[str, Measure, bool]:
    """(axis title, the measure, is less better)."""
    objectives = view.state.spec.objectives
    if against in {"", *(o.metric for o in objectives[1:])} and len(objectives) > 1:
        index = next((i for i, o in enumerate(objectives) if i and o.metric == against), 1)
        second: Objective = objectives[index]
        return value_title(second), lambda t: t.values[index] if t.values else None, second.direction == "minimize"
    if against == "epochs":
        return "epochs trained", lambda t: float(t.last_step), True
    if against == "run_s" or (against == "" and not any(t.gpu_s for t in view.ended_trials)):
        return "seconds on workers", lambda t: t.run_s, True
    if against in ("", "gpu_s"):
        return "GPU-seconds", lambda t: t.gpu_s, True
    return f"{literal(against, 40)} ↓", lambda t: _last(t, against), True


def _last(trial: TrialRecord, metric: str) -> float | None:
    return next((v for v in reversed(trial.columns.get(metric, [])) if v is not None), None)
