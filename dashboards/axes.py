"""A parameter as an axis of a chart: where each value stands and what is written there."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from ..spaces import Domain, Float, Int
from ..spaces.listed_domains import Listed
from ..spaces.values import Value
from .terminal.figures import number

Kind = Literal["linear", "log", "listed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """The axis of one parameter.

    On a "listed" axis the values stand at 0, 1, 2, ... in the domain's order, with `labels` under them. Values are told
    apart with their types: True, 1 and 1.0 are three places.
    """

    path: str
    kind: Kind
    labels: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()

    def place(self, value: Value) -> float | None:
        """Where `value` stands; None where the axis has no place for it (another version of the space)."""
        if self.kind == "listed":
            key = value_key(value)
            return float(self.keys.index(key)) if key in self.keys else None
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        try:
            place = float(value)
        except OverflowError:
            return None
        return place if math.isfinite(place) and (self.kind == "linear" or place > 0) else None

    def even(self, place: float) -> float:
        """A place in coordinates in which the axis is even: the logarithm on a log axis."""
        return math.log10(place) if self.kind == "log" else place


def axis_of(path: str, domain: Domain) -> Axis:
    """The axis of a declared domain."""
    if isinstance(domain, Listed):
        return listed_axis(path, domain.values)
    if isinstance(domain, Float | Int):
        return Axis(path=path, kind="log" if domain.log and domain.low > 0 else "linear")
    raise AssertionError(domain)


def guessed_axis(path: str, values: Iterable[Value]) -> Axis:
    """The axis of a parameter without a known domain, from the values that trials had."""
    seen = list(values)
    if seen and all(isinstance(v, int | float) and not isinstance(v, bool) for v in seen):
        return Axis(path=path, kind="linear")
    return listed_axis(path, seen)


def listed_axis(path: str, values: Sequence[Value]) -> Axis:
    """An axis with one place for each value, in this order.

    >>> listed_axis("x", [True, 1, 1.0, None, "1", (0, "a")]).labels
    ('True', '1', '1.0', 'None', "'1'", "(0, 'a')")
    """
    keyed = {value_key(value): value for value in values}
    plain = [value if isinstance(value, str) else _written(value) for value in keyed.values()]
    labels = [
        repr(value) if isinstance(value, str) and plain.count(value) > 1 else text
        for value, text in zip(keyed.values(), plain, strict=True)
    ]
    return Axis(path=path, kind="listed", labels=tuple(labels), keys=tuple(keyed))


def value_key(value: Value) -> str:
    """Equal for values of equal type and content only."""
    return f"{type(value).__name__} {value!r}"


def written(value: Value) -> str:
    """A value as hover texts and tables write it: floats with four significant digits.

    >>> written(0.000123456), written(True), written("relu"), written((0, "a"))
    ('0.0001235', 'True', 'relu', "(0, 'a')")
    """
    if isinstance(value, float):
        return number(value)
    return value if isinstance(value, str) else repr(value)


def number_range(domain: Domain | None) -> str:
    """The values of a domain of numbers in words; nothing where it is not known.

    >>> number_range(Float(1e-4, 0.1, log=True)), number_range(Int(1, 9, step=2)), number_range(None)
    ('0.0001 to 0.1, log', '1 to 9 by 2', '')
    """
    if not isinstance(domain, Float | Int):
        return ""
    step = "" if domain.step in (None, 1) else f" by {number(domain.step)}"
    return f"{number(domain.low)} to {number(domain.high)}{step}{', log' if domain.log else ''}"


def _written(value: Value) -> str:
    return repr(value)
