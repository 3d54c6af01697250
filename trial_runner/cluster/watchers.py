"""The threads behind a cluster runner: one listens to each agent, one more sends instructions and looks for new nodes.

The head's thread finds what was heard in a queue, and a descriptor that is readable while there is something in it.
"""

from __future__ import annotations

import contextlib
import os
import queue
import threading
import time
from collections.abc import Iterator

from ..messages import Instruction
from .ports import AgentDead, Fleet, Holder
from .watched_agent import Heard, WatchedAgent

LOOK_FOR_NODES_S = 1.0


class Watchers:
    """The agents of all nodes, each watched.

    Args:
        fleet: where nodes and agents come from.
        holder: who this head is.
        silence_s: how long an agent may be silent.
    """

    def __init__(self, fleet: Fleet, holder: Holder, *, silence_s: float) -> None:
        self._fleet = fleet
        self._holder = holder
        self._silence_s = silence_s
        self._heard: queue.SimpleQueue[tuple[str, Heard]] = queue.SimpleQueue()
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        os.set_blocking(self._read, False)
        self._agents: dict[str, WatchedAgent] = {}
        self._agents_lock = threading.Lock()
        self._outbox: list[tuple[str, Instruction]] = []
        self._send = threading.Condition()
        self._closing = False
        self._sender = threading.Thread(target=self._work, name="shoal-dispatch", daemon=True)

    def start(self) -> set[str]:
        """Take over an agent on each node that is up; which these are."""
        nodes = set(self._fleet.nodes())
        for node in nodes:
            self._meet(node)
        self._sender.start()
        return nodes

    def fileno(self) -> int:
        """Readable when `heard` has something."""
        return self._read

    def heard(self) -> Iterator[tuple[str, Heard]]:
        """What has been heard since the last call."""
        with contextlib.suppress(BlockingIOError):
            os.read(self._read, 1 << 16)
        with contextlib.suppress(queue.Empty):
            while True:
                yield self._heard.get_nowait()

    def wait(self, timeout_s: float) -> tuple[str, Heard] | None:
        """What is heard next; None: nothing in time."""
        with contextlib.suppress(queue.Empty):
            return self._heard.get(timeout=timeout_s)
        return None

    def post(self, node: str, instruction: Instruction) -> None:
        """Send soon, together with what else there is for the node."""
        with self._send:
            self._outbox.append((node, instruction))
            self._send.notify()

    def done(self, node: str, last: int) -> None:
        """The node's events up to this number are in the journal."""
        agent = self._agent(node)
        if agent is not None:
            agent.done(last)

    def forget(self, node: str) -> None:
        """The agent has ended; its node may get another."""
        with self._agents_lock:
            self._agents.pop(node, None)

    def dismiss(self, node: str) -> None:
        """Have the agent leave, and do without the node."""
        agent = self._agent(node)
        if agent is not None:
            agent.close()

    def close(self) -> None:
        """Have every agent leave, and wait for them."""
        with self._send:
            if self._closing:
                return
            self._closing = True
            self._send.notify()
        if self._sender.is_alive():
            self._sender.join()
        with self._agents_lock:
            agents = list(self._agents.values())
        for agent in agents:
            agent.close()
        for agent in agents:
            agent.join()
        os.close(self._read)
        os.close(self._write)

    # --- the sending thread -----------------------------------------------------------------------------

    def _work(self) -> None:
        look_at = time.monotonic() + LOOK_FOR_NODES_S
        while True:
            with self._send:
                if not self._outbox and not self._closing:
                    self._send.wait(max(look_at - time.monotonic(), 0.0))
                outbox, self._outbox = self._outbox, []
                closing = self._closing
            batches: dict[str, list[Instruction]] = {}
            for node, instruction in outbox:
                batches.setdefault(node, []).append(instruction)
            for node, instructions in batches.items():
                agent = self._agent(node)
                if agent is not None:
                    agent.perform(instructions)
            if closing:
                return
            if time.monotonic() >= look_at:
                for node in self._fleet.nodes():
                    if self._agent(node) is None:
                        self._meet(node)
                look_at = time.monotonic() + LOOK_FOR_NODES_S

    def _meet(self, node: str) -> None:
        try:
            link = self._fleet.agent(node)
        except AgentDead:  # looked for again in a second
            return
        agent = WatchedAgent(node, link, self._holder, self._hear, silence_s=self._silence_s)
        with self._agents_lock:
            self._agents[node] = agent

    def _agent(self, node: str) -> WatchedAgent | None:
        with self._agents_lock:
            return self._agents.get(node)

    def _hear(self, node: str, heard: Heard) -> None:
        """Called from the watchers' threads."""
        self._heard.put((node, heard))
        with contextlib.suppress(OSError):  # full: the head is about to look; closed: nobody does
            os.write(self._write, b"x")
