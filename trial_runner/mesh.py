"""Connections of every worker of a group with every other.

Sockets of our own instead of gloo's: between two workers on one node, a message costs one waking-up instead of five
threads taking turns (0.1 ms instead of 0.4 ms, and 3 ms on a busy machine); forming a group can be called off at any
moment; and that a worker has gone, or has given up, shows to all others as the end of its sockets. On one node they are
Unix sockets: no protocol's windows and timers stand between two processes of one node. Between nodes they are TCP.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import socket
import struct
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from torch._C._distributed_c10d import Store

from .group import PeerLost

FOLDER = "/tmp" if os.path.isdir("/tmp") else None  # a socket's path has a hundred characters at most

UNREAD_BYTES = 4 << 20
"""What one may send before the other reads it: a step's gradients of a small model, so that nobody waits half-way."""

LOOK_S = 0.001  # how often the others are looked for: a question to the store takes a tenth of it

GREETING = struct.Struct("!I16s")  # rank of the caller, token of the called one
GREETING_S = 10.0  # it is sent at once: who takes longer is no worker of this group

Peers = dict[int, socket.socket]


class Interrupt(Protocol):
    """What may end the waiting for others."""

    def fileno(self) -> int:
        """Readable when there may be something."""
        ...

    def look(self) -> None:
        """Raises: PeerLost: nobody is to be waited for any more."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where the workers of a group are: the node of each, by rank, and the address of this one's ("": all are on one
    node)."""

    nodes: Sequence[str]
    host: str = ""


def connect_all(
    store: Store, formation: int, rank: int, places: Places, interrupt: Interrupt | None = None
) -> Peers:
    """The connections of one worker, by rank; non-blocking.

    Args:
        store: where everybody leaves an address.
        formation: a number of its own for every group that the trial ever forms.
        interrupt: looked at while others are waited for.

    Raises:
        PeerLost: another worker has gone meanwhile, or the store has.
    """
    peers: Peers = {}
    token = secrets.token_bytes(8).hex()
    names = [f"{formation}/{other}" for other in range(len(places.nodes))]
    try:
        with contextlib.ExitStack() as stack:
            listeners = [stack.enter_context(_listening_here(len(names)))]
            address: dict[str, Any] = {"token": token, "path": listeners[0].getsockname()}
            if places.host:
                listeners.append(stack.enter_context(_listening_at(places.host, len(names))))
                address |= {"host": places.host, "port": listeners[1].getsockname()[1]}
            store.set(names[rank], json.dumps(address))
            while not store.check(names):
                _look(interrupt)
                time.sleep(LOOK_S)
            for other in range(rank):
                theirs = json.loads(store.get(names[other]))
                peers[other] = _call(theirs, is_near=places.nodes[other] == places.nodes[rank])
                peers[other].sendall(GREETING.pack(rank, theirs["token"].encode()))
            while len(peers) < len(names) - 1:
                _look(interrupt)
                for listener in select.select(listeners, [], [], LOOK_S)[0]:
                    _admit(listener, token, peers)
    except (OSError, RuntimeError) as error:  # RuntimeError: the store's
        gone = str(error)
    except BaseException:
        close_all(peers)
        raise
    else:
        for peer in peers.values():
            peer.setblocking(False)
            if peer.family == socket.AF_UNIX:
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, UNREAD_BYTES)
            else:  # the kernel finds the best size itself
                peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return peers
    close_all(peers)
    raise PeerLost(gone)


def close_all(peers: Peers) -> None:
    """The others notice it, also where processes that this one has forked (a DataLoader's) still hold the sockets."""
    for peer in peers.values():
        with contextlib.suppress(OSError):  # the other end has gone before
            peer.shutdown(socket.SHUT_RDWR)
        peer.close()


def exchange(
    to: socket.socket, sent: memoryview, source: socket.socket, received: memoryview,
    interrupt: Interrupt | None = None,
) -> None:
    """Send and receive (bytes) at once, whichever gets on.

    Raises:
        PeerLost: a peer has gone, or is not to be waited for.
    """
    try:
        while sent or received:
            with contextlib.suppress(BlockingIOError):
                while received:
                    size = source.recv_into(received)
                    if not size:
                        raise PeerLost("a peer has closed its connection")
                    received = received[size:]
            with contextlib.suppress(BlockingIOError):
                while sent:
                    sent = sent[to.send(sent) :]
            if sent or received:
                _wait(to if sent else None, source if received else None, interrupt)
    except OSError as error:
        gone = str(error)
    else:
        return
    raise PeerLost(gone)


def _wait(to: socket.socket | None, source: socket.socket | None, interrupt: Interrupt | None) -> None:
    """Until one of them gets on."""
    waiting = select.poll()
    if interrupt is not None:
        waiting.register(interrupt, select.POLLIN)
    if source is not None:
        waiting.register(source, select.POLLIN)
    if to is not None:
        waiting.register(to, select.POLLOUT | (select.POLLIN if to is source else 0))
    ready = waiting.poll()
    if interrupt is not None and any(fd == interrupt.fileno() for fd, _ in ready):
        interrupt.look()


def _look(interrupt: Interrupt | None) -> None:
    if interrupt is not None:
        interrupt.look()


@contextlib.contextmanager
def _listening_here(backlog: int) -> Iterator[socket.socket]:
    """A socket in a folder that this user alone may enter, for as long as the group is being formed."""
    with (
        tempfile.TemporaryDirectory(prefix="shoal-", dir=FOLDER, ignore_cleanup_errors=True) as folder,
        socket.socket(socket.AF_UNIX) as listener,
    ):
        listener.bind(f"{folder}/s")
        listener.listen(backlog)
        yield listener


def _listening_at(host: str, backlog: int) -> socket.socket:
    """A socket for those on other nodes."""
    return socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=backlog)


def _call(theirs: dict[str, Any], *, is_near: bool) -> socket.socket:
    if not is_near:
        return socket.create_connection((theirs["host"], theirs["port"]), timeout=GREETING_S)
    peer = socket.socket(socket.AF_UNIX)
    peer.settimeout(GREETING_S)
    try:
        peer.connect(theirs["path"])
    except BaseException:
        peer.close()
        raise
    return peer


def _admit(listener: socket.socket, token: str, peers: Peers) -> None:
    """Let a worker in that knows the token; others are none of this group."""
    caller, _ = listener.accept()
    caller.settimeout(GREETING_S)
    greeting = caller.recv(GREETING.size, socket.MSG_WAITALL)
    if len(greeting) < GREETING.size or GREETING.unpack(greeting)[1] != token.encode():
        caller.close()
    else:
        peers[GREETING.unpack(greeting)[0]] = caller
