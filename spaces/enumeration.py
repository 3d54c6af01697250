"""Every configuration of a space in order, one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..errors import SpaceError
from .configuration import Configuration
from .sites import Decision
from .values import Value

if TYPE_CHECKING:
    from .space import Space


def grid(space: Space, points_per_float: int) -> Iterator[Configuration]:
    """Valid configurations, lazily; see `Space.grid`."""
    if points_per_float < 1:
        raise SpaceError(f"points_per_float={points_per_float}: at least 1 is needed.", "Give 1 or more.")
    return (config for config in _every(space, points_per_float) if space.holds(config))


def _every(space: Space, points_per_float: int) -> Iterator[Configuration]:
    """An odometer: every walk replays the digits of the last one with its last free digit moved on."""
    digits: list[int] = []
    while True:
        odometer = _Odometer(digits, points_per_float)
        yield space.root.build(odometer.decide)
        turned = odometer.turned
        while turned and turned[-1][0] + 1 == turned[-1][1]:
            turned.pop()
        if not turned:
            return
        digits = [digit for digit, _ in turned]
        digits[-1] += 1


class _Odometer:
    """Answers one walk with given digits, then zeros; `turned` has (digit, number of values) of every decision."""

    def __init__(self, digits: list[int], points_per_float: int) -> None:
        self.turned: list[tuple[int, int]] = []
        self._digits = digits
        self._points_per_float = points_per_float

    def decide(self, decision: Decision) -> Value:
        place = len(self.turned)
        digit = self._digits[place] if place < len(self._digits) else 0
        if decision.allowed is not None:
            self.turned.append((digit, len(decision.allowed)))
            return decision.allowed[digit]
        points = decision.domain.points(self._points_per_float)
        self.turned.append((digit, points.count))
        return points[digit]
