"""JSON that every browser can parse: no NaN, no infinities; and errors as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response

from ...dashboards.figures import dumped
from ...errors import JournalError, NotFound, ShoalError
from ...search.spec import Json

STATUS = {NotFound: 404, JournalError: 503}


class StrictJson(Response):
    """A JSON reply in which numbers that are not finite are null; what needs to tell them apart has a field beside."""

    media_type = "application/json"

    def render(self, content: Json) -> bytes:
        return dumped(finite(content))


def finite(body: Json) -> Json:
    """`body` with null for NaN and infinities.

    >>> finite({"a": [1, float("inf")]})
    {'a': [1, None]}
    """
    if isinstance(body, float):
        return body if math.isfinite(body) else None
    if isinstance(body, Mapping):
        return {str(key): finite(value) for key, value in body.items()}
    if isinstance(body, list | tuple):
        return [finite(value) for value in body]
    return body


async def tell_error(request: Request, error: Exception) -> Response:
    """A `ShoalError` as its cause and remedy."""
    assert isinstance(error, ShoalError)
    status = next((code for kind, code in STATUS.items() if isinstance(error, kind)), 400)
    told = {"kind": type(error).__name__, "cause": error.cause, "remedy": error.remedy}
    return StrictJson({"error": told}, status_code=status)
