"""The first policy: priority class, then rung, then first come; every trial runs at its smallest size.

Four rules:

1. The line is ordered by (priority, highest first; rung, highest first; arrival).
2. Whoever fits starts, also past someone in front who does not fit (backfill), so no device idles while a
   trial that fits it waits.
3. Nobody starves: once a trial has waited `patience_s` for want of room, the node on which it will fit
   first is kept for it, and nobody behind it in the line starts there until it has started.
4. A request that no node could hold even when empty is refused with the reason, and moves nobody.

A trial that was started is never taken down again by this policy.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from .pool import Node, describe
from .port import (
    Action,
    NodeDown,
    NodeUp,
    PoolEvent,
    Refuse,
    Request,
    Start,
    StudyShare,
    TrialEnded,
    TrialOffered,
    TrialReleased,
    TrialWithdrawn,
    WorkerSlot,
)

PATIENCE_S = 60.0
"""How long a trial lets smaller ones pass. As long as a study may stay under its entitlement in the design
of the full policy. Shorter: devices idle while a large trial gathers them. Longer: a large trial waits that
much longer."""

UNBOUNDED_ROOM = 2**31
"""What `room` says of a request that asks for nothing of a node that is up."""

TrialKey = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A trial's place in the line; the lowest rank starts first."""

    rank: tuple[int, int, int]
    offer: TrialOffered


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """What a started trial holds."""

    generation: int
    node: str
    workers: tuple[WorkerSlot, ...]
    memory_gib: float | None


