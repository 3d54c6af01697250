"""What a head may ask of an agent on another machine, and how nodes are found.

`RayFleet` is the implementation; tests have one in memory. All values are frozen and plain, so that any transport can
carry them.

A head that takes an agent over is given a session. Whatever carries an older session is refused, so that a head that
was replaced, or one that had given the node up meanwhile, cannot touch it any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from ..messages import Instruction, LaunchTrial, MeetNode, RunnerEvent, Slot


class AgentSilent(Exception):
    """No answer in time: the agent may be dead, frozen or cut off. Nobody can tell yet."""


class AgentDead(Exception):
    """The agent's process has gone for good."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFacts:
    """What a node offers. Memory in GiB; `gpu_memory_gib` is that of its largest GPU, 0: not known.

    `host`: the address by which the other nodes reach it, "": none does.
    """

    node: str
    gpus: tuple[str, ...]
    cpus: int
    memory_gib: float
    device_model: str
    gpu_memory_gib: float = 0.0
    host: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who takes an agent over.

    `owner` names the pool of studies and stays the same when its head dies and is started again; `fence` grows with
    every start. `store` is the URL of the storage that all nodes share, `probe` a file there that the agent must see.
    """

    owner: str
    fence: int
    text: str
    store: str
    probe: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningTrial:
    """A trial that an agent has: how it was launched, the code it runs and the slots that it has now."""

    launch: LaunchTrial
    code: str
    slots: tuple[Slot, ...]

    @property
    def study(self) -> str:
        return self.launch.study

    @property
    def number(self) -> int:
        return self.launch.number

    @property
    def generation(self) -> int:
        return self.launch.generation


@dataclass(frozen=True, slots=True, kw_only=True)
class Welcome:
    """The agent is the caller's; `trials`: what it runs, or has events of that nobody has taken in; `door`: where it
    takes in workers of other nodes' trials."""

    session: int
    facts: NodeFacts
    door: MeetNode | None = None
    trials: tuple[RunningTrial, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The agent is somebody else's, or of no use to the caller. `is_ending`: it is about to be dead."""

    reason: str
    is_ending: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """The answer to `poll`: events with their sequence numbers, and the last batch of instructions carried out."""

    current: bool
    events: tuple[tuple[int, RunnerEvent], ...] = ()
    performed: int = 0
    draining: bool = False


class AgentLink(Protocol):
    """The head's line to one agent."""

    def hello(self, holder: Holder, *, fresh: bool, timeout_s: float) -> Welcome | Refused:
        """Take the agent over. `fresh`: it ends everything it runs first. After a call that timed out the next one
        waits for its answer, instead of asking twice.

        Raises:
            AgentSilent, AgentDead.
        """
        ...

    def poll(self, session: int, *, since: int, done: int, wait_s: float, timeout_s: float) -> News:
        """Events after number `since`, as soon as there are any, at the latest after `wait_s`; those up to `done` are
        in the journal and can be forgotten.

        Raises:
            AgentSilent, AgentDead.
        """
        ...

    def perform(self, session: int, batch: int, instructions: Sequence[Instruction]) -> None:
        """Send instructions; `News.performed` confirms them. Batches are carried out in the order of their numbers.

        Raises:
            AgentSilent: they cannot be sent now.
        """
        ...

    def leave(self, session: int, *, timeout_s: float) -> None:
        """Have the agent end all that it runs, and itself, unless it was started to stay for the next head.

        Raises:
            AgentSilent, AgentDead.
        """
        ...


class Fleet(Protocol):
    """The nodes there are, and a way to have an agent on each."""

    def nodes(self) -> Sequence[str]:
        """Nodes that are up and have something to offer."""
        ...

    def agent(self, node: str) -> AgentLink:
        """The node's agent, started if it has none. Does not wait for it.

        Raises:
            AgentDead: the node has just gone, or it cannot have an agent now.
        """
        ...

    def wish(self, kind: Literal["GPU", "CPU"], devices: int) -> None:
        """How many devices all trials together could use now, for clusters that grow on demand."""
        ...
