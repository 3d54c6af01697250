"""The figures by name, with the options that a web page or a program may give them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TypeVar, get_args

import plotly.graph_objects as go

from ...errors import NotFound, SpecError
from ..importances import EVALUATORS, Evaluator, importances, sample
from ..study_view import StudyView
from .architecture import architecture
from .compare import compare
from .contour import contour
from .gantt import Colour, gantt
from .history import By, history
from .importance import importance
from .learning_curves import CURVES, learning_curves
from .parallel_coordinates import parallel_coordinates
from .pareto import pareto
from .rungs import rungs
from .shares import shares
from .slices import slices
from .trial_curve import trial_curve
from .utilisation import utilisation

Entry = TypeVar("Entry")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a figure may be asked for; each takes the ones it knows.

    `metric` is the objective that is shown (empty: the first), `by` the x axis of histories, `paths` the parameters of
    slices and parallel coordinates, `x` and `y` those of a contour, `against` the second axis of a Pareto front,
    `number` a trial, `curves` how many curves are drawn one by one. `with_stopped` (see `sample`) and `evaluator`
    belong to the importance; `since` and `until` (seconds since the epoch), `colour` and `utc_offset_s` to the chart of
    devices. `narrow` is for screens under 620 pixels.

    Raises:
        SpecError: a value that no figure takes.
    """

    by: By = "trials"
    paths: tuple[str, ...] = ()
    x: str = ""
    y: str = ""
    against: str = ""
    number: int | None = None
    curves: int = CURVES
    with_stopped: bool | None = None
    metric: str = ""
    evaluator: Evaluator = "ped_anova"
    since: float | None = None
    until: float | None = None
    colour: Colour = "outcome"
    utc_offset_s: float = 0.0
    narrow: bool = False

    def __post_init__(self) -> None:
        if self.by not in get_args(By):
            raise SpecError(f"by={self.by!r} is unknown.", f"Use one of {', '.join(get_args(By))}.")
        if self.evaluator not in EVALUATORS:
            raise SpecError(f"evaluator={self.evaluator!r} is unknown.", f"Use one of {', '.join(EVALUATORS)}.")
        if self.colour not in get_args(Colour):
            raise SpecError(f"colour={self.colour!r} is unknown.", f"Use one of {', '.join(get_args(Colour))}.")
        if not 1 <= self.curves <= 200:
            raise SpecError(f"curves={self.curves} is outside 1 to 200.", "Use e.g. curves=20.")


NO_OPTIONS = Options()


def importance_figure(view: StudyView, options: Options) -> go.Figure:
    """The importance, computed now: up to three seconds for 10,000 trials."""
    data = sample(view, with_stopped=options.with_stopped, metric=options.metric)
    return importance(importances(data, evaluator=options.evaluator), data=data, evaluator=options.evaluator)


def _gantt(views: Sequence[StudyView], options: Options) -> go.Figure:
    return gantt(
        views,
        since=options.since,
        until=options.until,
        number=options.number,
        colour=options.colour,
        utc_offset_s=options.utc_offset_s,
    )


STUDY_FIGURES: Mapping[str, Callable[[StudyView, Options], go.Figure]] = {
    "history": lambda view, o: history(view, by=o.by, metric=o.metric),
    "learning_curves": lambda view, o: learning_curves(view, curves=o.curves, metric=o.metric),
    "parallel_coordinates": lambda view, o: parallel_coordinates(
        view, paths=o.paths, metric=o.metric, narrow=o.narrow
    ),
    "slices": lambda view, o: slices(view, paths=o.paths, metric=o.metric, narrow=o.narrow),
    "contour": lambda view, o: contour(view, x=o.x, y=o.y, metric=o.metric),
    "importance": importance_figure,
    "pareto": lambda view, o: pareto(view, against=o.against),
    "rungs": lambda view, o: rungs(view),
    "gantt": lambda view, o: _gantt([view], o),
    "utilisation": lambda view, o: utilisation([view], utc_offset_s=o.utc_offset_s),
    "architecture": lambda view, o: architecture(view, number=o.number, narrow=o.narrow),
    "trial_curve": lambda view, o: trial_curve(view, number=_number(view, o)),
}

OF_OBJECTIVE = ("history", "learning_curves", "parallel_coordinates", "slices", "contour", "importance")
"""Figures of one objective: of several, `Options.metric` says which."""

POOL_FIGURES: Mapping[str, Callable[[Sequence[StudyView], Options], go.Figure]] = {
    "gantt": _gantt,
    "utilisation": lambda views, o: utilisation(views, utc_offset_s=o.utc_offset_s),
    "shares": lambda views, o: shares(views),
    "compare": lambda views, o: compare(views, by=o.by),
}


def study_figure(view: StudyView, name: str, options: Options = NO_OPTIONS) -> go.Figure:
    """The figure `name` of a study.

    Raises:
        NotFound: there is no such figure (did you mean).
    """
    return _found(name, STUDY_FIGURES)(view, options)


def pool_figure(views: Sequence[StudyView], name: str, options: Options = NO_OPTIONS) -> go.Figure:
    """The figure `name` over several studies.

    Raises:
        NotFound: there is no such figure (did you mean).
    """
    return _found(name, POOL_FIGURES)(views, options)


def _found(name: str, table: Mapping[str, Entry]) -> Entry:
    if name not in table:
        close = get_close_matches(name, table, n=1)
        raise NotFound(
            f"no figure {name!r}.", f"Did you mean {close[0]}?" if close else f"Known: {', '.join(table)}."
        )
    return table[name]


def _number(view: StudyView, options: Options) -> int:
    if options.number is None or options.number not in view.state.trials:
        raise NotFound(f"study {view.name} has no trial {options.number}.", "Give number=..., see shoal trials.")
    return options.number