class FirstComePolicy:
    """Priority, rung, first come. Implements `scheduler.port.Policy`."""

    def __init__(self, *, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._nodes: dict[str, Node] = {}
        self._line: list[Place] = []
        self._places: dict[TrialKey, Place] = {}
        self._held: dict[TrialKey, Reservation] = {}
        self._last_generation: dict[TrialKey, int] = {}
        self._arrivals = 0

    # --- events ----------------------------------------------------------------------------------

    def step(self, event: PoolEvent) -> list[Action]:
        """Take one event in and say who starts or is refused because of it."""
        return self.steps([event])

    def steps(self, events: Sequence[PoolEvent]) -> list[Action]:
        """Take several events of one moment in, then say who starts or is refused because of them."""
        refused = [action for event in events if (action := self._take_in(event)) is not None]
        return refused + self._start_those_that_fit(events[-1].at) if events else []

    def _take_in(self, event: PoolEvent) -> Action | None:
        match event:
            case NodeUp():
                self._node_up(event)
            case NodeDown():
                self._node_down(event.node)
            case TrialOffered():
                return self._offered(event)
            case TrialWithdrawn() | TrialEnded():
                self._leave_line((event.study, event.number))
            case TrialReleased():
                self._released(event)
        return None

    def _node_up(self, up: NodeUp) -> None:
        if up.node not in self._nodes:
            self._nodes[up.node] = Node.offered(up)

    def _node_down(self, name: str) -> None:
        self._nodes.pop(name, None)
        for key in [key for key, held in self._held.items() if held.node == name]:
            del self._held[key]

    def _offered(self, offer: TrialOffered) -> Refuse | None:
        key = (offer.study, offer.number)
        if offer.generation <= self._last_generation.get(key, -1):
            return None
        reason = self._why_never(offer.request)
        if reason:
            return Refuse(study=offer.study, number=offer.number, generation=offer.generation, reason=reason)
        known = self._places.get(key)
        if known is not None:
            if known.offer.generation >= offer.generation:
                return None
            self._leave_line(key)
        self._arrivals += 1
        place = Place(rank=(-offer.priority, -offer.rung, self._arrivals), offer=offer)
        insort(self._line, place, key=lambda p: p.rank)
        self._places[key] = place
        return None

    def _released(self, event: TrialReleased) -> None:
        key = (event.study, event.number)
        held = self._held.get(key)
        if held is None or held.generation != event.generation:
            return
        del self._held[key]
        node = self._nodes.get(held.node)
        if node is not None:
            node.give_back(held.workers, held.memory_gib)

    def _leave_line(self, key: TrialKey) -> None:
        place = self._places.pop(key, None)
        if place is not None:
            self._line.remove(place)

    # --- decisions -------------------------------------------------------------------------------

    def _start_those_that_fit(self, at: float) -> list[Action]:
        actions: list[Action] = []
        allowed = dict(self._nodes)
        full: set[int] = set()  # requests that fit nowhere now, by identity: a study's trials share theirs
        for place in list(self._line):
            offer = place.offer
            if id(offer.request) in full and at - offer.at < self._patience_s:
                continue  # the usual case in a long line
            if (offer.study, offer.number) in self._held:
                continue  # offered again before its former workers have gone
            if id(offer.request) not in full:
                start = self._try_start(offer, allowed, passed_somebody=bool(full))
                if start is not None:
                    actions.append(start)
                    continue
                full.add(id(offer.request))
            if at - offer.at >= self._patience_s:
                kept = self._first_to_fit(offer.request, allowed)
                if kept is not None:
                    del allowed[kept]
        return actions

    def _try_start(self, offer: TrialOffered, nodes: Mapping[str, Node], *, passed_somebody: bool) -> Start | None:
        request = offer.request
        for name, node in nodes.items():
            if not _fits(node, request):
                continue
            free = node.describe(request)
            workers = node.place(request, request.k_min)
            assert workers is not None
            key = (offer.study, offer.number)
            self._leave_line(key)
            self._held[key] = Reservation(
                generation=offer.generation, node=name, workers=workers, memory_gib=request.memory_gib
            )
            self._last_generation[key] = offer.generation
            line = "past larger ones that do not fit yet" if passed_somebody else "first in line"
            return Start(
                study=offer.study,
                number=offer.number,
                generation=offer.generation,
                reason=f"{line}; {name} had {free} free",
                node=name,
                workers=workers,
            )
        return None

    def _first_to_fit(self, request: Request, nodes: Mapping[str, Node]) -> str | None:
        """The node to keep for an aged request: of those that can hold it, the one that has most room for
        it now."""
        able = [
            (-(node.room_for_workers(request) or 0), name)
            for name, node in nodes.items()
            if _fits(node.empty(), request)
        ]
        return min(able)[1] if able else None

    def _why_never(self, request: Request) -> str:
        if request.gpus > 1 and request.gpus.denominator != 1:
            return f"never fits because {describe(request)}: above one GPU a worker takes whole GPUs only"
        if not self._nodes or any(_fits(node.empty(), request) for node in self._nodes.values()):
            return ""
        largest = "; ".join(f"{node.name} has {node.empty().describe(request)}" for node in self._nodes.values())
        return f"never fits because it needs {describe(request)} on one node, and {largest}"

    # --- questions -------------------------------------------------------------------------------

    def waiting(self) -> Sequence[tuple[str, int, str]]:
        """(study, number, why it waits), in the order in which they would start."""
        rows = []
        for position, place in enumerate(self._line, start=1):
            offer = place.offer
            free = "; ".join(f"{n.name} has {n.describe(offer.request)} free" for n in self._nodes.values())
            why = f"number {position} in line; needs {describe(offer.request)}; {free or 'no node is up'}"
            rows.append((offer.study, offer.number, why))
        return rows

    def room(self, request: Request) -> int:
        """How many more trials of this request could start now."""
        total = 0
        for node in self._nodes.values():
            workers = node.room_for_workers(request)
            if workers is None:
                return UNBOUNDED_ROOM
            total += workers // request.k_min
        return total

    def shares(self, at: float) -> Sequence[StudyShare]:
        """First come, first served: nobody is owed anything."""
        return ()

    def cordoned(self) -> Mapping[str, str]:
        """Every node that is up is used."""
        return {}

    def validate_state(self) -> None:
        """Check the invariants of the pool; used by tests after every event."""
        for name, node in self._nodes.items():
            fresh = node.empty()
            for held in self._held.values():
                if held.node == name:
                    fresh.give_back(
                        (replace(slot, share=-slot.share, cpus=-slot.cpus) for slot in held.workers),
                        -(held.memory_gib or 0),
                    )
            assert fresh.free_gpus == node.free_gpus, (name, fresh.free_gpus, node.free_gpus)
            assert fresh.free_cpus == node.free_cpus >= 0
            assert fresh.free_memory_gib == node.free_memory_gib >= 0
            assert all(0 <= free <= 1 for free in node.free_gpus.values())
        assert [p.rank for p in self._line] == sorted(p.rank for p in self._line)
        assert {(p.offer.study, p.offer.number) for p in self._line} == set(self._places)
        for key in set(self._places) & set(self._held):
            assert self._places[key].offer.generation > self._held[key].generation


def _fits(node: Node, request: Request) -> bool:
    room = node.room_for_workers(request)
    return room is None or room >= request.k_min
