"""One writer a journal: an flock on the file beside it, which says who holds it.

The kernel lets the lock go with its process, however that dies, so there is no time-out and nothing to clean up by
hand.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import sys
import time
from pathlib import Path

from ...errors import JournalError, JournalLocked

TRIES = 5
TRY_AGAIN_S = 0.02
"""A reader that asks `is_locked` holds the file for some microseconds, so one refusal proves nothing; several
readers that poll every second would have to meet the writer five times in a tenth of a second."""


class WriterLock:
    """Held from construction to `release`.

    Raises:
        JournalLocked: another process holds it; the message names it.
        JournalError: the folder cannot be written to.
    """

    def __init__(self, journal: Path) -> None:
        self.path = journal.with_name(journal.name + ".lock")
        try:
            self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise JournalError(
                f"cannot write {self.path}: {error.strerror}.", "Choose another folder with --data."
            ) from None
        if not _take(self._fd):
            holder = _holder(self._fd)
            os.close(self._fd)
            raise JournalLocked(
                f"{journal} is in use by {holder}.",
                "Wait for it, stop it, or choose another folder with --data.",
            )
        self._sign()

    def _sign(self) -> None:
        """Write who holds the lock. Only the first words of the command line: later ones may be secrets."""
        holder = {
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "argv": [Path(sys.argv[0]).name, *sys.argv[1:3]],
            "since": time.time(),
        }
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, json.dumps(holder).encode(), 0)

    def release(self) -> None:
        """Let the next writer in. The file stays: removing it would let two writers lock two files."""
        os.close(self._fd)


def _take(fd: int) -> bool:
    for _ in range(TRIES):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            time.sleep(TRY_AGAIN_S)
    return False


def _holder(fd: int) -> str:
    try:
        holder = json.loads(os.pread(fd, 4096, 0))
        return f"process {holder['pid']} on {holder['host']} ({' '.join(holder['argv'])})"
    except (ValueError, KeyError, TypeError):
        return "another process"


def is_locked(journal: Path) -> bool:
    """Does a writer hold the journal now?"""
    try:
        fd = os.open(journal.with_name(journal.name + ".lock"), os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False
