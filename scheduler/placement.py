"""Where workers sit: exact shares, buddy-aligned blocks inside a node, whole nodes above.

- The workers of one trial sit on one node whenever an empty node could hold them; larger ones take the emptiest
  nodes of one device model.
- Among nodes, best fit: the fullest that still has room, so that whole nodes stay whole. Among the GPUs of a node,
  the aligned block (positions 0-1, 2-3, 0-3, ...) whose buddy is already in use, so that larger aligned blocks
  stay free (Knowlton 1965, the buddy system). A node never refuses for want of alignment: any free GPUs serve.
- Shares of a GPU are exact fractions and go to the fullest GPU that has room.

Free whole GPUs are bits of an integer and nodes are filed by how many they have free, so a placement in a pool of
ten thousand GPUs costs some microseconds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from fractions import Fraction

from .pool import number
from .port import NodeUp, Request, WorkerSlot

WHOLE = Fraction(1)


class NodeSpace:
    """One node: what it has and what is free of it."""

    __slots__ = ("cpus", "device_model", "free_cpus", "free_mask", "free_memory", "gpus", "memory", "name", "parts")

    def __init__(self, up: NodeUp) -> None:
        self.name = up.node
        self.gpus = up.gpus
        self.cpus = self.free_cpus = up.cpus
        self.memory = self.free_memory = Fraction(up.memory_gib)
        self.device_model = up.device_model
        self.free_mask = (1 << len(up.gpus)) - 1
        self.parts: dict[int, Fraction] = {}

    @property
    def whole_free(self) -> int:
        return self.free_mask.bit_count()

    @property
    def is_empty(self) -> bool:
        return self.free_mask == (1 << len(self.gpus)) - 1 and self.free_cpus == self.cpus

    def room(self, request: Request, *, empty: bool = False) -> int | None:
        """How many workers fit into what is free (or into all, when `empty`); None: any number."""
        bounds: list[int] = []
        share = request.gpus
        if share >= 1:
            bounds.append((len(self.gpus) if empty else self.whole_free) // int(share))
        elif share > 0:
            whole = len(self.gpus) if empty else self.whole_free
            broken = 0 if empty else sum(int(free / share) for free in self.parts.values())
            bounds.append(whole * int(1 / share) + broken)
        if request.cpus:
            bounds.append((self.cpus if empty else self.free_cpus) // request.cpus)
        if request.memory_gib:
            bounds.append(int((self.memory if empty else self.free_memory) / Fraction(request.memory_gib)))
        return min(bounds) if bounds else None

    def take(self, request: Request, workers: int) -> list[WorkerSlot]:
        """Slots for `workers` workers; there must be room for them."""
        share = request.gpus
        if share >= 1:
            each = int(share)
            chosen = self._aligned(each * workers)
            ids = [self.gpus[i] for i in chosen]
            groups = [tuple(ids[i * each : (i + 1) * each]) for i in range(workers)]
            self.free_mask &= ~sum(1 << i for i in chosen)
        elif share > 0:
            groups = [(self._part_of_gpu(share),) for _ in range(workers)]
        else:
            groups = [()] * workers
        self.free_cpus -= request.cpus * workers
        if request.memory_gib:
            self.free_memory -= Fraction(request.memory_gib) * workers
        part = min(share, WHOLE)
        return [WorkerSlot(gpus=group, share=part, cpus=request.cpus, node=self.name) for group in groups]

    def give_back(self, slot: WorkerSlot, request: Request) -> None:
        self.free_cpus += slot.cpus
        if request.memory_gib:
            self.free_memory += Fraction(request.memory_gib)
        for gpu in slot.gpus:
            i = self.gpus.index(gpu)
            if slot.share == 1:
                self.free_mask |= 1 << i
                continue
            self.parts[i] += slot.share
            if self.parts[i] == 1:
                del self.parts[i]
                self.free_mask |= 1 << i

    def emptied(self) -> NodeSpace:
        """The same node with nobody on it."""
        up = NodeUp(
            at=0.0,
            node=self.name,
            gpus=self.gpus,
            cpus=self.cpus,
            memory_gib=float(self.memory),
            device_model=self.device_model,
        )
        return NodeSpace(up)

    def claim(self, slot: WorkerSlot, request: Request) -> None:
        """Take exactly this slot, which must be free."""
        self.free_cpus -= slot.cpus
        self.free_memory -= Fraction(request.memory_gib or 0)
        for gpu in slot.gpus:
            i = self.gpus.index(gpu)
            free = self.parts.pop(i, WHOLE if self.free_mask >> i & 1 else Fraction(0))
            assert free >= slot.share, f"{gpu} of {self.name} is promised twice"
            self.free_mask &= ~(1 << i)
            if free != slot.share or slot.share != 1:
                self.parts[i] = free - slot.share

    def validate(self) -> None:
        assert self.free_cpus >= 0, self.name
        assert self.free_memory >= 0, self.name
        assert all(0 <= free < 1 for free in self.parts.values()), (self.name, self.parts)

    def _part_of_gpu(self, share: Fraction) -> str:
        fitting = [(free, i) for i, free in self.parts.items() if free >= share]
        if fitting:
            _, i = min(fitting)
        else:
            (i,) = self._aligned(1)
            self.free_mask &= ~(1 << i)
            self.parts[i] = WHOLE
        self.parts[i] -= share
        return self.gpus[i]

    def _aligned(self, count: int) -> list[int]:
        """Positions of `count` free GPUs: an aligned block beside an occupied buddy, else the first free ones."""
        mask, size = self.free_mask, 1 << (count - 1).bit_length()
        if size == count:
            block = (1 << count) - 1
            second_best = -1
            for position in range(0, len(self.gpus), count):
                if mask >> position & block == block:
                    buddy = position ^ count
                    if mask >> buddy & block != block:
                        return list(range(position, position + count))
                    if second_best < 0:
                        second_best = position
            if second_best >= 0:
                return list(range(second_best, second_best + count))
        return [i for i in range(len(self.gpus)) if mask >> i & 1][:count]


class Cluster:
    """All nodes that are up."""

    def __init__(self) -> None:
        self.nodes: dict[str, NodeSpace] = {}
        self._by_free: list[dict[str, NodeSpace]] = [{}]
        self.num_gpus = 0
        self.num_cpus = 0
        self._largest: dict[Request, int] = {}
        self._most: dict[Request, int] = {}

    def add(self, up: NodeUp) -> None:
        node = NodeSpace(up)
        self._forget_sizes()
        self.nodes[up.node] = node
        self.num_gpus += len(up.gpus)
        self.num_cpus += up.cpus
        while len(self._by_free) <= len(up.gpus):
            self._by_free.append({})
        self._by_free[node.whole_free][node.name] = node

    def remove(self, name: str) -> None:
        node = self.nodes.pop(name)
        self._forget_sizes()
        del self._by_free[node.whole_free][name]
        self.num_gpus -= len(node.gpus)
        self.num_cpus -= node.cpus

    @property
    def free_gpus(self) -> int:
        """Whole GPUs that nobody holds."""
        return sum(free * len(nodes) for free, nodes in enumerate(self._by_free))

    def place(
        self,
        request: Request,
        workers: int,
        *,
        device_model: str = "",
        avoid: Collection[str] = (),
        spread: bool = False,
    ) -> tuple[WorkerSlot, ...] | None:
        """Slots for `workers` more workers, taken at once; None (and nothing taken) when they do not fit.

        Args:
            device_model: only nodes of this model, unless empty.
            avoid: nodes kept for somebody else.
            spread: over several nodes even if one could hold them when empty.
        """
        node = self._best_fit(request, workers, device_model, avoid)
        if node is not None:
            return tuple(self._take(node, request, workers))
        if spread or workers > self.largest_room(request):
            return self._across_nodes(request, workers, device_model, avoid)
        return None

    def give_back(self, slots: Iterable[WorkerSlot], request: Request) -> None:
        """Free what `place` took; slots of nodes that are gone are forgotten."""
        for slot in slots:
            node = self.nodes.get(slot.node)
            if node is not None:
                before = node.whole_free
                node.give_back(slot, request)
                self._refile(node, before)

    def most_workers(self, request: Request) -> int:
        """The largest power of two of workers that an empty cluster could hold; 0: not even one."""
        if request not in self._most:
            by_model: dict[str, int] = {}
            for node in self.nodes.values():
                room = _unbounded(node.room(request, empty=True))
                by_model[node.device_model] = by_model.get(node.device_model, 0) + room
            most = max(by_model.values(), default=0)
            self._most[request] = 1 << (most.bit_length() - 1) if most else 0
        return self._most[request]

    def place_on(self, name: str, request: Request, workers: int) -> tuple[WorkerSlot, ...] | None:
        """Slots for `workers` more workers on this very node; None (and nothing taken) when they do not fit."""
        node = self.nodes.get(name)
        if node is None or not _has_room(node, request, workers):
            return None
        return tuple(self._take(node, request, workers))

    def room(self, request: Request) -> int:
        """How many trials of `k_min` workers fit into what is free."""
        return sum(_unbounded(node.room(request)) // request.k_min for node in self.nodes.values())

    def describe_largest(self, request: Request) -> str:
        """The pool in one line, for somebody whose request can never fit."""
        if not self.nodes:
            return "no node is up"
        best = max(self.nodes.values(), key=lambda n: (len(n.gpus), n.cpus, n.memory))
        return (
            f"{len(self.nodes)} nodes have {self.num_gpus} GPUs and {self.num_cpus} CPUs; the largest, {best.name}, "
            f"has {len(best.gpus)} GPUs, {best.cpus} CPUs and {number(best.memory)} GiB"
        )

    def validate(self, held: Iterable[tuple[Request, tuple[WorkerSlot, ...]]]) -> None:
        """Check that what is free and what is `held` are together what the nodes have; for tests."""
        for node in self.nodes.values():
            node.validate()
        fresh = {name: node.emptied() for name, node in self.nodes.items()}
        for request, slots in held:
            for slot in slots:
                if slot.node in fresh:
                    fresh[slot.node].claim(slot, request)
        for name, node in self.nodes.items():
            assert node.free_mask == fresh[name].free_mask, name
            assert node.parts == fresh[name].parts, name
            assert node.free_cpus == fresh[name].free_cpus, name
            assert node.free_memory == fresh[name].free_memory, name
            assert name in self._by_free[node.whole_free]

    def _take(self, node: NodeSpace, request: Request, workers: int) -> list[WorkerSlot]:
        before = node.whole_free
        slots = node.take(request, workers)
        self._refile(node, before)
        return slots

    def _refile(self, node: NodeSpace, before: int) -> None:
        now = node.whole_free
        if now != before:
            del self._by_free[before][node.name]
            self._by_free[now][node.name] = node

    def _best_fit(self, request: Request, workers: int, device_model: str, avoid: Collection[str]) -> NodeSpace | None:
        need = int(request.gpus) * workers if request.gpus >= 1 else 0
        if need >= len(self._by_free):
            return None
        for filed in self._by_free[need:]:
            for node in filed.values():
                wanted = not device_model or node.device_model == device_model
                if wanted and node.name not in avoid and _has_room(node, request, workers):
                    return node
        return None

    def _across_nodes(
        self, request: Request, workers: int, device_model: str, avoid: Collection[str]
    ) -> tuple[WorkerSlot, ...] | None:
        """The emptiest nodes of one model for a trial that no single node could hold even when empty."""
        if request.gpus < 1:
            return None
        by_model: dict[str, list[tuple[NodeSpace, int]]] = {}
        for filed in reversed(self._by_free):
            for node in filed.values():
                room = _unbounded(node.room(request))
                if room < 1 or node.name in avoid or (device_model and node.device_model != device_model):
                    continue
                chosen = by_model.setdefault(node.device_model, [])
                chosen.append((node, room))
                if sum(each for _, each in chosen) >= workers:
                    return self._take_from(chosen, request, workers)
        return None

    def largest_room(self, request: Request) -> int:
        """How many workers the largest node could hold when empty."""
        if request not in self._largest:
            rooms = (_unbounded(node.room(request, empty=True)) for node in self.nodes.values())
            self._largest[request] = max(rooms, default=0)
        return self._largest[request]

    def _forget_sizes(self) -> None:
        self._largest.clear()
        self._most.clear()

    def _take_from(self, chosen: list[tuple[NodeSpace, int]], request: Request, workers: int) -> tuple[WorkerSlot, ...]:
        slots: list[WorkerSlot] = []
        for node, room in chosen:
            slots += self._take(node, request, min(room, workers - len(slots)))
        return tuple(slots)


def _has_room(node: NodeSpace, request: Request, workers: int) -> bool:
    room = node.room(request)
    return room is None or room >= workers


def _unbounded(room: int | None) -> int:
    return 1 << 30 if room is None else room
