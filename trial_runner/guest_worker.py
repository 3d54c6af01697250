"""A worker on another node, as the agent of its trial sees it. `guest_house.py` is the other side."""

from __future__ import annotations

import socket
import time

from .messages import LaunchTrial, MeetNode, RunnerEvent
from .pulse import BEAT_S, SILENT_S
from .wire import Channel, Message
from .worker_process import WorkerProcess


class GuestWorker(WorkerProcess):
    """Implements what a crew asks of a worker over a connection to the agent of the node that it runs on.

    It counts as gone when that agent says so, when the connection ends, and when nothing has been heard for `SILENT_S`:
    a node may be frozen or cut off, and its workers with it. Such a worker can do no harm when it wakes up: its
    connections with the others are closed, and what a trial keeps is written at its home.
    """

    def __init__(self, number: int, launch: LaunchTrial, there: MeetNode) -> None:
        family = socket.AF_INET6 if ":" in there.host else socket.AF_INET
        connection = socket.socket(family, socket.SOCK_STREAM)
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.connect_ex((there.host, there.port))  # what is sent meanwhile waits in the channel
        super().__init__(number, Channel(connection))
        self.node = there.node
        self.host = there.host
        self.exit: tuple[int | None, int] | None = None
        """How its process ended, and the most memory that it had in MiB; None: it has not."""
        self._heard_at = self._greeted_at = time.monotonic()
        self._processor_s = 0.0
        self._memory_gib = 0.0
        self.channel.send("come", token=there.token, study=launch.study, memory_gib=launch.memory_gib)

    def processor_s(self) -> float:
        return self._processor_s

    def memory_gib(self, limit_gib: float) -> float:
        return self._memory_gib

    @property
    def next_at(self) -> float:
        """When (`time.monotonic`) to `keep_up` again."""
        return self._greeted_at + BEAT_S

    def keep_up(self, now: float) -> None:
        """Say that the trial's home is still there."""
        if now >= self.next_at:
            self._greeted_at = now
            self.channel.send("here")

    def is_gone(self, now: float) -> bool:
        """Is nothing more to be heard of it?"""
        return self.exit is not None or self.channel.closed or now - self._heard_at > SILENT_S

    def _event(self, message: Message) -> RunnerEvent | None:
        self._heard_at = time.monotonic()
        match message["kind"]:
            case "usage":
                self._processor_s = float(message["processor_s"])
                self._memory_gib = float(message["memory_gib"])
            case "exited":
                status = message["status"]
                self.exit = None if status is None else int(status), int(message["peak_mib"])
            case "refused":
                self.end_with("lost", f"node {self.node} takes no worker in: {message['why']}")
            case "started":  # by the clock of the other node
                return super()._event({**message, "at": time.monotonic()})
            case _:
                return super()._event(message)
        return None

    def _unsaid_end(self, status: int | None, peak_mib: int, memory_mib: float) -> tuple[str, str]:
        if self.exit is None:
            return "LOST", f"nothing more was heard of node {self.node}"
        failure, reason = super()._unsaid_end(status, peak_mib, memory_mib)
        return failure, f"on node {self.node}: {reason}"
