"""Signs of life: how the agent finds a worker that no longer runs, though its process is there.

A stopped process (SIGSTOP, a debugger, a frozen container) keeps its sockets open, so that the others of its group wait
for it without an error. Workers of elastic trials say something every second; one that is silent for longer than
`SILENT_S` and has not used its processor meanwhile is ended, which the others notice at once.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING

from .link import Link, LinkClosed

if TYPE_CHECKING:
    from .worker_process import WorkerProcess

BEAT_S = 1.0

SILENT_S = 4.0
"""Several beats: a machine with more to do than processors delays one by a second. Code that holds the interpreter's
lock for longer uses the processor, and is left alone."""


def beat(link: Link) -> None:
    """From now on, say every second that this process runs."""

    def run() -> None:
        pause = threading.Event()
        try:
            link.send("beat")
            while not pause.wait(BEAT_S):
                link.send("beat")
        except LinkClosed:  # the trial's own thread will find out, and end the process
            return

    threading.Thread(target=run, name="shoal-pulse", daemon=True).start()


class Pulses:
    """Watches the workers of groups."""

    def __init__(self) -> None:
        self._quiet: dict[int, float] = {}  # worker → processor seconds when its silence was first noticed

    def silent(self, now: float, workers: Iterable[WorkerProcess]) -> list[WorkerProcess]:
        """Those that have stopped; called about every `BEAT_S`."""
        found = []
        quiet: dict[int, float] = {}
        for worker in workers:
            if worker.beat_at is None or now - worker.beat_at < 2 * BEAT_S:
                continue
            used_s = worker.processor_s()
            quiet[worker.id] = self._quiet.get(worker.id, used_s)
            if now - worker.beat_at >= SILENT_S and used_s <= quiet[worker.id]:
                found.append(worker)
            quiet[worker.id] = used_s
        self._quiet = quiet
        return found


def processor_s(pid: int) -> float:
    """Seconds of processor time that a process has used; 0 when it has gone."""
    import psutil

    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.Error:
        return 0.0
    return float(times.user + times.system)
