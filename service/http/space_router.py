"""`GET` only: what may be tried, as the form for enqueueing a configuration needs it."""

from __future__ import annotations

from fastapi import APIRouter

from ...dashboards.axes import axis_of, number_range
from ...search.spec import Json
from ...spaces.listed_domains import Listed
from .read_router import safe
from .strict import StrictJson
from .watching import JournalWatch


def space_router(watch: JournalWatch) -> APIRouter:
    """The route over a watched journal."""
    router = APIRouter(prefix="/api/v1", tags=["read"], default_response_class=StrictJson)

    @router.get("/studies/{study}/space")
    def space(study: str) -> StrictJson:
        """Each parameter's path, and its `values` (as enqueueing takes them, as people read them) or its `range`."""
        rows: list[Json] = []
        with watch.study(study) as view:
            for path in view.paths:
                domain = view.domain(path)
                if isinstance(domain, Listed):
                    values = zip(map(repr, domain.values), axis_of(path, domain).labels, strict=True)
                    rows.append({"path": path, "values": [list(pair) for pair in values]})
                else:
                    rows.append({"path": path, "range": number_range(domain)})
        return safe({"parameters": rows})

    return router
