"""What the policy is compared with: the rules of widely used schedulers, on the same simulator.

- Static sizes, first come first served across studies, with the stopping form of asynchronous halving (Ray Tune's
  default): `FirstComePolicy` on requests of exactly k workers, see `fixed_size`.
- Equal share: Ray Tune's ResourceChangingScheduler with DistributeResources. Every live trial has one GPU while
  others wait for one; else free GPUs are spread evenly, in powers of two, the furthest trials first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..first_come import FirstComePolicy
from ..placement import Cluster
from ..port import (
    Action,
    NodeDown,
    NodeUp,
    PoolEvent,
    Request,
    Resize,
    Start,
    TrialEnded,
    TrialOffered,
    TrialReleased,
    TrialResized,
    WorkerSlot,
)
from .engine import Decide

TrialKey = tuple[str, int]


def fixed_size(workers: int) -> Decide:
    """First come, first served; every trial runs on exactly `workers` workers (fewer if it cannot use so many)."""
    policy = FirstComePolicy()

    def decide(events: Sequence[PoolEvent]) -> list[Action]:
        actions: list[Action] = []
        for event in events:
            if isinstance(event, TrialOffered):
                k = min(workers, event.request.k_max)
                event = replace(event, request=replace(event.request, k_min=k, k_max=k))
            actions += [_with_nodes(action) for action in policy.step(event)]
        return actions

    return decide


class EqualShare:
    """Every live trial the same power of two of workers; pass `EqualShare().steps` to a simulation."""

    def __init__(self) -> None:
        self._cluster = Cluster()
        self._waiting: dict[TrialKey, TrialOffered] = {}
        self._live: dict[TrialKey, TrialOffered] = {}
        self._slots: dict[TrialKey, tuple[WorkerSlot, ...]] = {}
        self._leaving: dict[TrialKey, tuple[WorkerSlot, ...]] = {}
        self._resizes: dict[TrialKey, int] = {}

    def steps(self, events: Sequence[PoolEvent]) -> list[Action]:
        """Take several events of one moment in, then share the pool anew."""
        material = False
        for event in events:
            material |= self._take_in(event)
        return self._share() if material else []

    def _take_in(self, event: PoolEvent) -> bool:
        match event:
            case NodeUp():
                self._cluster.add(event)
            case NodeDown():
                self._cluster.remove(event.node)
            case TrialOffered():
                self._waiting[event.study, event.number] = event
            case TrialReleased():
                key = (event.study, event.number)
                offer = self._live.pop(key, None)
                if offer is not None:
                    self._cluster.give_back(self._slots.pop(key) + self._leaving.pop(key, ()), offer.request)
            case TrialEnded():
                self._waiting.pop((event.study, event.number), None)
            case TrialResized():
                key = (event.study, event.number)
                if event.resize == self._resizes.get(key):
                    self._cluster.give_back(self._leaving.pop(key, ()), self._live[key].request)
            case _:
                return False
        return True

    def _share(self) -> list[Action]:
        devices = self._cluster.num_gpus
        entering = list(self._waiting.values())[: max(0, devices - len(self._live))]
        everybody = [*self._live.items(), *(((o.study, o.number), o) for o in entering)]
        if not everybody:
            return []
        each = 1 << (max(1, devices // len(everybody)).bit_length() - 1)
        workers = {key: max(o.request.k_min, min(each, o.request.k_max)) for key, o in everybody}
        free = devices - sum(workers.values())
        for key, offer in sorted(everybody, key=lambda entry: (-entry[1].epochs_done, entry[0])):
            if 2 * workers[key] <= offer.request.k_max and free >= workers[key]:
                free -= workers[key]
                workers[key] *= 2
        actions: list[Action] = []
        order = sorted(everybody, key=lambda entry: workers[entry[0]] - len(self._slots.get(entry[0], ())))
        for key, offer in order:
            held = self._slots.get(key, ())
            if key in self._leaving or workers[key] == len(held):
                continue
            actions += self._start(offer, workers[key]) if not held else self._resize(key, offer, workers[key])
        return actions

    def _start(self, offer: TrialOffered, workers: int) -> list[Action]:
        slots = self._place(offer.request, workers)
        if slots is None:
            return []
        key = (offer.study, offer.number)
        del self._waiting[key]
        self._live[key], self._slots[key] = offer, slots
        return [
            Start(
                study=offer.study,
                number=offer.number,
                generation=offer.generation,
                reason="equal share",
                node=slots[0].node,
                workers=slots,
            )
        ]

    def _resize(self, key: TrialKey, offer: TrialOffered, workers: int) -> list[Action]:
        held = self._slots[key]
        if workers > len(held):
            more = self._place(offer.request, workers - len(held))
            if more is None:
                return []
            self._slots[key] = held + more
        else:
            self._slots[key], self._leaving[key] = held[:workers], held[workers:]
        self._resizes[key] = self._resizes.get(key, 0) + 1
        return [
            Resize(
                study=key[0],
                number=key[1],
                generation=offer.generation,
                reason="equal share",
                resize=self._resizes[key],
                workers=self._slots[key],
            )
        ]

    def _place(self, request: Request, workers: int) -> tuple[WorkerSlot, ...] | None:
        return self._cluster.place(request, workers) or self._cluster.place(request, workers, spread=True)


def _with_nodes(action: Action) -> Action:
    if not isinstance(action, Start):
        return action
    return replace(action, workers=tuple(replace(slot, node=action.node) for slot in action.workers))
