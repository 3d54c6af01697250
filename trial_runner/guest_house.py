"""Workers that this node has for trials of other nodes.

A trial that no single node could hold has a home, where its agent, its rank 0 and its files are, and guests on other
nodes. A guest is forked from the study's own fork server here; everything that it says goes to the agent at its home,
who counts it among its crew (`guest_worker.py`), and back.

One connection a guest: JSON lines, the messages of `link.py` both ways, and some of the two agents' own.
Home → house: `come(token, study, memory_gib)` first of all, `kill`, `here` every second.
House → home: `usage(processor_s, memory_gib)` every second, `refused(why)`, `exited(status, peak_mib)` at the end.
A house that hears nothing of a home for `HOME_SILENT_S` ends its guests, as it does when the connection ends.
"""

from __future__ import annotations

import hmac
import secrets
import socket
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from .logs import checkpoints_dir, trial_dir
from .memory_watch import used_memory_gib
from .messages import MeetNode
from .pulse import BEAT_S, SILENT_S, processor_s
from .wire import Channel, Message
from .worker_process import WorkerProcess

HOME_SILENT_S = 2 * SILENT_S
"""Longer than a home waits for a silent house: what is cut in two has one side that goes on."""

Hear = Callable[[], None]


class HasFileno(Protocol):
    def fileno(self) -> int: ...


class Room(Protocol):
    """Where a study's workers are (`StudyRoom`)."""

    @property
    def study_dir(self) -> Path: ...

    @property
    def broken(self) -> str:
        """Why there are no workers to be had; "" while there are."""
        ...

    def lodge(self, stay: Stay) -> WorkerProcess:
        """A worker for a trial of another node."""
        ...

    def kill(self, worker: WorkerProcess) -> None: ...


class Stay:
    """One guest, from the call for it until nothing of it is left."""

    def __init__(self, channel: Channel, token: str, rooms: Mapping[str, Room]) -> None:
        self.channel = channel
        self.is_over = False
        self.trial: tuple[str, int, int] | None = None
        """Study, number and generation of the trial."""
        self._token = token
        self._rooms = rooms
        self._room: Room | None = None
        self._worker: WorkerProcess | None = None
        self._memory_limit_gib: float | None = None
        self.told_at = time.monotonic()
        """When home was last told how the guest does."""
        self._heard_at = self.told_at

    @property
    def is_done(self) -> bool:
        """Is it over, and home told?"""
        return self.is_over and (self.channel.closed or not self.channel.unsent)

    # --- from home --------------------------------------------------------------------------------------

    def hear(self) -> None:
        """Take in what the trial's agent has said."""
        for message in self.channel.receive():
            self._heard_at = time.monotonic()
            try:
                self._obey(message)
            except (KeyError, TypeError, ValueError, OSError) as error:
                self._refuse(f"message {str(message)[:80]!r}: {error!r}")
        if self.channel.closed:
            self.end()

    def _obey(self, message: Message) -> None:
        kind = message["kind"]
        if self._worker is None or self._room is None:
            if kind == "come" and not self.is_over:
                self._come(message)
        elif kind == "kill":
            self._room.kill(self._worker)
        elif kind == "assign":
            fields = self._with_folders(self._room, message)
            self._worker.log = Path(fields["log"])
            self._worker.channel.send(kind, **fields)
        elif kind != "here":
            self._worker.channel.send(kind, **_fields(message))

    def _come(self, message: Message) -> None:
        study = str(message["study"])
        if not hmac.compare_digest(str(message["token"]), self._token):
            self._refuse("the token is another")
        elif study not in self._rooms:
            self._refuse(f"study {study} is not prepared here")
        elif self._rooms[study].broken:
            self._refuse(self._rooms[study].broken)
        else:
            self._memory_limit_gib = message["memory_gib"]
            self._room = self._rooms[study]
            self._worker = self._room.lodge(self)

    def _with_folders(self, room: Room, message: Message) -> Message:
        """The assignment with this node's folders."""
        number = int(message["number"])
        self.trial = (str(message["study"]), number, int(message["generation"]))
        folder = trial_dir(room.study_dir, number)
        checkpoints_dir(folder).mkdir(parents=True, exist_ok=True)
        log = folder / Path(message["log"]).name
        here = {"trial_dir": str(folder), "checkpoint_dir": str(checkpoints_dir(folder)), "log": str(log)}
        return {**_fields(message), **here, "inherits": None}

    def _refuse(self, why: str) -> None:
        self.channel.send("refused", why=why)
        self.end()

    # --- from the guest ---------------------------------------------------------------------------------

    def pass_on(self, worker: WorkerProcess) -> None:
        """Send home what the guest has said."""
        for message in worker.channel.receive():
            self.channel.send(message["kind"], **_fields(message))

    def gone(self, status: int | None, peak_mib: int) -> None:
        """Nothing of the guest is left."""
        self.channel.send("exited", status=status, peak_mib=peak_mib)
        self._worker = None
        self.is_over = True

    # --- from time to time ------------------------------------------------------------------------------

    def turn(self, now: float) -> None:
        """Send what is waiting, say how the guest does, and notice that its home is no more."""
        if now - self._heard_at > HOME_SILENT_S:
            self.end()
        elif now >= self.told_at + BEAT_S:
            self.told_at = now
            pid, limit_gib = (None, None) if self._worker is None else (self._worker.pid, self._memory_limit_gib)
            self.channel.send(
                "usage", processor_s=0.0 if pid is None else processor_s(pid),
                memory_gib=0.0 if pid is None or limit_gib is None else used_memory_gib(pid, limit_gib),
            )
        self.channel.flush()

    def end(self) -> None:
        """Nobody wants the guest any more."""
        self.is_over = True
        if self._worker is not None and self._room is not None:
            self._room.kill(self._worker)


