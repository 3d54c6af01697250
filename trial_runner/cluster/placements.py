"""Which trial is on which node: what passes between the head and the agents is looked up, and checked, here. Pure.

A trial has a home, the node of its first slot, whose agent has it; what it has on other nodes are guests, of whom that
agent takes care. When the policy takes its home from it, it is paused there, launched where its first slot is then,
under the same generation, from what it saved, and the head hears of a resize: from its side nothing else happened.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from ..messages import (
    Ended,
    ForgetStudy,
    Instruction,
    KillTrial,
    LaunchTrial,
    MeetNode,
    PauseTrial,
    PrepareStudy,
    Reported,
    Resized,
    ResizeTrial,
    RunnerEvent,
    Slot,
    Started,
)
from .ports import RunningTrial

TrialKey = tuple[str, int]
Post = tuple[str, Instruction]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What follows: instructions to nodes, events for the head."""

    posts: tuple[Post, ...] = ()
    events: tuple[RunnerEvent, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A trial on its home `node`. `step`: its last report; `move`: the order under which it goes over to another;
    `came_from`: the old one, once it has let go of that, at `let_go_at` (None: not yet). Times are `time.monotonic`."""

    launch: LaunchTrial
    node: str
    slots: tuple[Slot, ...]
    launched_at: float
    step: int = 0
    move: ResizeTrial | None = None
    let_go_at: float | None = None
    came_from: str = ""
    phases_s: Mapping[str, float] = field(default_factory=dict)

    @property
    def reason(self) -> str:
        """What a trial that is moved is told."""
        return "" if self.move is None else f"it moves from {self.node} to {self.move.slots[0].node}"


class Placements:
    """The table of the trials that run."""

    def __init__(self) -> None:
        self._placed: dict[TrialKey, Placed] = {}

    # --- from the head --------------------------------------------------------------------------------

    def launch(self, launch: LaunchTrial, nodes: Collection[str], now: float) -> Outcome:
        """A trial starts on the node of its first slot."""
        node = launch.slots[0].node
        if node not in nodes:
            return Outcome(events=(lost(launch, f"node {node} has just gone"),))
        self._placed[launch.study, launch.number] = Placed(
            launch=launch, node=node, slots=launch.slots, launched_at=now, step=launch.reported_step
        )
        return Outcome(posts=((node, launch),))

    def adopt(self, node: str, trial: RunningTrial, now: float) -> None:
        """A trial of a former head."""
        self._placed[trial.study, trial.number] = Placed(
            launch=trial.launch, node=node, slots=trial.slots, launched_at=now, step=trial.launch.reported_step
        )

    def tell(self, told: Instruction, nodes: Collection[str]) -> Outcome:
        """Anything else that the head says of a trial; dropped if that is no more, or of a past generation."""
        assert not isinstance(told, PrepareStudy | ForgetStudy | MeetNode), "they are about no trial"
        placed = self._placed.get((told.study, told.number))
        if placed is None or placed.launch.generation != told.generation:
            return Outcome()
        if not isinstance(told, ResizeTrial) or placed.node in {slot.node for slot in told.slots}:
            return Outcome(posts=((placed.node, told),))
        return self._begin_move(placed, told, nodes)

    def forget(self, study: str) -> None:
        self._placed = {key: placed for key, placed in self._placed.items() if key[0] != study}

    # --- from the agents ------------------------------------------------------------------------------

    def hear(self, node: str, event: RunnerEvent, nodes: Collection[str], now: float) -> Outcome:
        """An event of a trial; dropped unless the trial is on this node, in this generation."""
        key = (event.study, getattr(event, "number", -1))
        placed = self._placed.get(key)
        if placed is None or placed.node != node or placed.launch.generation != getattr(event, "generation", -1):
            return Outcome()
        match event:
            case Reported():
                self._placed[key] = replace(placed, step=event.step)
            case Resized():
                self._placed[key] = replace(placed, slots=event.slots)
            case Ended() if placed.move is not None and placed.let_go_at is None:
                if event.outcome == "paused" and event.reason == placed.reason:
                    return self._go_over(key, placed, event, nodes, now)
                del self._placed[key]  # it ended before it could move
            case Ended():
                del self._placed[key]
                return Outcome(events=(replace(event, phases_s=_sum(placed.phases_s, event.phases_s)),))
            case Started() if placed.move is not None and placed.let_go_at is not None:
                self._placed[key] = replace(placed, move=None, let_go_at=None)
                stall_s, order = now - placed.let_go_at, placed.move.resize
                reason = f"it moved from {placed.came_from} to {node}"
                return Outcome(
                    events=(_resized(placed.launch, order, placed.slots, ok=True, stall_s=stall_s, reason=reason),)
                )
            case _:
                pass
        return Outcome(events=(event,))

    def lose(self, node: str, reason: str) -> Outcome:
        """The node is gone: so are the trials whose home it was, and their guests on other nodes. Trials that had
        guests there are told by their own agents."""
        why = f"node {node} is gone: {reason}"
        gone = [self._placed.pop(key) for key, placed in list(self._placed.items()) if placed.node == node]
        return Outcome(
            posts=tuple(
                (other, _kill(placed.launch, why))
                for placed in gone for other in sorted({slot.node for slot in placed.slots} - {node})
            ),
            events=tuple(lost(placed.launch, why) for placed in gone),
        )  # fmt: skip

    # --- moves ----------------------------------------------------------------------------------------

    def _begin_move(self, placed: Placed, order: ResizeTrial, nodes: Collection[str]) -> Outcome:
        launch, home = placed.launch, order.slots[0].node
        why_not = ""
        if placed.move is not None:
            why_not = "it is moving already"
        elif home not in nodes:
            why_not = f"node {home} has just gone"
        if why_not:
            return Outcome(events=(_resized(launch, order.resize, placed.slots, ok=False, reason=why_not),))
        placed = self._placed[launch.study, launch.number] = replace(placed, move=order)
        pause = PauseTrial(
            study=launch.study, number=launch.number, generation=launch.generation, reason=placed.reason
        )
        return Outcome(posts=((placed.node, pause),))

    def _go_over(
        self, key: TrialKey, placed: Placed, event: Ended, nodes: Collection[str], now: float
    ) -> Outcome:
        """It has let go of the old node, and everything of it is on the storage."""
        order, launch = placed.move, placed.launch
        assert order is not None, "it moves"
        node = order.slots[0].node
        if node not in nodes:
            del self._placed[key]
            return Outcome(events=(lost(launch, f"it was on its way to node {node}, which has gone"),))
        limit_s = launch.time_limit_s
        launch = replace(
            launch, slots=order.slots, moved=True, reported_step=placed.step,
            time_limit_s=None if limit_s is None else max(limit_s - (now - placed.launched_at), 0.0),
        )  # fmt: skip
        self._placed[key] = replace(
            placed, launch=launch, node=node, slots=order.slots, let_go_at=now, launched_at=now, came_from=placed.node,
            phases_s=_sum(placed.phases_s, event.phases_s),
        )  # fmt: skip
        return Outcome(posts=((node, launch),))


def lost(launch: LaunchTrial, why: str) -> Ended:
    """The end of a trial whose node is no more: not its own fault, so that it can start again."""
    return Ended(
        study=launch.study, number=launch.number, generation=launch.generation, outcome="failed", reason=why,
        failure="LOST",
    )


def _kill(launch: LaunchTrial, why: str) -> KillTrial:
    return KillTrial(study=launch.study, number=launch.number, generation=launch.generation, reason=why)


def _resized(
    launch: LaunchTrial, resize: int, slots: tuple[Slot, ...], *, ok: bool, reason: str, stall_s: float = 0.0
) -> Resized:
    return Resized(
        study=launch.study, number=launch.number, generation=launch.generation, resize=resize, ok=ok, slots=slots,
        stall_s=stall_s, reason=reason,
    )


def _sum(first: Mapping[str, float], second: Mapping[str, float]) -> Mapping[str, float]:
    return {name: first.get(name, 0.0) + second.get(name, 0.0) for name in (*first, *second)}
