"""The program under every study: imports the code once, then forks a worker whenever the agent asks.

    python -P -m shoal.trial_runner.fork_server_main CONTROL_FD SETUP_FILE

Why not multiprocessing's fork server: ours is one per study and code, hands each worker the agent's own socket, has no
"alive pipe" that every child keeps open, knows how its workers ended, keeps groups until their last member has
gone, and can keep workers waiting that are already forked.

Agent → server: `fork(worker)` with the worker's socket attached, `kill(worker)`; the end of the stream means the agent
has gone. Server → agent: `ready(ok, fork, note)`, `forked(worker, pid)`, `exited(worker, pid, status, peak_mib)`: the
worker and everything it started are gone.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import selectors
import signal
import socket
import sys
import time
import weakref
from pathlib import Path

from .descent import adopt_orphans, bind_forked_children, die_with_parent, group_alive, kill_group, outlive_parent
from .preload import Preloaded, preload
from .study_setup import StudySetup
from .wire import RECEIVE_BYTES, Lines, Message, encode
from .worker import serve
from .worker_environment import WORKER_MARK

GROUP_POLL_S = 0.002
"""How often a dying group is looked at. The kernel needs about a millisecond to take a killed process down; nothing
announces the end of a grandchild's group."""

FAREWELL_S = 5.0  # a process stuck in the kernel (a dead network disk) is not waited for longer

PASSED_SOCKETS = 64  # most sockets the agent can have put into one read


class ForkServer:
    """Owns the workers of one study as their parent."""

    def __init__(self, control: socket.socket, setup_file: Path) -> None:
        self._control = control
        self._setup_file = setup_file
        self._setup = StudySetup.read(setup_file)
        self._preloaded = Preloaded(ok=False, fork=False, note="")
        self._lines = Lines()
        self._sockets: list[int] = []
        self._workers: dict[int, int] = {}  # pid → worker id
        self._dying: dict[int, Message] = {}  # pgid → what to say when the group has gone
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)

    def run(self) -> None:
        """Serve until the agent goes."""
        self._preloaded = preload(self._setup)
        self._say("ready", ok=self._preloaded.ok, fork=self._preloaded.fork, note=self._preloaded.note)
        outlive_parent()
        bind_forked_children()
        signal.signal(signal.SIGCHLD, lambda *_: None)  # only to make the wake-up pipe speak
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        with selectors.DefaultSelector() as selector:
            selector.register(self._control, selectors.EVENT_READ)
            selector.register(self._wake_read, selectors.EVENT_READ)
            serving = True
            while serving:
                ready = {key.fileobj for key, _ in selector.select(GROUP_POLL_S if self._dying else None)}
                if self._wake_read in ready:
                    os.read(self._wake_read, 4096)
                if self._control in ready:
                    serving = self._obey()
                self._reap()
                self._bury()
        self._end_everything()

    def _obey(self) -> bool:
        """Do what the agent asks; False when it has gone."""
        try:
            received, sockets, _, _ = socket.recv_fds(self._control, RECEIVE_BYTES, PASSED_SOCKETS)
        except ConnectionResetError:
            return False
        self._sockets += sockets
        for message in self._lines.feed(received):
            if message["kind"] == "fork":
                self._start(message["worker"], self._sockets.pop(0))
            elif message["kind"] == "kill":
                for pid, worker in self._workers.items():
                    if worker == message["worker"]:
                        kill_group(pid)
        return bool(received)

    def _start(self, worker: int, end: int) -> None:
        if not self._preloaded.ok:  # the agent knows already; its end of the socket closes with ours
            os.close(end)
            return
        pid = self._fork(end) if self._preloaded.fork else self._spawn(end)
        os.close(end)
        self._workers[pid] = worker
        self._say("forked", worker=worker, pid=pid)

    def _fork(self, end: int) -> int:
        server = os.getpid()
        pid = os.fork()
        if pid:
            with contextlib.suppress(PermissionError, ProcessLookupError):  # it was faster than we
                os.setpgid(pid, pid)
            return pid
        status = 1
        try:
            os.setpgid(0, 0)
            die_with_parent(server)
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self._control.close()
            os.close(self._wake_read)
            os.close(self._wake_write)
            _leave_exit_functions_to_server()
            status = serve(socket.socket(fileno=end), self._setup)
        finally:
            os._exit(status)

    def _spawn(self, end: int) -> int:
        os.set_inheritable(end, True)
        program = [sys.executable, "-P", "-m", "shoal.trial_runner.worker_main"]
        arguments = [*program, str(end), str(self._setup_file), str(os.getpid())]
        return os.posix_spawn(sys.executable, arguments, os.environ, setpgroup=0)

    def _reap(self) -> None:
        """Take note of children that have ended: workers, and orphans that came to us."""
        while True:
            try:
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if ended is None:
                return
            pid = ended.si_pid
            if pid in self._workers:
                kill_group(pid)  # before it is reaped: until then its number cannot be another's
            _, status, usage = os.wait4(pid, 0)
            if pid in self._workers:
                peak_kib = usage.ru_maxrss if sys.platform != "darwin" else usage.ru_maxrss // 1024
                self._dying[pid] = {
                    "worker": self._workers.pop(pid), "pid": pid,
                    "status": os.waitstatus_to_exitcode(status), "peak_mib": peak_kib // 1024,
                }

    def _bury(self) -> None:
        """Say that a worker is gone once nothing of it is left."""
        if not self._dying:
            return
        left_behind = {orphan: _worker_of(orphan) for orphan in _children() - self._workers.keys()}
        for orphan, worker in left_behind.items():
            if worker in self._dying:  # it left its group, and now its parent
                kill_group(orphan)
        self._reap()
        for pgid in [pgid for pgid in self._dying if not group_alive(pgid)]:
            if pgid not in left_behind.values():
                self._say("exited", **self._dying.pop(pgid))

    def _end_everything(self) -> None:
        """Nobody wants the workers any more."""
        deadline = time.monotonic() + FAREWELL_S
        while (self._workers or self._dying) and time.monotonic() < deadline:
            for pid in self._workers:
                kill_group(pid)
            self._reap()
            self._bury()
            time.sleep(GROUP_POLL_S)

    def _say(self, kind: str, **fields: object) -> None:
        with contextlib.suppress(OSError):  # the agent has gone; the next read says so
            self._control.sendall(encode(kind, dict(fields)))


def _leave_exit_functions_to_server() -> None:
    """Drop what was registered, before the fork, to happen at exit: it is the server's to do, once (it may delete a
    folder that all workers use; torch's takes 0.1 s). What this worker registers still happens."""
    atexit._clear()
    for finalizer in list(weakref.finalize._registry):  # type: ignore[attr-defined]
        finalizer.atexit = False
    weakref.finalize._registered_with_atexit = False  # type: ignore[attr-defined]


def _children() -> set[int]:
    """Pids of this process's children (Linux; elsewhere none are found, as orphans do not come to us there)."""
    try:
        listed = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    except FileNotFoundError:
        return set()
    return {int(pid) for pid in listed.split()}


def _worker_of(pid: int) -> int | None:
    """The worker that a program was started under, as its environment says (what is only forked dies with its
    parent and needs no telling)."""
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:  # gone in the meantime
        return None
    marks = [entry for entry in environment if entry.startswith(WORKER_MARK.encode() + b"=")]
    return int(marks[0].partition(b"=")[2]) if marks else None


def main(control_fd: int, setup_file: Path) -> None:
    """Become the fork server of one study."""
    die_with_parent()
    adopt_orphans()
    ForkServer(socket.socket(fileno=control_fd), setup_file).run()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
