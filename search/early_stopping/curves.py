"""What every rule remembers: the reports of each trial, steps ascending."""

from __future__ import annotations


class Curves:
    """Reports by trial. A step at or below the trial's last one is ignored: the first report of a step counts."""

    def __init__(self) -> None:
        self._points: dict[int, list[tuple[int, float | None]]] = {}

    def add(self, number: int, step: int, value: float | None) -> bool:
        """Whether the report was taken."""
        points = self._points.setdefault(number, [])
        if points and step <= points[-1][0]:
            return False
        points.append((step, value))
        return True

    def numbers(self) -> list[int]:
        """The trials that have reported, ascending."""
        return sorted(self._points)

    def last(self, number: int) -> tuple[int, float | None] | None:
        """The last report; None before the first."""
        points = self._points.get(number)
        return points[-1] if points else None

    def values(self, number: int) -> list[tuple[int, float]]:
        """The reports that had a value."""
        return [(step, value) for step, value in self._points.get(number, ()) if value is not None]
