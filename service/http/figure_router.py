"""Figures as JSON, several to a reply, so that a page costs few requests."""

from __future__ import annotations

import threading
from typing import Annotated, Any

from fastapi import APIRouter, Query

from ...dashboards.figures import POOL_FIGURES, Options, figure_json, importance, pool_figure, study_figure
from ...dashboards.figures.gantt import Colour
from ...dashboards.figures.history import By
from ...dashboards.importances import Evaluator, Importance, Sample, importances, sample
from ...dashboards.redaction import covered
from ...errors import NotFound
from ...search.spec import Json
from .read_router import summary
from .strict import StrictJson
from .watching import JournalWatch

IMPORTANCE_GROWTH = 1.1
"""An importance is computed again when this many times the trials have ended: it hardly changes before."""


def figure_router(watch: JournalWatch) -> APIRouter:
    """The routes of figures over a watched journal."""
    router = APIRouter(prefix="/api/v1", tags=["figures"], default_response_class=StrictJson)
    kept = KeptImportances(watch)

    @router.get("/studies/{study}/figures")
    def of_study(
        study: str,
        names: str,
        by: By = "trials",
        paths: Annotated[list[str] | None, Query()] = None,
        x: str = "",
        y: str = "",
        against: str = "",
        number: int | None = None,
        curves: int = 20,
        with_stopped: bool | None = None,
        metric: str = "",
        evaluator: Evaluator = "ped_anova",
        since: float | None = None,
        until: float | None = None,
        utc_offset_s: float = 0.0,
        narrow: bool = False,
        with_summary: bool = False,
    ) -> StrictJson:
        """Figures of one study by name (comma-separated), for one and the same moment of the study."""
        options = Options(
            by=by,
            paths=tuple(paths or ()),
            x=x,
            y=y,
            against=against,
            number=number,
            curves=curves,
            with_stopped=with_stopped,
            metric=metric,
            evaluator=evaluator,
            since=since,
            until=until,
            utc_offset_s=utc_offset_s,
            narrow=narrow,
        )
        wanted = names.split(",")
        found: dict[str, Any] = {}
        if "importance" in wanted:
            found["importance"] = kept.figure(study, options)
        with watch.study(study) as view:
            drawn = {name: study_figure(view, name, options) for name in wanted if name != "importance"}
            body: dict[str, Json] = {"seq": view.state.last_seq}
            if with_summary:
                body["summary"] = covered(summary(view))
        if with_summary:
            body["head_running"] = watch.head_is_running()
        found |= drawn
        return StrictJson(body | {"figures": {name: figure_json(found[name]) for name in wanted}})

    @router.get("/figures")
    def of_pool(
        names: str,
        studies: Annotated[list[str] | None, Query()] = None,
        by: By = "trials",
        since: float | None = None,
        until: float | None = None,
        colour: Colour = "outcome",
        utc_offset_s: float = 0.0,
    ) -> StrictJson:
        """Figures over several studies (all, where none is named)."""
        options = Options(by=by, since=since, until=until, colour=colour, utc_offset_s=utc_offset_s)
        with watch.studies() as views:
            known = {view.name: view for view in views}
            missing = [name for name in studies or () if name not in known]
            if missing:
                raise NotFound(f"no study {missing[0]!r}.", f"Known: {', '.join(known)}.")
            chosen = [known[name] for name in studies or known]
            found = {name: pool_figure(chosen, name, options) for name in names.split(",")}
        return StrictJson({"figures": {name: figure_json(figure) for name, figure in found.items()}})

    @router.get("/figures/names")
    def names_of_pool() -> StrictJson:
        """What `/figures` can draw."""
        return StrictJson({"names": list(POOL_FIGURES)})

    return router


class KeptImportances:
    """Importances by study and options, computed outside the study's lock and kept while few trials were added."""

    def __init__(self, watch: JournalWatch) -> None:
        self._watch = watch
        self._kept: dict[tuple[str, Evaluator, bool | None, str], tuple[Sample, list[Importance]]] = {}
        self._turn = threading.Lock()

    def figure(self, study: str, options: Options) -> Any:
        """The figure; where it has to be computed, others wait for it instead of computing it too."""
        key = (study, options.evaluator, options.with_stopped, options.metric)
        with self._turn:
            with self._watch.study(study) as view:
                data = sample(view, with_stopped=options.with_stopped, metric=options.metric)
            before, found = self._kept.get(key, (None, []))
            if before is None or not _is_like(data, before):
                found = importances(data, evaluator=options.evaluator)
                before = data
                self._kept[key] = (data, found)
        return importance(found, data=before, evaluator=options.evaluator)


def _is_like(data: Sample, before: Sample) -> bool:
    """Are these hardly more trials than those before?"""
    return len(before.rows) <= len(data.rows) <= len(before.rows) * IMPORTANCE_GROWTH
