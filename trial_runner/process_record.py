"""Process groups on record, so that the next start can end what a `kill -9` of everything left behind.

One small file a group under `<data>/processes/`, named by its id: who leads it, in which session, since when. A
number alone says nothing (the kernel reuses them), so a group is only killed when its leader's start time matches, or,
when the leader has died, when what is left still belongs to the recorded session, whose number cannot have been given
away while a member lives.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

from .descent import group_alive, kill_group


class ProcessRecords:
    """The records of one data directory. Callers hold the journal's lock: one program at a time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def add(self, pgid: int) -> None:
        """Record a group we started; nothing to record if its leader has gone already."""
        born = start_time(pgid)
        if born is None:
            return
        try:
            session = os.getsid(pgid)
        except ProcessLookupError:
            return
        body = {"pgid": pgid, "session": session, "start_time": born}
        with contextlib.suppress(OSError):  # a full disk: the other ties still hold
            (self._folder / str(pgid)).write_text(json.dumps(body))

    def remove(self, pgid: int) -> None:
        (self._folder / str(pgid)).unlink(missing_ok=True)

    def sweep(self) -> list[int]:
        """Kill every recorded group that is still there, and forget all records; the groups that were killed."""
        killed: list[int] = []
        for file in sorted(self._folder.iterdir()):
            try:
                body = json.loads(file.read_text())
                pgid, session, born = int(body["pgid"]), int(body["session"]), body["start_time"]
            except (ValueError, KeyError, TypeError):  # cut short by a crash: names no process
                file.unlink()
                continue
            if pgid > 1 and group_alive(pgid) and _is_ours(pgid, session, born):
                kill_group(pgid)
                killed.append(pgid)
            file.unlink()
        return killed


def _is_ours(pgid: int, session: int, born: float) -> bool:
    now_leading = start_time(pgid)
    if now_leading is not None:
        return now_leading == born
    return session in _sessions_of(pgid)


def start_time(pid: int) -> float | None:
    """When a process started, on a clock that does not jump (Linux: ticks since boot); None: no such process."""
    try:
        return float(_stat(pid)[19])
    except FileNotFoundError:
        if os.path.exists("/proc/self/stat"):
            return None
    except ProcessLookupError:
        return None
    import psutil

    try:
        return float(psutil.Process(pid).create_time())
    except psutil.NoSuchProcess:
        return None


def _sessions_of(pgid: int) -> set[int]:
    """The sessions of a group's members."""
    import psutil

    sessions: set[int] = set()
    for pid in psutil.pids():
        try:
            if os.getpgid(pid) == pgid:
                sessions.add(os.getsid(pid))
        except ProcessLookupError:
            continue
    return sessions


def _stat(pid: int) -> list[str]:
    """Fields 3 and later of /proc/<pid>/stat (the second, the name, may hold blanks and brackets)."""
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()
