"""A trial's log: what it and everything it starts print, kept small.

Standard output and error of a worker are the file itself (no pipe, no thread, nothing the head has to keep up with), so
output of C code and of child processes lands there too. The price: whoever rotates cannot ask the writers to open
a new file. So the agent copies the tail away and cuts the file; writers append (O_APPEND) and go on at its new end.
"""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import TextIO

LOG_NAME = "log.txt"

LOG_BYTES = 8 << 20
"""Size at which a log is rotated: some 100,000 lines. Copying it takes about 5 ms of the head's time, so not larger."""

LOG_KEPT = 3
"""Older pieces kept beside the log: a trial's logs stay below 32 MiB, those of 3,000 that print without end below
100 GB."""


def trial_dir(study_dir: Path, number: int) -> Path:
    """Where a trial's log and checkpoints are.

    >>> trial_dir(Path("studies/digits"), 7).as_posix()
    'studies/digits/trials/0007'
    """
    return study_dir / "trials" / f"{number:04d}"


def checkpoints_dir(trial_dir: Path) -> Path:
    """Where a trial's checkpoints are."""
    return trial_dir / "checkpoints"


def write_output_to(log: Path) -> None:
    """Make the file this process's standard output and error, line by line; it is appended to."""
    sys.stdout.flush()
    sys.stderr.flush()
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.close(file)
    sys.stdout = _lines_to(1)
    sys.stderr = _lines_to(2)


def _lines_to(descriptor: int) -> TextIO:
    raw = io.FileIO(descriptor, "w", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(raw), encoding="utf-8", errors="backslashreplace", line_buffering=True
    )


def rotate_if_large(log: Path, limit_bytes: int = LOG_BYTES, kept: int = LOG_KEPT) -> bool:
    """Move a log that outgrew its limit to `log.txt.1` (older ones to .2, .3); True when it did.

    Of a trial that wrote much more than the limit since the last look only the last `limit_bytes` are kept, and the
    piece says how much is missing. A line written in the moment between copying and cutting can be lost.
    """
    try:
        size = log.stat().st_size
    except FileNotFoundError:
        return False
    if size <= limit_bytes:
        return False
    for n in range(kept - 1, 0, -1):
        older = log.with_name(f"{log.name}.{n}")
        if older.exists():
            older.replace(log.with_name(f"{log.name}.{n + 1}"))
    newest = log.with_name(f"{log.name}.1")
    with log.open("rb+") as source:
        dropped = size - limit_bytes
        source.seek(dropped)
        try:
            newest.write_bytes(
                f"[{dropped} bytes of output before this are not kept]\n".encode() + source.read(limit_bytes)
            )
        except OSError:  # the disk is full, perhaps of this log
            newest.unlink(missing_ok=True)
        source.truncate(0)
    return True