class GuestHouse:
    """The door of a node for workers of others' trials.

    Args:
        node, host: this node's name, and the address that it listens on.
        rooms: the studies that are prepared here, by name.
        watch, unwatch: called with what is to be waited on, and before it is closed.
    """

    def __init__(
        self, node: str, host: str, rooms: Mapping[str, Room], *, watch: Callable[[HasFileno, Hear], None],
        unwatch: Callable[[HasFileno], None],
    ) -> None:
        self._token = secrets.token_hex(16)
        self._rooms = rooms
        self._watch, self._unwatch = watch, unwatch
        self._stays: list[Stay] = []
        self._listener = socket.create_server(
            (host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=128
        )
        self._listener.setblocking(False)
        self.door = MeetNode(node=node, host=host, port=self._listener.getsockname()[1], token=self._token)
        """What others have to know in order to send guests."""
        watch(self._listener, self._open)

    @property
    def trials(self) -> list[str]:
        """Those that have guests here, as `study#number`."""
        return sorted({f"{stay.trial[0]}#{stay.trial[1]}" for stay in self._stays if stay.trial is not None})

    def send_away(self, study: str, number: int, generation: int) -> None:
        """End the guests of a trial."""
        for stay in self._stays:
            if stay.trial == (study, number, generation):
                stay.end()

    def turn(self) -> None:
        now = time.monotonic()
        for stay in self._stays:
            stay.turn(now)
        for stay in [stay for stay in self._stays if stay.is_done]:
            self._stays.remove(stay)
            self._unwatch(stay.channel)
            stay.channel.close()

    def next_at(self) -> float | None:
        """When (`time.monotonic`) `turn` has something to do though nobody said anything."""
        if any(stay.channel.unsent for stay in self._stays):
            return time.monotonic() + 0.005
        return min((stay.told_at + BEAT_S for stay in self._stays), default=None)

    def close(self) -> None:
        """Let nobody in any more; guests end with their rooms."""
        self._unwatch(self._listener)
        self._listener.close()
        for stay in self._stays:
            stay.end()
            self._unwatch(stay.channel)
            stay.channel.close()
        self._stays.clear()

    def _open(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:  # whoever knocked has gone
            return
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        stay = Stay(Channel(connection), self._token, self._rooms)
        self._stays.append(stay)
        self._watch(stay.channel, stay.hear)


def _fields(message: Message) -> dict[str, Any]:
    return {name: value for name, value in message.items() if name != "kind"}
