"""The pool: what every node has, what is free of it, and where the workers of one trial fit.

All sums are exact (`Fraction`), so that ten trials of 0.1 GPU fill one GPU and the eleventh waits. A trial
sits on one node. A worker takes whole GPUs, or a share of a single one: shares go to the fullest GPU that
still has room (best fit), which keeps whole GPUs free for those that need them. Memory is GiB per worker,
of the node's main memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

from .port import NodeUp, Request, WorkerSlot

WHOLE = Fraction(1)


@dataclass(slots=True)
class Node:
    """One node's capacity and what is free of it now."""

    name: str
    gpus: tuple[str, ...]
    cpus: int
    memory_gib: Fraction
    device_model: str
    free_gpus: dict[str, Fraction] = field(default_factory=dict)
    free_cpus: int = 0
    free_memory_gib: Fraction = Fraction(0)

    @classmethod
    def offered(cls, up: NodeUp) -> Node:
        memory = Fraction(up.memory_gib)
        return cls(
            name=up.node,
            gpus=up.gpus,
            cpus=up.cpus,
            memory_gib=memory,
            device_model=up.device_model,
            free_gpus=dict.fromkeys(up.gpus, WHOLE),
            free_cpus=up.cpus,
            free_memory_gib=memory,
        )

    def empty(self) -> Node:
        """The same node with nothing reserved: what could ever fit here."""
        return Node.offered(
            NodeUp(
                at=0.0,
                node=self.name,
                gpus=self.gpus,
                cpus=self.cpus,
                memory_gib=float(self.memory_gib),
                device_model=self.device_model,
            )
        )

    def room_for_workers(self, request: Request) -> int | None:
        """How many workers of `request` fit into what is free; None: any number (it asks for nothing)."""
        bounds: list[int] = []
        if request.gpus >= 1:
            whole = sum(1 for free in self.free_gpus.values() if free == WHOLE)
            bounds.append(whole // int(request.gpus))
        elif request.gpus > 0:
            bounds.append(sum(int(free / request.gpus) for free in self.free_gpus.values()))
        if request.cpus:
            bounds.append(self.free_cpus // request.cpus)
        if request.memory_gib:
            bounds.append(int(self.free_memory_gib / Fraction(request.memory_gib)))
        return min(bounds) if bounds else None

    def place(self, request: Request, k: int) -> tuple[WorkerSlot, ...] | None:
        """Slots for `k` workers, reserved at once; None (and nothing reserved) when they do not fit."""
        room = self.room_for_workers(request)
        if room is not None and room < k:
            return None
        slots = tuple(self._place_worker(request) for _ in range(k))
        return slots

    def _place_worker(self, request: Request) -> WorkerSlot:
        taken: tuple[str, ...] = ()
        if request.gpus >= 1:
            whole = [gpu for gpu, free in self.free_gpus.items() if free == WHOLE]
            taken = tuple(whole[: int(request.gpus)])
        elif request.gpus > 0:
            fitting = [(free, gpu) for gpu, free in self.free_gpus.items() if free >= request.gpus]
            taken = (min(fitting, key=lambda pair: pair[0])[1],)  # `min` keeps the node's own order in ties
        slot = WorkerSlot(gpus=taken, share=min(request.gpus, WHOLE), cpus=request.cpus)
        self._move(slot, request.memory_gib, sign=-1)
        return slot

    def give_back(self, slots: Iterable[WorkerSlot], memory_gib: float | None) -> None:
        """Free what `place` reserved."""
        for slot in slots:
            self._move(slot, memory_gib, sign=1)

    def _move(self, slot: WorkerSlot, memory_gib: float | None, *, sign: int) -> None:
        for gpu in slot.gpus:
            self.free_gpus[gpu] += sign * slot.share
        self.free_cpus += sign * slot.cpus
        self.free_memory_gib += sign * Fraction(memory_gib or 0)

    def describe(self, request: Request) -> str:
        """What is free of the kinds that `request` asks for, e.g. "0.5 of 8 GPUs, 3 of 4 CPUs"."""
        parts: list[str] = []
        if request.gpus:
            free = sum(self.free_gpus.values(), Fraction(0))
            parts.append(f"{number(free)} of {len(self.gpus)} GPUs")
        if request.cpus:
            parts.append(f"{self.free_cpus} of {self.cpus} CPUs")
        if request.memory_gib:
            parts.append(f"{rounded(float(self.free_memory_gib))} of {rounded(float(self.memory_gib))} GiB")
        return ", ".join(parts) or "everything"


def number(value: Fraction) -> str:
    """An exact number as people write it: 3, 0.25, 1/3."""
    if value.denominator == 1:
        return str(value.numerator)
    text = f"{float(value):.6g}"
    return text if Fraction(text) == value else str(value)


def rounded(value: float) -> str:
    """A measured quantity as people write it: at most four significant digits, never an exponent.

    >>> [rounded(value) for value in (1 / 60, 2.0, 1024.0, 12345.6, 3e-5)]
    ['0.01667', '2', '1024', '12350', '0.00003']
    """
    return f"{Decimal(f'{value:.4g}'):f}"


def describe(request: Request) -> str:
    """What a request asks for at its smallest size, e.g. "2 workers of 0.25 GPU"."""
    parts = []
    if request.gpus:
        parts.append(f"{number(request.gpus)} GPU" + ("s" if request.gpus > 1 else ""))
    if request.cpus:
        parts.append(f"{request.cpus} CPU" + ("s" if request.cpus > 1 else ""))
    if request.memory_gib:
        parts.append(f"{rounded(request.memory_gib)} GiB")
    if request.gpu_memory_gib:
        parts.append(f"{rounded(request.gpu_memory_gib)} GiB on each GPU")
    what = " and ".join(parts) or "nothing"
    return what if request.k_min == 1 else f"{request.k_min} workers of {what}"
