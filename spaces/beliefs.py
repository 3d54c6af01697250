"""`prior=`: where a person believes good values to be, and how firmly."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ..errors import SpaceError
from .naming import did_you_mean
from .scales import Strength
from .values import Value, shown

V = TypeVar("V")


def believed(
    owner: str, prior: Value, default: V | None, inside: Callable[[str, Value], V]
) -> tuple[V | None, Strength]:
    """(the value that is believed good, how firmly) from what was given as `prior=` and `default=`.

    Args:
        owner: how messages call the domain.
        prior: None, a value, or the strength of the belief in the default.
        inside: checks a value, given the argument's name.

    Raises:
        SpaceError: an unknown strength, or one without a default.
    """
    if not isinstance(prior, str):
        return (None if prior is None else inside("prior", prior)), "medium"
    return default, strength(owner, prior, has_default=default is not None)


def strength(owner: str, prior: Value, *, has_default: bool) -> Strength:
    """`prior` as the strength of the belief in a default.

    Raises:
        SpaceError: it is none, or there is no default.
    """
    known: dict[Value, Strength] = {"low": "low", "medium": "medium", "high": "high"}
    if not isinstance(prior, str) or prior not in known:
        raise SpaceError(
            f"{owner}: prior={shown(prior)} is no strength of belief.{did_you_mean(prior, known)}",
            "Use 'low', 'medium' or 'high', which speak of the default.",
        )
    if not has_default:
        raise SpaceError(
            f"{owner}: prior={prior!r} says how good the default is believed to be, and there is none.",
            "Give default=... too.",
        )
    return known[prior]
