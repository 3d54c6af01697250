"""The runner over many nodes: a node's agent on each, a table of which trial is where.

Implements `service.ports.Runner`, like the agent of a single node; further events say which nodes come and go. One
thread uses it, the head's; the others are in `watchers.py`. Only what comes from the node that a trial was given to,
and of its present generation, reaches the head (`placements.py`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from ...errors import PoolError
from ..messages import (
    USUAL_START,
    ForgetStudy,
    Instruction,
    KillTrial,
    LaunchTrial,
    MeetNode,
    NodeDraining,
    NodeEvent,
    NodeJoined,
    NodeLost,
    Prepared,
    PrepareStudy,
    RunnerEvent,
    Warned,
)
from .placements import Outcome, Placements
from .ports import Fleet, Holder, NodeFacts, RunningTrial, Welcome
from .watched_agent import SILENCE_S, Arrived, Drains, Heard, Lost, Said, Turned
from .watchers import Watchers

FIRST_NODES_S = 60.0
"""How long the nodes that are up at the start are waited for. An agent takes about two seconds; on a machine that is
busy importing, ten."""


@dataclass(slots=True)
class NodeEntry:
    """A node whose agent is this head's. `door`: where it takes in workers of others' trials; `awaits`: studies it has
    not prepared yet; `joined`: the head knows it; `draining`: a person wants it to be empty."""

    facts: NodeFacts
    door: MeetNode | None = None
    awaits: set[str] = field(default_factory=set)
    joined: bool = False
    draining: bool = False


@dataclass(slots=True)
class OpenStudy:
    """What every node is to prepare. `told`: the head has heard how that went."""

    prepare: PrepareStudy
    told: bool = False
    failures: dict[str, str] = field(default_factory=dict)


class ClusterRunner:
    """Implements `service.ports.Runner` over a fleet of agents.

    Args:
        fleet: where nodes and agents come from.
        holder: who this head is.
        notice: told in one line what no event says.
        silence_s: how long an agent may be silent.
    """

    def __init__(
        self, fleet: Fleet, holder: Holder, *, notice: Callable[[str], None] = lambda text: None,
        silence_s: float = SILENCE_S,
    ) -> None:
        self._watchers = Watchers(fleet, holder, silence_s=silence_s)
        self._notice = notice
        self._nodes: dict[str, NodeEntry] = {}
        self._studies: dict[str, OpenStudy] = {}
        self._placements = Placements()
        self._found: list[tuple[str, RunningTrial]] = []
        self._early: list[tuple[str, Heard]] = []  # heard before `keep` has said which trials are this head's
        self._is_settled = False
        self._refused: dict[str, str] = {}
        self._last: dict[str, int] = {}
        self._events: list[RunnerEvent | NodeEvent] = []

    # --- opening ----------------------------------------------------------------------------------------

    def open(self, wait_s: float = FIRST_NODES_S) -> list[NodeJoined]:
        """Take over an agent on each node that is up now, and go on looking for others.

        Returns:
            the nodes that have answered; those that answer later join by events.

        Raises:
            PoolError: no node has answered; says why.
        """
        expected = self._watchers.start()
        until = time.monotonic() + wait_s
        while not (expected and expected <= self._nodes.keys() | self._refused.keys()) and time.monotonic() < until:
            heard = self._watchers.wait(0.5)
            if heard is None:
                continue
            node, what = heard
            if isinstance(what, Arrived | Turned):
                expected.add(node)
                self._take(node, what)
            elif isinstance(what, Lost) and what.dead and node not in self._nodes:
                self._watchers.forget(node)  # it was a former head's, on its way out: the next one is looked for
            else:
                self._early.append((node, what))
        if not self._nodes:
            why = "; ".join(f"{node}: {reason}" for node, reason in self._refused.items())
            raise PoolError(
                f"no node can be used ({why or f'none answered in {wait_s:g} s'}).",
                "Look with `ray status` and `shoal pool status --ray ADDRESS`; wait for whoever holds the nodes.",
            )
        self._events.clear()
        return [self._join(entry) for _, entry in sorted(self._nodes.items())]

    @property
    def found(self) -> tuple[RunningTrial, ...]:
        """Trials that a former head had started and that still run, or have ended unheard."""
        return tuple(trial for _, trial in self._found)

    def keep(self, kept: Iterable[RunningTrial]) -> None:
        """Go on with these of the trials that were found, and kill the others."""
        wanted = {(trial.study, trial.number, trial.generation) for trial in kept}
        for node, trial in self._found:
            if (trial.study, trial.number, trial.generation) in wanted:
                self._placements.adopt(node, trial, time.monotonic())
            else:
                self._kill_unknown(node, trial)
        self._found.clear()
        self._is_settled = True

    # --- the port ---------------------------------------------------------------------------------------

    def now(self) -> float:
        return time.time()

    def perform(self, instruction: Instruction) -> None:
        match instruction:
            case PrepareStudy():
                self._studies[instruction.study] = OpenStudy(prepare=instruction)
                for node in list(self._nodes):
                    self._prepare(node, instruction)
            case ForgetStudy():
                self._studies.pop(instruction.study, None)
                self._placements.forget(instruction.study)
                for node in self._nodes:
                    self._watchers.post(node, instruction)
            case LaunchTrial():
                self._carry_out(self._placements.launch(instruction, self._nodes, time.monotonic()))
            case _:
                self._carry_out(self._placements.tell(instruction, self._nodes))

    def waitables(self) -> Sequence[int]:
        return (self._watchers.fileno(),)

    def next_due_s(self) -> float | None:
        return 0.0 if self._events else None

    def drain(self) -> list[RunnerEvent | NodeEvent]:
        """Also tells the agents that what the last call returned is in the journal: the head commits every turn."""
        for node, last in self._last.items():
            self._watchers.done(node, last)
        self._last.clear()
        early, self._early = self._early, []
        for node, heard in (*early, *self._watchers.heard()):
            self._take(node, heard)
        events, self._events = self._events, []
        return events

    def close(self) -> None:
        """Have every agent end what it runs; those that were started for this head end too."""
        self._watchers.close()

    # --- what is heard ----------------------------------------------------------------------------------

    def _take(self, node: str, heard: Heard) -> None:
        match heard:
            case Arrived():
                self._arrived(node, heard.welcome)
            case Turned():
                if node not in self._refused:
                    self._notice(f"node {node} is left out: {heard.reason}")
                self._refused[node] = heard.reason
            case Said():
                for event in heard.events:
                    self._take_event(node, event)
                self._last[node] = heard.last
            case Drains():
                self._drains(node, draining=heard.draining)
            case Lost():
                self._lost(node, heard.reason)
                if heard.dead:
                    self._watchers.forget(node)

    def _arrived(self, node: str, welcome: Welcome) -> None:
        self._refused.pop(node, None)
        self._nodes[node] = NodeEntry(facts=welcome.facts, door=welcome.door)
        self._introduce(node)
        if self._is_settled:  # later than the head's start: nobody waits for what it still runs
            for trial in welcome.trials:
                self._kill_unknown(node, trial)
        else:
            self._found += [(node, trial) for trial in welcome.trials]
        for study in self._studies.values():
            self._prepare(node, study.prepare)
        self._join_if_ready(node)

    def _take_event(self, node: str, event: RunnerEvent) -> None:
        if node not in self._nodes:
            return
        match event:
            case Prepared():
                self._prepared(node, event)
            case Warned():
                self._events.append(event)
            case _:
                self._carry_out(self._placements.hear(node, event, self._nodes, time.monotonic()))

    def _prepared(self, node: str, event: Prepared) -> None:
        study = self._studies.get(event.study)
        if study is None:
            return
        self._nodes[node].awaits.discard(event.study)
        if not event.ok:
            study.failures[node] = event.note
        elif event.note not in ("", USUAL_START):
            self._notice(f"{event.study} on {node}: {event.note}")
        self._judge(study)
        self._join_if_ready(node)

    def _judge(self, study: OpenStudy) -> None:
        """Can the study run? Said once every node has tried; those that cannot run it are then left out."""
        name = study.prepare.study
        if not self._nodes or any(name in entry.awaits for entry in self._nodes.values()):
            return
        failed = {node: why for node, why in study.failures.items() if node in self._nodes}
        if len(failed) == len(self._nodes):
            self._events.append(Prepared(study=name, ok=False, note=next(iter(failed.values()))))
            return
        if not study.told:
            study.told = True
            self._events.append(Prepared(study=name, ok=True, note=""))
        for node, why in failed.items():
            self._lost(node, f"study {name}: {why}")
            self._refused[node] = why
            self._watchers.dismiss(node)

    def _join_if_ready(self, node: str) -> None:
        entry = self._nodes.get(node)
        if entry is not None and not entry.awaits and not entry.joined:
            self._events.append(self._join(entry))
            if entry.draining:
                self._drains(node, draining=True)

    def _drains(self, node: str, *, draining: bool) -> None:
        entry = self._nodes.get(node)
        if entry is None:
            return
        entry.draining = draining
        if entry.joined:
            why = "`shoal pool drain`" if draining else "`shoal pool drain --undo`"
            self._events.append(NodeDraining(node=node, draining=draining, reason=why))

    def _join(self, entry: NodeEntry) -> NodeJoined:
        entry.joined = True
        facts = entry.facts
        return NodeJoined(
            node=facts.node, gpus=facts.gpus, cpus=facts.cpus, memory_gib=facts.memory_gib,
            device_model=facts.device_model, gpu_memory_gib=facts.gpu_memory_gib,
        )

    def _lost(self, node: str, reason: str) -> None:
        entry = self._nodes.pop(node, None)
        self._last.pop(node, None)
        if entry is None:
            return
        if entry.joined:
            self._events.append(NodeLost(node=node, reason=reason))
        self._carry_out(self._placements.lose(node, reason))
        for study in self._studies.values():
            study.failures.pop(node, None)
            if not study.told:
                self._judge(study)  # it may have been the last that was waited for

    # --- instructions -----------------------------------------------------------------------------------

    def _carry_out(self, outcome: Outcome) -> None:
        self._events += outcome.events
        for node, instruction in outcome.posts:
            self._watchers.post(node, instruction)

    def _prepare(self, node: str, prepare: PrepareStudy) -> None:
        entry = self._nodes[node]
        entry.awaits.add(prepare.study)
        room = len(entry.facts.gpus) or entry.facts.cpus
        self._watchers.post(node, replace(prepare, standby=max(min(prepare.standby, room), 1)))

    def _introduce(self, node: str) -> None:
        """Have it and all others know how to reach each other."""
        new = self._nodes[node]
        for name, other in self._nodes.items():
            if name != node and other.door is not None and new.door is not None:
                self._watchers.post(name, new.door)
                self._watchers.post(node, other.door)

    def _kill_unknown(self, node: str, trial: RunningTrial) -> None:
        reason = "nobody waits for it any more"
        self._watchers.post(
            node,
            KillTrial(study=trial.study, number=trial.number, generation=trial.generation, reason=reason),
        )
