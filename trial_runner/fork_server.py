"""The agent's side of a study's fork server (`fork_server_main.py` is the program)."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Mapping
from pathlib import Path

from .wire import Channel, Message

FAREWELL_S = 6.0
"""How long a server may take to end its workers: a second more than it gives itself."""


class ForkServer:
    """One running server. Its output (what the user's modules print while being imported) goes to `log`."""

    def __init__(self, setup_file: Path, log: Path, environment: Mapping[str, str]) -> None:
        ours, theirs = socket.socketpair()
        program = [sys.executable, "-P", "-m", "shoal.trial_runner.fork_server_main"]
        with theirs, log.open("ab") as output:
            self._process = subprocess.Popen(
                [*program, str(theirs.fileno()), str(setup_file)],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output, pass_fds=[theirs.fileno()],
                env=dict(environment), start_new_session=True,  # Ctrl-C in the terminal is the head's to handle
            )
        self.channel = Channel(ours)
        self._asked: deque[tuple[int, socket.socket]] = deque()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def unsent(self) -> bool:
        """Is something waiting for the server to read?"""
        return bool(self._asked or self.channel.unsent)

    def fork(self, worker: int) -> Channel:
        """Ask for a worker; messages can be sent to it at once, it reads them when it is up."""
        ours, theirs = socket.socketpair()
        self._asked.append((worker, theirs))
        self.flush()
        return Channel(ours)

    def kill(self, worker: int) -> None:
        """End a worker and its whole group."""
        self.channel.send("kill", worker=worker)

    def flush(self) -> None:
        """Send what the server takes now."""
        self.channel.flush()
        while self._asked:
            worker, theirs = self._asked[0]
            if not self.channel.send_with_socket(theirs, "fork", worker=worker) and not self.channel.closed:
                return
            theirs.close()
            self._asked.popleft()

    def receive(self) -> list[Message]:
        return self.channel.receive()

    def how_it_ended(self) -> str:
        """The reason that a server is gone, for a person."""
        try:
            status = self._process.wait(FAREWELL_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        return f"killed by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"

    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def leave(self) -> None:
        """Close the connection: the server ends its workers and itself. `wait` afterwards."""
        for _, theirs in self._asked:
            theirs.close()
        self._asked.clear()
        self.channel.close()

    def wait(self) -> None:
        """Wait until the server has gone, with all it started; after `FAREWELL_S` it is killed."""
        try:
            self._process.wait(FAREWELL_S)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
