"""Which keywords of an Optuna class a study may set: those that JSON can carry."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from ...errors import SpecError
from ..spec import Json
from .options import nearest

OBJECTS = ("Callable", "Sampler", "Pruner", "Trial", "Strategy", "BaseMutation", "BaseCrossover")
"""A keyword whose annotation has one of these words takes a function or another object."""


def refuse_objects(owner: str, cls: type[Any], options: Mapping[str, Json]) -> None:
    """Only keywords without functions and other objects; the seed is the study's.

    Raises:
        SpecError: another keyword.
    """
    parameters = inspect.signature(cls.__init__).parameters
    allowed = [
        name
        for name, parameter in parameters.items()
        if name not in ("self", "seed") and not any(word in str(parameter.annotation) for word in OBJECTS)
    ]
    for name in options:
        if name not in allowed:
            why = "takes an object, not JSON." if name in parameters else f"is unknown.{nearest(name, allowed)}"
            raise SpecError(f"{owner}: option {name!r} {why}", f"Allowed: {', '.join(allowed) or 'none'}.")
