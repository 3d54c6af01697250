"""The worker's end of the wire: how a running trial talks to its node.

Worker → agent: `started`, `workers(most)`, `shards(shards)`, `approximate`, `report(step, metrics, can_pause,
gpu_memory_gib)`, `suggest(path, domain)`, `warn(text)`, `ended(outcome, value, failure, message, phases_s)`; of
several workers also `ready`, `forming(formation)`, `formed(formation, stall_s)`, `lost(completed)`, `beat`.
Agent → worker: `assign(...)`, `verdict(step, verdict, reason)`, `suggestion(path, value, error)`, `pause(reason)`; to
several workers also `form`, `resize`, `recover` (`elastic_group.py`), `called_off(formation)`.
"""

from __future__ import annotations

import select
import socket
import threading
from collections import deque
from typing import Any

from .wire import RECEIVE_BYTES, Lines, Message, encode


class LinkClosed(BaseException):
    """The node has gone: nobody wants this trial any more.

    Not an `Exception`, so that a training loop's `except Exception` does not keep an orphan alive.
    """


class Link:
    """A blocking conversation with the agent.

    `pause` is the one message that nobody waits for: it is taken in whenever the socket is read, and shows as
    `pause_requested`, its reason, until a caller that has obeyed sets it back to None.
    """

    def __init__(self, end: socket.socket) -> None:
        end.setblocking(True)
        self._socket = end
        self._lines = Lines()
        self._arrived: deque[Message] = deque()
        self._sending = threading.Lock()  # signs of life come from a thread of their own
        self.pause_requested: str | None = None

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, kind: str, **fields: Any) -> None:
        """Send one message.

        Raises:
            LinkClosed: the agent has gone.
        """
        try:
            with self._sending:
                self._socket.sendall(encode(kind, fields))
        except OSError as gone:
            raise LinkClosed(str(gone)) from None

    def receive(self, kind: str) -> Message:
        """Wait for the next message of this kind; others are kept for their own receivers.

        Raises:
            LinkClosed: the agent has gone.
        """
        while True:
            message = self._take(kind)
            if message is not None:
                return message
            self._read()

    def try_receive(self, kind: str) -> Message | None:
        """The next message of this kind if it has arrived, else None at once."""
        self.poll()
        return self._take(kind)

    def poll(self) -> None:
        """Take in what has arrived, without waiting."""
        while select.select([self._socket], [], [], 0)[0]:
            self._read()

    def close(self) -> None:
        self._socket.close()

    def _take(self, kind: str) -> Message | None:
        for message in self._arrived:
            if message["kind"] == kind:
                self._arrived.remove(message)
                return message
        return None

    def _read(self) -> None:
        try:
            received = self._socket.recv(RECEIVE_BYTES)
        except OSError as gone:
            raise LinkClosed(str(gone)) from None
        if not received:
            raise LinkClosed("the node closed the connection")
        for message in self._lines.feed(received):
            if message["kind"] == "assign":  # what came before was for the former trial of a worker that is used again
                self._arrived.clear()
                self.pause_requested = None
            if message["kind"] == "pause":
                self.pause_requested = message["reason"]
            else:
                self._arrived.append(message)
