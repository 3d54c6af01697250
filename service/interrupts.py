"""Ctrl-C, SIGTERM and SIGUSR1 (which batch systems send before a job's time is up) as something the head can wait for:
the first asks for a graceful end, the second for one now."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self


class Interrupts:
    """Counts these signals while the context is open. Outside of the main thread they are left alone."""

    SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)

    def __init__(self) -> None:
        self.count = 0
        self._before: dict[signal.Signals, Any] = {}  # whatever signal.getsignal returns
        self._read_fd, self._write_fd = os.pipe()
        for fd in (self._read_fd, self._write_fd):
            os.set_blocking(fd, False)

    def fileno(self) -> int:
        """Readable once a signal has arrived."""
        return self._read_fd

    def clear(self) -> None:
        """Take note: `fileno` is not readable any more until the next signal."""
        with contextlib.suppress(BlockingIOError):
            while os.read(self._read_fd, 64):
                continue

    def _arrived(self, signum: int, frame: FrameType | None) -> None:
        self.count += 1
        with contextlib.suppress(BlockingIOError):  # a full pipe is readable, which is all it is for
            os.write(self._write_fd, b"!")

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for signum in self.SIGNALS:
                self._before[signum] = signal.signal(signum, self._arrived)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for signum, handler in self._before.items():
            signal.signal(signum, handler)
        os.close(self._read_fd)
        os.close(self._write_fd)
