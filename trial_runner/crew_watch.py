"""What an agent looks at from time to time: do the workers that others wait for still run, and do all keep within their
memory?"""

from __future__ import annotations

from collections.abc import Collection

from .crew import Crew
from .memory_watch import LOOK_S, over_limit
from .pulse import BEAT_S, Pulses


class CrewWatch:
    """Looks at the crews of one study; times are `time.monotonic`."""

    def __init__(self) -> None:
        self._pulses = Pulses()
        self._pulses_at = 0.0
        self._memory_at = 0.0

    def look(self, now: float, crews: Collection[Crew]) -> None:
        """End who has fallen silent, and who uses too much."""
        if now >= self._pulses_at + BEAT_S:
            self._pulses_at = now
            groups = _groups(crews)
            silent = self._pulses.silent(now, (worker for crew in groups for worker in crew.workers))
            for crew in groups:
                crew.check(now, [worker for worker in silent if worker in crew.workers])
        if now >= self._memory_at + LOOK_S:
            self._memory_at = now
            for crew in _limited(crews):
                for _, why in over_limit(crew.workers)[:1]:
                    crew.end_with("memory", why)

    def next_at(self, crews: Collection[Crew]) -> float | None:
        """When to look again; None while there is nothing to look at."""
        times = [self._pulses_at + BEAT_S] if _groups(crews) else []
        times += [self._memory_at + LOOK_S] if _limited(crews) else []
        return min(times, default=None)


def _groups(crews: Collection[Crew]) -> list[Crew]:
    return [crew for crew in crews if crew.is_several]


def _limited(crews: Collection[Crew]) -> list[Crew]:
    return [crew for crew in crews if crew.launch.memory_gib is not None and not crew.is_over]
