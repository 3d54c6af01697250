"""Ties between a process and the one that started it, so that a `kill -9` anywhere leaves nothing running.

Linux only (prctl); elsewhere these calls do nothing, and the fork server's reading the end of its control socket
and the sweep at the next start do the work alone.

* Workers die with the fork server, and whatever a worker forks dies with the worker (`PR_SET_PDEATHSIG`, which is not
  inherited: every child has to ask for itself). The fork server dies so only while it imports; later it sees the end of
  its control socket, and kills whole groups, with the programs in them that asked for nothing.
* Orphans of a worker become the fork server's children (`PR_SET_CHILD_SUBREAPER`): it reaps them, so that "the group is
  gone" can be seen also in a container whose first process reaps nothing.

The kernel counts the *thread* that forked as the parent: start fork servers from a thread that stays.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36

_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None  # loaded once, before any fork


def die_with_parent(parent: int | None = None) -> None:
    """Ask for SIGKILL when the parent dies.

    Args:
        parent: the pid that should still be the parent: if it is not, it died before we asked, and we die now.
    """
    if _libc is not None:
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if parent is not None and os.getppid() != parent:
        os._exit(1)


def outlive_parent() -> None:
    """Take `die_with_parent` back: for one who has to tidy up when its parent dies, and notices by itself."""
    if _libc is not None:
        _libc.prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0)


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent dies."""
    if _libc is not None:
        _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def bind_forked_children() -> None:
    """From now on everything this process forks (DataLoader workers, multiprocessing) dies with it."""
    os.register_at_fork(after_in_child=die_with_parent)


def has_children() -> bool:
    """Does this process have any child, running or not yet reaped? Reaps nothing."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def group_alive(pgid: int) -> bool:
    """Has the process group a member left?"""
    try:
        os.killpg(pgid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def kill_group(pgid: int, how: signal.Signals = signal.SIGKILL) -> None:
    """Send a signal to a whole group; fine if it has gone already."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pgid, how)
