"""Events as rows of the journal: `encode` gives (kind, body), `decode` the event again.

`kind` is the class name and `body` the JSON of its fields; `at` has a column of its own. Nothing in a body is ever
executed: it is JSON, checked field by field, whoever wrote the journal.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, fields
from types import MappingProxyType
from typing import Any

from ..errors import JournalError
from . import events
from .events import Event, FailureKind

KINDS: Mapping[str, type[Event]] = MappingProxyType(
    {cls.__name__: cls for cls in vars(events).values() if isinstance(cls, type) and issubclass(cls, Event)}
)
_FIELDS = {cls: tuple(f.name for f in fields(cls) if f.name != "at") for cls in KINDS.values()}
_DEFAULTS = {
    cls: {f.name: f.default for f in fields(cls) if f.default is not MISSING} for cls in KINDS.values()
}
_ABSENT = object()


def _plain(value: Any) -> Any:
    """What the JSON encoder does not know: mappings of every kind, and sets of values."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{value!r} of type {type(value).__name__} is not a JSON value")


_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_plain).encode


def encode(event: Event) -> tuple[str, str]:
    """The kind and body of `event`; fields at their defaults are left out.

    Raises:
        JournalError: a field is no JSON value (non-finite numbers travel as strings, see `numbers.py`).
    """
    cls = type(event)
    defaults = _DEFAULTS[cls]
    body = {}
    for name in _FIELDS[cls]:
        value = getattr(event, name)
        if value != defaults.get(name, _ABSENT):
            body[name] = value
    try:
        return cls.__name__, _encode(body)
    except (TypeError, ValueError) as error:
        raise JournalError(
            f"{cls.__name__} cannot be journaled: {error}.", "Report plain numbers, texts and lists of them."
        ) from None


def decode(kind: str, at: float, body: str) -> Event:
    """The event that a row stands for.

    Raises:
        JournalError: a newer shoal wrote it, or it is damaged.
    """
    cls = KINDS.get(kind)
    if cls is None:
        raise JournalError(
            f"the journal has an event {kind!r} that this shoal does not know: it is newer than the program.",
            "Upgrade shoal.",
        )
    try:
        parts = json.loads(body)
        if parts.get("failure") is not None:
            parts["failure"] = FailureKind(parts["failure"])
        if "gpus" in parts:
            parts["gpus"] = tuple(parts["gpus"])
        return cls(at=at, **parts)
    except (ValueError, TypeError, AttributeError) as error:
        raise JournalError(
            f"the journal's {kind} {body[:80]!r} cannot be read: {error}.",
            "It is damaged or newer than the program: upgrade shoal, or go on from a copy.",
        ) from error
