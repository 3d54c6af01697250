"""Two programs on one machine never take the same GPU: one `flock` per GPU, in a folder per user.

The lock dies with the process that holds it, so nothing has to be cleaned up after a crash. The file says who
holds it, for the message that the next program prints.
"""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from ..errors import PoolError

LOGICAL = "logical-"
MAX_LOGICAL_GPUS = 4096  # ids tried before giving up; far above any demonstration


def runtime_dir() -> Path:
    """Where this user's leases lie: `SHOAL_RUNTIME_DIR`, else the session's runtime folder, else the
    temporary one."""
    chosen = os.environ.get("SHOAL_RUNTIME_DIR")
    if chosen:
        return Path(chosen)
    session = os.environ.get("XDG_RUNTIME_DIR")
    if session and os.access(session, os.W_OK):
        return Path(session) / "shoal"
    return Path(tempfile.gettempdir()) / f"shoal-{os.getuid()}"


class GpuLeases:
    """The GPUs this program holds. A context manager: leaving it gives them back.

    Args:
        holder: what others are told, e.g. the names of the studies.
        directory: where the lock files lie (default: `runtime_dir()`).
    """

    def __init__(self, holder: str, directory: Path | None = None) -> None:
        self._holder = holder
        self._dir = (directory or runtime_dir()) / "gpus"
        self._held: dict[str, int] = {}

    @property
    def gpus(self) -> tuple[str, ...]:
        return tuple(self._held)

    def take_free(self, gpus: Iterable[str]) -> tuple[str, ...]:
        """Take those of `gpus` that no other program holds.

        Raises:
            PoolError: all of them are taken; names who holds them.
        """
        wanted = tuple(gpus)
        taken = tuple(gpu for gpu in wanted if self._take(gpu))
        if wanted and not taken:
            holders = sorted({self.holder_of(gpu) for gpu in wanted})
            raise PoolError(
                f"all {len(wanted)} GPUs are held by {'; '.join(holders)}.",
                "Wait for it, stop it, or run with gpus_per_worker=0.",
            )
        return taken

    def take_logical(self, count: int) -> tuple[str, ...]:
        """Take `count` pretend GPUs with ids that no other program uses.

        Raises:
            PoolError: `count` is below 1 or absurdly large.
        """
        if count < 1:
            raise PoolError(f"logical GPUs: {count} is below 1.", "Use 1 or more.")
        taken: list[str] = []
        for index in range(MAX_LOGICAL_GPUS):
            if len(taken) == count:
                break
            gpu = f"{LOGICAL}{index}"
            if self._take(gpu):
                taken.append(gpu)
        if len(taken) < count:
            self.release()
            raise PoolError(
                f"logical GPUs: only {len(taken)} of {count} ids are free.",
                f"Use at most {MAX_LOGICAL_GPUS}.",
            )
        return tuple(taken)

    def holder_of(self, gpu: str) -> str:
        """Who holds `gpu`, in words; "another program" when the file does not say."""
        try:
            said = json.loads(self._path(gpu).read_text())
            return f"pid {said['pid']} ({said['holder']})"
        except (OSError, ValueError, KeyError, TypeError):
            return "another program"

    def release(self) -> None:
        """Give everything back."""
        for fd in self._held.values():
            os.ftruncate(fd, 0)
            os.close(fd)
        self._held.clear()

    def _take(self, gpu: str) -> bool:
        self._dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(self._path(gpu), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(fd)
            return False
        os.ftruncate(fd, 0)
        os.pwrite(fd, json.dumps({"pid": os.getpid(), "holder": self._holder}).encode(), 0)
        self._held[gpu] = fd
        return True

    def _path(self, gpu: str) -> Path:
        return self._dir / f"{gpu.replace('/', '_')}.lock"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()
