"""Options of strategies and stopping rules: declared once as dataclass fields, checked and described from there.

A class of options is a frozen dataclass. A field's default is the option's default, its annotation the type, and its
metadata says the rest: `low` and `high` (inclusive bounds), `above` (exclusive lower bound), `choices`, `help`.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from ...errors import SpecError
from ..spec import Json

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option, as `shoal strategies` lists it. `required`: it has no default."""

    name: str
    type: str
    default: Json
    required: bool
    allowed: str
    help: str


def options_of(cls: type[Any]) -> tuple[Option, ...]:
    """The options that a dataclass of options declares."""
    return tuple(
        Option(
            name=f.name,
            type=str(f.type),
            default=None if f.default is dataclasses.MISSING else f.default,
            required=f.default is dataclasses.MISSING,
            allowed=_allowed(f.metadata),
            help=f.metadata.get("help", ""),
        )
        for f in dataclasses.fields(cls)
    )


def checked(cls: type[T], owner: str, given: Mapping[str, Json]) -> T:
    """An instance of the options class `cls` from JSON values; `owner` names it in messages.

    Raises:
        SpecError: an unknown option, a missing one, or a value outside what is allowed.
    """
    declared = options_of(cls)
    names = [option.name for option in declared]
    for name in given:
        if name not in names:
            allowed = f"Allowed: {', '.join(names)}." if names else "It takes no options."
            raise SpecError(f"{owner} has no option {name!r}.{nearest(name, names)}", allowed)
    missing = [option.name for option in declared if option.required and option.name not in given]
    if missing:  # of a stopping rule: strategies have a default for everything
        name = missing[0]
        raise SpecError(f"{owner} needs {name}=...", f"On the command line: --set early_stopping.{name}=VALUE.")
    return cls(**given)


def check_fields(instance: Any, owner: str) -> None:
    """Check every field of an options dataclass against its declaration; for `__post_init__`.

    Raises:
        SpecError: a value of another type or outside what is allowed.
    """
    for f in dataclasses.fields(instance):
        value = getattr(instance, f.name)
        kinds = str(f.type).split(" | ")
        if value is None and "None" in kinds:
            continue
        typed = "" if "choices" in f.metadata else _type_complaint(value, kinds)
        complaint = typed or _range_complaint(value, f.metadata)
        if complaint:
            default = "" if f.default is dataclasses.MISSING else f" The default is {f.default!r}."
            raise SpecError(f"{owner}: {f.name}={value!r} {complaint}.", f"Change {f.name}.{default}")


def nearest(name: str, known: Iterable[str]) -> str:
    """`" Did you mean 'tpe'?"`, or nothing when no known name is close.

    >>> nearest("randm", ["random", "grid"])
    " Did you mean 'random'?"
    """
    lower = {candidate.lower(): candidate for candidate in known}
    close = difflib.get_close_matches(name.lower(), list(lower), n=1)
    return f" Did you mean {lower[close[0]]!r}?" if close else ""


def _allowed(metadata: Mapping[str, Any]) -> str:
    if "choices" in metadata:
        return " or ".join(repr(choice) for choice in metadata["choices"])
    bounds = []
    if "above" in metadata:
        bounds.append(f"above {metadata['above']}")
    if "low" in metadata:
        bounds.append(f"at least {metadata['low']}")
    if "high" in metadata:
        bounds.append(f"at most {metadata['high']}")
    return ", ".join(bounds)


def _type_complaint(value: Json, kinds: list[str]) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    fits = (
        ("bool" in kinds and isinstance(value, bool))
        or ("str" in kinds and isinstance(value, str))
        or ("int" in kinds and is_number and isinstance(value, int))
        or ("float" in kinds and is_number and not math.isnan(value))
    )
    wanted = " or ".join("nothing (null)" if kind == "None" else _NAMES[kind] for kind in kinds)
    return "" if fits else f"is not {wanted}"


def _range_complaint(value: Json, metadata: Mapping[str, Any]) -> str:
    outside = (
        ("choices" in metadata and value not in metadata["choices"])
        or ("low" in metadata and value < metadata["low"])
        or ("high" in metadata and value > metadata["high"])
        or ("above" in metadata and value <= metadata["above"])
    )
    return f"is not {_allowed(metadata)}" if outside else ""


_NAMES = {"bool": "true or false", "str": "text", "int": "an integer", "float": "a number"}
