"""Memory limits of trials: how much a worker uses with everything it has started."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psutil

    from .worker_process import WorkerProcess

LOOK_S = 0.5
"""How often workers with a limit are looked at: a program that fills memory at 2 GB/s exceeds its limit by 1 GB."""

GIB = 2**30


def over_limit(workers: Iterable[WorkerProcess]) -> list[tuple[WorkerProcess, str]]:
    """Those that use more than their trial's `memory_gib`, and a sentence that says so."""
    found = []
    for worker in workers:
        limit_gib = None if worker.launch is None else worker.launch.memory_gib
        if limit_gib is None:
            continue
        used_gib = worker.memory_gib(limit_gib)
        if used_gib > limit_gib:
            text = (
                f"a worker used {used_gib:.2f} GiB, more than memory_gib={limit_gib:g} allows: raise it, or use less "
                "memory (smaller batches, more shards, a smaller model)"
            )
            found.append((worker, text))
    return found


def used_memory_gib(pid: int, limit_gib: float = 0.0) -> float:
    """What a process and its descendants use, memory that several share divided among them; 0 when it has gone.

    Args:
        limit_gib: up to here a quicker measure will do, which counts shared memory in full.
    """
    import psutil

    try:
        root = psutil.Process(pid)
        processes = [root, *root.children(recursive=True)]
    except psutil.Error:
        return 0.0
    resident_gib = sum(_bytes(process, exact=False) for process in processes) / GIB
    if resident_gib <= limit_gib:
        return resident_gib
    return sum(_bytes(process, exact=True) for process in processes) / GIB


def _bytes(process: psutil.Process, *, exact: bool) -> int:
    import psutil

    try:
        if not exact:
            return int(process.memory_info().rss)
        full = process.memory_full_info()
        return int(getattr(full, "pss", full.uss))  # Linux knows shares; elsewhere what is its own
    except psutil.Error:
        return 0
