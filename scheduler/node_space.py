"""One node: exact shares of GPUs, and blocks of whole ones that keep larger blocks free.

- Among the GPUs of a node, the aligned block (positions 0-1, 2-3, 0-3, ...) whose buddy is already in use, so that
  larger aligned blocks stay free (Knowlton 1965, the buddy system). A node never refuses for want of alignment: any
  free GPUs serve.
- Shares of a GPU are exact fractions and go to the fullest GPU that has room, for the share and for the memory: all
  that its workers are thought to need is at most `USABLE_MEMORY` of it.

Free whole GPUs are bits of an integer.
"""

from __future__ import annotations

from fractions import Fraction

from .port import NodeUp, Request, WorkerSlot

WHOLE = Fraction(1)

USABLE_MEMORY = Fraction(9, 10)
"""The part of a shared GPU's memory that is promised; every process on it needs some for itself, and peaks coincide."""


class NodeSpace:
    """One node: what it has and what is free of it."""

    __slots__ = (
        "cpus",
        "device_model",
        "free_cpus",
        "free_mask",
        "free_memory",
        "gpu_memory",
        "gpus",
        "memory",
        "name",
        "parts",
        "parts_memory",
    )

    def __init__(self, up: NodeUp) -> None:
        self.name = up.node
        self.gpus = up.gpus
        self.cpus = self.free_cpus = up.cpus
        self.memory = self.free_memory = Fraction(up.memory_gib)
        self.device_model = up.device_model
        self.free_mask = (1 << len(up.gpus)) - 1
        self.gpu_memory = Fraction(up.gpu_memory_gib)
        self.parts: dict[int, Fraction] = {}
        self.parts_memory: dict[int, Fraction] = {}

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
            each = int(share) if self._needed(request) <= self.gpu_memory else 1 << 30
            bounds.append((len(self.gpus) if empty else self.whole_free) // each)
        elif share > 0:
            whole = len(self.gpus) if empty else self.whole_free
            usable = USABLE_MEMORY * self.gpu_memory
            broken = () if empty else self.parts.items()
            sharing = sum(self._sharing(request, free, self.parts_memory[i]) for i, free in broken)
            bounds.append(whole * self._sharing(request, WHOLE, usable) + sharing)
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
            groups = [(self._part_of_gpu(share, self._needed(request)),) for _ in range(workers)]
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
            self.parts_memory[i] += self._needed(request)
            if self.parts[i] == 1:
                del self.parts[i], self.parts_memory[i]
                self.free_mask |= 1 << i

    def promise_anew(self, slot: WorkerSlot, before: Request, now: Request) -> None:
        """A worker needs other memory than it was promised. If it is more than there is, what is free is negative."""
        if slot.share < 1:
            for gpu in slot.gpus:
                self.parts_memory[self.gpus.index(gpu)] += self._needed(before) - self._needed(now)

    def overfull(self) -> list[str]:
        """GPUs whose workers together need more memory than may be promised."""
        return [self.gpus[i] for i, free in self.parts_memory.items() if free < 0]

    def emptied(self) -> NodeSpace:
        """The same node with nobody on it."""
        up = NodeUp(
            at=0.0,
            node=self.name,
            gpus=self.gpus,
            cpus=self.cpus,
            memory_gib=float(self.memory),
            device_model=self.device_model,
            gpu_memory_gib=float(self.gpu_memory),
        )
        return NodeSpace(up)

    def claim(self, slot: WorkerSlot, request: Request) -> None:
        """Take exactly this slot, which must be free."""
        self.free_cpus -= slot.cpus
        self.free_memory -= Fraction(request.memory_gib or 0)
        for gpu in slot.gpus:
            i = self.gpus.index(gpu)
            free = self.parts.get(i, WHOLE if self.free_mask >> i & 1 else Fraction(0))
            assert free >= slot.share, f"{gpu} of {self.name} is promised twice"
            self.free_mask &= ~(1 << i)
            if slot.share != 1:
                self.parts[i] = free - slot.share
                self.parts_memory.setdefault(i, USABLE_MEMORY * self.gpu_memory)
                self.parts_memory[i] -= self._needed(request)

    def validate(self) -> None:
        assert self.free_cpus >= 0, self.name
        assert self.free_memory >= 0, self.name
        assert all(0 <= free < 1 for free in self.parts.values()), (self.name, self.parts)
        assert set(self.parts_memory) == set(self.parts), (self.name, self.parts_memory)

    def _needed(self, request: Request) -> Fraction:
        """Memory of one GPU that a worker is promised, in GiB; 0 where the memory of GPUs is not known.

        Whoever says nothing is promised of the memory what it has of the GPU.
        """
        if not self.gpu_memory:
            return Fraction(0)
        if request.gpu_memory_gib is not None:
            return Fraction(request.gpu_memory_gib)
        return request.gpus * USABLE_MEMORY * self.gpu_memory if request.gpus < 1 else Fraction(0)

    def _sharing(self, request: Request, free: Fraction, free_memory: Fraction) -> int:
        """How many workers of less than a GPU each fit into what is free of one."""
        needed = self._needed(request)
        fitting = int(free / request.gpus)
        return max(0, min(fitting, int(free_memory / needed))) if needed else fitting

    def _part_of_gpu(self, share: Fraction, memory: Fraction) -> str:
        fitting = [(free, i) for i, free in self.parts.items() if free >= share and self.parts_memory[i] >= memory]
        if fitting:
            _, i = min(fitting)
        else:
            (i,) = self._aligned(1)
            self.free_mask &= ~(1 << i)
            self.parts[i], self.parts_memory[i] = WHOLE, USABLE_MEMORY * self.gpu_memory
        self.parts[i] -= share
        self.parts_memory[i] -= memory
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
