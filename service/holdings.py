"""What the running trials of a study hold of the pool, and for how long."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..scheduler.port import Resize, Start, WorkerSlot
from ..trial_runner.messages import Resized, Slot


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """One trial's devices.

    `slots` are those of the workers that it runs on; `both` are all that are reserved for it, during a resize those of
    before and after it. `order` numbers the resize that is not answered yet (0: none). `gpu_s` are its GPU-seconds
    until `counted_at`. `losses` counts how often it has lost workers; `loss_untold`: the policy does not know of the
    last time yet.
    """

    generation: int
    since: float
    slots: tuple[WorkerSlot, ...]
    both: tuple[WorkerSlot, ...]
    order: int = 0
    gpu_s: float = 0.0
    counted_at: float = 0.0
    losses: int = 0
    loss_untold: bool = False

    def gpu_s_at(self, at: float) -> float:
        """GPU-seconds that it has held until then; a shared GPU counts by its share."""
        gpus = sum(len(slot.gpus) * float(slot.share) for slot in self.both)
        return self.gpu_s + max(at - self.counted_at, 0.0) * gpus

    def until(self, at: float, **changes: Any) -> Holding:
        """The same with its time counted until then, and with these changes."""
        return replace(self, gpu_s=self.gpu_s_at(at), counted_at=at, **changes)


class Holdings:
    """The devices of a study's running trials, by number."""

    def __init__(self) -> None:
        self._held: dict[int, Holding] = {}

    def of(self, number: int, generation: int) -> Holding | None:
        """What this generation of the trial holds; None when it holds nothing (any more)."""
        held = self._held.get(number)
        return held if held is not None and held.generation == generation else None

    @property
    def by_number(self) -> Mapping[int, Holding]:
        """Everybody who holds devices."""
        return self._held

    def started(self, start: Start, at: float) -> None:
        """From here on the trial holds its devices."""
        slots = start.workers
        self._held[start.number] = Holding(
            generation=start.generation, since=at, slots=slots, both=slots, counted_at=at
        )

    def adopted(self, number: int, generation: int, slots: Sequence[WorkerSlot], at: float) -> None:
        """The trial has gone on without a head; what it held before `at` nobody has counted."""
        held = tuple(slots)
        self._held[number] = Holding(generation=generation, since=at, slots=held, both=held, counted_at=at)

    def resizing(self, resize: Resize, at: float) -> None:
        """Until the order has been answered the trial holds what it had and what it will have."""
        held = self.of(resize.number, resize.generation)
        if held is not None:
            both = (*held.slots, *_without(resize.workers, held.slots))
            self._held[resize.number] = held.until(at, both=both, order=resize.resize)

    def resized(self, event: Resized, at: float) -> Holding | None:
        """The trial runs on the slots of `event`. What it holds now, None when it holds nothing (any more).

        `loss_untold` says whether the policy is to hear of a loss: one that comes while an order is under way is kept
        back until the order has been answered, for the answer says what the trial has in the end.
        """
        held = self.of(event.number, event.generation)
        if held is None:
            return None
        slots = _matching(event.slots, held.both)
        answered = event.resize == held.order
        if event.resize == 0 or (not event.ok and len(slots) < len(held.slots)):
            held = replace(held, losses=held.losses + 1, loss_untold=True)
        elif event.ok:
            held = replace(held, loss_untold=False)
        order = 0 if answered else held.order
        held = held.until(at, slots=slots, both=held.both if order else slots, order=order)
        tells = not order
        self._held[event.number] = replace(held, loss_untold=held.loss_untold and not tells)
        return replace(held, loss_untold=held.loss_untold and tells)

    def ended(self, number: int, generation: int, at: float) -> tuple[float, float]:
        """The trial holds nothing any more. (seconds, GPU-seconds) of this generation."""
        held = self.of(number, generation)
        if held is None:
            return 0.0, 0.0
        del self._held[number]
        return max(at - held.since, 0.0), held.gpu_s_at(at)


def as_slot(slot: WorkerSlot) -> Slot:
    """A worker's place as the runner is told of it."""
    return Slot(gpus=slot.gpus, gpu_share=float(slot.share), cpus=slot.cpus, node=slot.node)


def _matching(said: Sequence[Slot], held: Sequence[WorkerSlot]) -> tuple[WorkerSlot, ...]:
    """The pool's slots that a runner speaks of."""
    left = list(held)
    slots = []
    for slot in said:
        match = next((candidate for candidate in left if as_slot(candidate) == slot), None)
        if match is not None:
            left.remove(match)
            slots.append(match)
    return tuple(slots)


def _without(slots: Sequence[WorkerSlot], taken: Sequence[WorkerSlot]) -> list[WorkerSlot]:
    """`slots` without as many equal ones as `taken` has."""
    left = list(taken)
    rest = []
    for slot in slots:
        if slot in left:
            left.remove(slot)
        else:
            rest.append(slot)
    return rest
