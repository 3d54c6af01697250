"""What is to be done at which time, whatever comes first."""

from __future__ import annotations

import heapq
from collections.abc import Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)


class Deadlines(Generic[Key]):
    """Times by key; a key has at most one.

    >>> deadlines = Deadlines()
    >>> deadlines.set("b", 2.0); deadlines.set("a", 1.0); deadlines.set("b", 3.0)
    >>> deadlines.next_at(), deadlines.due(1.5), deadlines.due(2.5), deadlines.next_at()
    (1.0, ['a'], [], 3.0)
    """

    def __init__(self) -> None:
        self._at: dict[Key, float] = {}
        self._heap: list[tuple[float, int, Key]] = []
        self._count = 0

    def set(self, key: Key, at: float) -> None:
        self._at[key] = at
        self._count += 1
        heapq.heappush(self._heap, (at, self._count, key))

    def cancel(self, key: Key) -> None:
        self._at.pop(key, None)

    def due(self, now: float) -> list[Key]:
        """Keys whose time has come, earliest first; each is told once."""
        keys: list[Key] = []
        while (at := self.next_at()) is not None and at <= now:
            key = heapq.heappop(self._heap)[2]
            del self._at[key]
            keys.append(key)
        return keys

    def next_at(self) -> float | None:
        """The earliest time, None without any."""
        while self._heap and self._at.get(self._heap[0][2]) != self._heap[0][0]:
            heapq.heappop(self._heap)  # set anew or cancelled
        return self._heap[0][0] if self._heap else None
