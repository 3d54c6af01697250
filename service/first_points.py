"""The configurations that a study tries before its strategy's own: those a person names, and the space's default."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import SpaceError, SpecError
from ..search.spec import Json
from ..spaces import Space

DEFAULT = "the space's default"
"""The key of the default configuration, which its trial's reason shows."""

REMEDY = "Use points_to_evaluate=[{'lr': 0.1}]."


def first_points(points: Sequence[Mapping[str, Any]], space: Space | None) -> tuple[tuple[Json, str], ...]:
    """(configuration as JSON, key under which it counts once): the points, then the default where `default=` is used.

    Raises:
        SpecError: no list of mappings.
        SpaceError: a point is outside of the space, or breaks a rule.
    """
    if not isinstance(points, Sequence) or isinstance(points, str):
        raise SpecError(f"points_to_evaluate={points!r} is not a list.", REMEDY)
    found = [_point(place, config, space) for place, config in enumerate(points)]
    default = None if space is None else space.default()
    if default is not None and default.key() not in (key for _, key in found):
        found.append((default.to_json(), DEFAULT))
    return tuple(found)


def _point(place: int, config: Mapping[str, Any], space: Space | None) -> tuple[Json, str]:
    if not isinstance(config, Mapping):
        raise SpecError(f"points_to_evaluate[{place}]: {config!r} is not a mapping.", REMEDY)
    if space is None:
        try:
            flat = dict(config)
            return flat, json.dumps(flat, sort_keys=True, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise SpecError(
                f"points_to_evaluate[{place}]: {config!r} is not a mapping of plain values: {error}.", REMEDY
            ) from None
    try:
        valid = space.validate(config)
    except SpaceError as error:
        raise SpaceError(f"points_to_evaluate[{place}]: {error.cause}", error.remedy) from None
    return valid.to_json(), valid.key()
