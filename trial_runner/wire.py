"""JSON lines over a Unix socket: how agent, fork server and workers talk inside a node.

One line is one message, an object with a `kind`. Never pickles: a worker runs other people's code, and whatever it
sends must not be able to run anything here. NaN and infinities travel as Python's `json` writes them.
`Channel` is the agent's end: it never blocks, so that a worker that has stopped reading cannot stop the head.
"""

from __future__ import annotations

import json
import socket
from typing import Any

Message = dict[str, Any]  # a JSON object: the one named boundary where the type is open

RECEIVE_BYTES = 1 << 16


def encode(kind: str, fields: Message) -> bytes:
    """One line.

    >>> encode("pause", {"reason": "rung 1"})
    b'{"kind":"pause","reason":"rung 1"}\\n'
    """
    return json.dumps({"kind": kind, **fields}, separators=(",", ":")).encode() + b"\n"


class Lines:
    """Cuts a stream of bytes into messages.

    >>> lines = Lines()
    >>> lines.feed(b'{"kind":"a"}\\n{"kind"')
    [{'kind': 'a'}]
    >>> lines.feed(b':"b"}\\n')
    [{'kind': 'b'}]
    """

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, received: bytes) -> list[Message]:
        *whole, self._rest = (self._rest + received).split(b"\n")
        return [json.loads(line) for line in whole]


class Channel:
    """The agent's end of a socket: sends are buffered, receiving takes what is there."""

    def __init__(self, end: socket.socket) -> None:
        end.setblocking(False)
        self._socket = end
        self._lines = Lines()
        self._unsent = bytearray()
        self._deaf = False
        """Has the other end stopped reading? What it said before is still to be received."""
        self.closed = False
        """Has the other end gone, with nothing left to receive, or sent what is no message?"""

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def unsent(self) -> int:
        """Bytes that wait for the other end to read."""
        return len(self._unsent)

    def send(self, kind: str, **fields: Any) -> None:
        """Queue a message and send what the socket takes."""
        if not self._deaf:
            self._unsent += encode(kind, fields)
            self.flush()

    def send_with_socket(self, passed: socket.socket, kind: str, **fields: Any) -> bool:
        """Send a message that carries a descriptor; False when the socket is full or gone.

        Never queued: the descriptor belongs to the first byte of its message.
        """
        if self._unsent or self.closed or self._deaf:
            return False
        line = encode(kind, fields)
        try:
            sent = socket.send_fds(self._socket, [line], [passed.fileno()])
        except BlockingIOError:
            return False
        except OSError:
            self._deaf = True
            return False
        self._unsent += line[sent:]
        return True

    def flush(self) -> None:
        """Send what the socket takes now."""
        while self._unsent and not self.closed:
            try:
                sent = self._socket.send(self._unsent)
            except BlockingIOError:
                return
            except OSError:
                self._deaf = True
                self._unsent.clear()
                return
            del self._unsent[:sent]

    def receive(self) -> list[Message]:
        """Every whole message that has arrived; `closed` is set at the end, or by a line that is no message."""
        messages: list[Message] = []
        while not self.closed:
            try:
                received = self._socket.recv(RECEIVE_BYTES)
            except BlockingIOError:
                break
            except OSError:
                received = b""
            if not received:
                self.closed = True
            try:
                messages += self._lines.feed(received)
            except ValueError:
                self.closed = True
        return messages

    def close(self) -> None:
        self.closed = True
        self._socket.close()
