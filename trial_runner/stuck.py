"""Who keeps the others of its group waiting without having fallen silent."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from .worker_process import WorkerProcess

FORMING_S = 30.0
"""How long a worker may take to form a group once all others have begun to, too; it takes milliseconds."""

STUCK_S = 15.0
STUCK_CPU_S = 0.1
"""A worker that has neither noticed a loss nor used the processor for so long will never notice it. One that evaluates
or compiles is waited for; signs of life use a hundredth of the limit."""


def never_forming(
    now: float, ranks: Sequence[WorkerProcess], forming_since: Mapping[int, float], formed: Collection[int]
) -> list[WorkerProcess]:
    """Who has not formed the group that all others have come to form.

    Args:
        now: `time.monotonic`, as all times here.
        ranks: the workers of the group that is being formed.
        forming_since: since when, by worker.
        formed: workers that have formed it.
    """
    if any(worker.id not in forming_since for worker in ranks):
        return []
    late = now - max((forming_since[worker.id] for worker in ranks), default=now) > FORMING_S
    return [worker for worker in ranks if late and worker.id not in formed]


class Idleness:
    """Watches those that are waited for after a loss."""

    def __init__(self) -> None:
        self._idle: dict[int, tuple[float, float]] = {}  # worker → since when, and its processor seconds then

    def never_noticing(self, now: float, awaited: Sequence[WorkerProcess]) -> list[WorkerProcess]:
        """Those who do nothing, and will not notice the loss."""
        idle: dict[int, tuple[float, float]] = {}
        for worker in awaited:
            used_s = worker.processor_s()
            since, before_s = self._idle.get(worker.id, (now, used_s))
            idle[worker.id] = (since, before_s) if used_s - before_s < STUCK_CPU_S else (now, used_s)
        self._idle = idle
        return [worker for worker in awaited if now - idle[worker.id][0] > STUCK_S]
