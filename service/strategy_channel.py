"""A strategy process and the socket to it: JSON lines, never blocking.

The process has one thread for numerics (equal bits, and the cores are the trials'), no GPU, a lower priority, and dies
with its parent. `-P` keeps the working directory off its import path: a user's `random.py` is not ours to import.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile

from ..search.spec import Json

MODULE = "shoal.service.strategy_process"
CHUNK_BYTES = 1 << 16
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class ChannelClosed(Exception):
    """The process has gone; the text says how."""


class StrategyChannel:
    """Starts a strategy process. `send` and `receive` take and give JSON objects.

    Args:
        module: what the process runs.
    """

    def __init__(self, module: str = MODULE) -> None:
        ours, theirs = socket.socketpair()
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed in `kill`
        environment = {**os.environ, **dict.fromkeys(ONE_THREAD, "1"), "CUDA_VISIBLE_DEVICES": ""}
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", module, str(theirs.fileno()), str(os.getpid())],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._stderr,
                env=environment,
                start_new_session=True,  # Ctrl-C in the terminal is the head's
            )
        ours.setblocking(False)
        self._socket = ours
        self._outgoing = bytearray()
        self._incoming = bytearray()

    @property
    def pid(self) -> int:
        return self._process.pid

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, message: Json) -> None:
        """Queue a message and write what the socket takes; `receive` writes on.

        Raises:
            ChannelClosed: the process has gone.
        """
        self._outgoing += json.dumps(message, separators=(",", ":")).encode() + b"\n"
        self._write()

    def receive(self) -> list[Json]:
        """The messages that are complete.

        Raises:
            ChannelClosed: the process has gone.
        """
        self._write()
        while True:
            try:
                chunk = self._socket.recv(CHUNK_BYTES)
            except BlockingIOError:
                break
            except ConnectionError:
                raise ChannelClosed(self._how_it_ended()) from None
            if not chunk:
                raise ChannelClosed(self._how_it_ended())
            self._incoming += chunk
        *lines, rest = self._incoming.split(b"\n")
        self._incoming = bytearray(rest)
        return [json.loads(line) for line in lines]

    def kill(self) -> None:
        """End the process now; it holds nothing that is not remembered."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        self._process.wait()
        self._socket.close()
        self._stderr.close()

    def _write(self) -> None:
        while self._outgoing:
            try:
                sent = self._socket.send(self._outgoing[:CHUNK_BYTES])
            except BlockingIOError:
                return
            except ConnectionError:
                raise ChannelClosed(self._how_it_ended()) from None
            del self._outgoing[:sent]

    def _how_it_ended(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)  # its socket is closed, so it is on its way out
        self._stderr.seek(0)
        lines = self._stderr.read().decode(errors="replace").strip().splitlines()
        last = f": {lines[-1]}" if lines else ""
        return f"the strategy process ended with code {self._process.returncode}{last}"
