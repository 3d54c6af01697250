"""Where workers sit: on one node if one could hold them, else on whole nodes.

- The workers of one trial sit on one node whenever an empty node could hold them; larger ones take the emptiest
  nodes of one device model.
- Among nodes, best fit: the fullest that still has room, so that whole nodes stay whole. Inside a node: `node_space`.
- Cordoned nodes keep what is on them and get nothing more.

Nodes are filed by how many GPUs they have free, so a placement in a pool of ten thousand GPUs costs some microseconds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from .node_space import NodeSpace
from .pool import number
from .port import NodeUp, Request, WorkerSlot


class Cluster:
    """All nodes that are up."""

    def __init__(self) -> None:
        self.nodes: dict[str, NodeSpace] = {}
        self._by_free: list[dict[str, NodeSpace]] = [{}]
        self.num_gpus = 0
        self.num_cpus = 0
        self.cordoned: dict[str, None] = {}
        self._models: dict[str, int] = {}
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
        if node.name not in self.cordoned:
            self._by_free[node.whole_free][node.name] = node
        self._models[node.device_model] = self._models.get(node.device_model, 0) + 1

    def remove(self, name: str) -> None:
        node = self.nodes.pop(name)
        self._forget_sizes()
        self._by_free[node.whole_free].pop(name, None)
        self._models[node.device_model] -= 1
        if not self._models[node.device_model]:
            del self._models[node.device_model]
        self.num_gpus -= len(node.gpus)
        self.num_cpus -= node.cpus

    @property
    def models(self) -> Collection[str]:
        """The device models of the nodes that are up, in order of arrival."""
        return self._models

    def model_of(self, name: str) -> str:
        """The device model of a node; empty when it is gone."""
        node = self.nodes.get(name)
        return node.device_model if node is not None else ""

    @property
    def capacity(self) -> int:
        """Devices that may be held now: GPUs if there are any, else CPUs; free ones of cordoned nodes do not count."""
        cordoned = [self.nodes[name] for name in self.cordoned if name in self.nodes]
        if self.num_gpus:
            return self.num_gpus - sum(node.whole_free for node in cordoned)
        return self.num_cpus - sum(node.free_cpus for node in cordoned)

    def cordon(self, name: str) -> None:
        """Place nothing more on the node; what is there stays."""
        if name not in self.cordoned:
            self.cordoned[name] = None
            if name in self.nodes:
                del self._by_free[self.nodes[name].whole_free][name]

    def uncordon(self, name: str) -> None:
        if name in self.cordoned:
            del self.cordoned[name]
            if name in self.nodes:
                self._by_free[self.nodes[name].whole_free][name] = self.nodes[name]

    @property
    def free_gpus(self) -> int:
        """Whole GPUs that nobody holds."""
        return sum(free * len(nodes) for free, nodes in enumerate(self._by_free))

    @property
    def free(self) -> int:
        """Devices that nobody holds and that may be taken: whole GPUs if there are any in the pool, else CPUs."""
        if self.num_gpus:
            return self.free_gpus
        return sum(node.free_cpus for node in self.nodes.values() if node.name not in self.cordoned)

    def emptiest(self) -> Iterator[NodeSpace]:
        """Nodes that serve, those with the most free devices first."""
        if not self.num_gpus:
            serving = (node for node in self.nodes.values() if node.name not in self.cordoned)
            yield from sorted(serving, key=lambda node: -node.free_cpus)
            return
        for filed in reversed(self._by_free):
            yield from filed.values()

    def may_serve(self, node: NodeSpace, request: Request, device_model: str) -> bool:
        """Whether the node could hold a worker when empty, is of this model (any if empty) and is not cordoned."""
        fits = node.room(request, empty=True) != 0
        return fits and node.name not in self.cordoned and device_model in ("", node.device_model)

    def free_outside(self, avoid: Collection[str]) -> int:
        """Devices that nobody holds on other nodes than these."""
        nodes = (self.nodes[name] for name in avoid if name in self.nodes and name not in self.cordoned)
        return self.free - sum(self.free_on(node) for node in nodes)

    def free_on(self, node: NodeSpace) -> int:
        """Devices of the node that nobody holds."""
        return node.whole_free if self.num_gpus else node.free_cpus

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

    def claim(self, slots: Iterable[WorkerSlot], request: Request) -> None:
        """Take exactly these slots, which are free; those of nodes that are gone are passed over."""
        for slot in slots:
            node = self.nodes.get(slot.node)
            if node is not None:
                before = node.whole_free
                node.claim(slot, request)
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
        if node is None or name in self.cordoned or not _has_room(node, request, workers):
            return None
        return tuple(self._take(node, request, workers))

    def fits(self, request: Request, workers: int, device_model: str, avoid: Collection[str]) -> bool:
        """Whether one node has room for the workers now."""
        return self._best_fit(request, workers, device_model, avoid) is not None

    def room(self, request: Request) -> int:
        """How many trials of `k_min` workers fit into what is free."""
        usable = (node for node in self.nodes.values() if node.name not in self.cordoned)
        return sum(_unbounded(node.room(request)) // request.k_min for node in usable)

    def describe_largest(self, request: Request) -> str:
        """The pool in one line, for somebody whose request can never fit."""
        if not self.nodes:
            return "no node is up"
        best = max(self.nodes.values(), key=lambda n: (len(n.gpus), n.cpus, n.memory))
        of_gpus = f" of {float(best.gpu_memory):.3g} GiB" if best.gpu_memory and request.gpu_memory_gib else ""
        return (
            f"{len(self.nodes)} nodes have {self.num_gpus} GPUs and {self.num_cpus} CPUs; the largest, {best.name}, "
            f"has {len(best.gpus)} GPUs{of_gpus}, {best.cpus} CPUs and {number(best.memory)} GiB"
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
            assert node.parts_memory == fresh[name].parts_memory, name
            assert node.free_cpus == fresh[name].free_cpus, name
            assert node.free_memory == fresh[name].free_memory, name
            assert (name in self._by_free[node.whole_free]) != (name in self.cordoned), name

    def _take(self, node: NodeSpace, request: Request, workers: int) -> list[WorkerSlot]:
        before = node.whole_free
        slots = node.take(request, workers)
        self._refile(node, before)
        return slots

    def _refile(self, node: NodeSpace, before: int) -> None:
        now = node.whole_free
        if now != before and node.name not in self.cordoned:
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
