"""A fleet of agents in memory: what they say and how they fail is up to the test."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Literal

from shoal.trial_runner.cluster.ports import (
    AgentDead,
    AgentSilent,
    Holder,
    News,
    NodeFacts,
    Refused,
    RunningTrial,
    Welcome,
)
from shoal.trial_runner.messages import Instruction, Prepared, PrepareStudy, RunnerEvent


class FakeAgent:
    """Implements `AgentLink`. Prepares every study at once, unless `cannot_import` says why not."""

    def __init__(self, node: str) -> None:
        self.facts = NodeFacts(node=node, gpus=(f"{node}-0",), cpus=4, memory_gib=8.0, device_model="fast")
        self.trials: tuple[RunningTrial, ...] = ()
        self.told: list[Instruction] = []
        self.greetings: list[bool] = []  # `fresh` of each hello
        self.cannot_import = ""
        self.held_by = ""
        self.slow_to_prepare = False
        self.lose_batches = 0
        self.left = False
        self._silent = self._dead = self._draining = False
        self._session = 0
        self._performed = 0
        self._events: list[tuple[int, RunnerEvent]] = []
        self._next = 1
        self._changed = threading.Condition()

    # --- what the test does -----------------------------------------------------------------------------

    def say(self, *events: RunnerEvent) -> None:
        with self._changed:
            for event in events:
                self._events.append((self._next, event))
                self._next += 1
            self._changed.notify_all()

    def set(self, *, silent: bool = False, dead: bool = False, draining: bool = False) -> None:
        with self._changed:
            self._silent, self._dead, self._draining = silent, dead, draining
            self._changed.notify_all()

    # --- AgentLink --------------------------------------------------------------------------------------

    def hello(self, holder: Holder, *, fresh: bool, timeout_s: float) -> Welcome | Refused:
        with self._changed:
            self._answer(timeout_s)
            if self.held_by:
                return Refused(reason=f"the node is held by {self.held_by}")
            self.greetings.append(fresh)
            self._session += 1
            self._performed = 0
            if fresh:
                self._events.clear()
                self.trials = ()
            return Welcome(session=self._session, facts=self.facts, trials=self.trials)

    def poll(self, session: int, *, since: int, done: int, wait_s: float, timeout_s: float) -> News:
        with self._changed:
            self._answer(timeout_s)
            self._events = [entry for entry in self._events if entry[0] > done]
            self._changed.wait_for(lambda: self._silent or self._dead or self._after(since) or self._draining, wait_s)
            self._answer(timeout_s)
            if session != self._session:
                return News(current=False)
            return News(
                current=True, events=self._after(since), performed=self._performed, draining=self._draining
            )

    def perform(self, session: int, batch: int, instructions: Sequence[Instruction]) -> None:
        with self._changed:
            if self.lose_batches:
                self.lose_batches -= 1
                return
            if session != self._session or batch != self._performed + 1:
                return
            self._performed = batch
            self.told += instructions
        for instruction in instructions:
            if isinstance(instruction, PrepareStudy) and not self.slow_to_prepare:
                ok = not self.cannot_import
                self.say(Prepared(study=instruction.study, ok=ok, note=self.cannot_import or "fork server"))

    def leave(self, session: int, *, timeout_s: float) -> None:
        self.left = True

    def _after(self, since: int) -> tuple[tuple[int, RunnerEvent], ...]:
        return tuple(entry for entry in self._events if entry[0] > since)

    def _answer(self, timeout_s: float) -> None:
        if self._dead:
            raise AgentDead("the actor died")
        if self._silent:
            self._changed.wait_for(lambda: not self._silent, min(timeout_s, 0.02))
            raise AgentSilent("nothing heard")


class FakeFleet:
    """Implements `Fleet`."""

    def __init__(self, *nodes: str) -> None:
        self.agents = {node: FakeAgent(node) for node in nodes}

    def add(self, node: str) -> FakeAgent:
        self.agents[node] = FakeAgent(node)
        return self.agents[node]

    def nodes(self) -> Sequence[str]:
        return list(self.agents)

    def agent(self, node: str) -> FakeAgent:
        return self.agents[node]

    def wish(self, kind: Literal["GPU", "CPU"], devices: int) -> None:
        raise AssertionError("nobody wishes here")
