"""What a head gone wild draws at random: nodes, requests, studies; and what it knows of a trial."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import TypedDict

from ..port import Ladder, NodeUp, Request, StudyAdded, WorkerSlot

MILESTONES = (1, 3, 9)

SHARES = (Fraction(1), Fraction(1), Fraction(1), Fraction(2), Fraction(1, 2), Fraction(1, 10))


@dataclass(slots=True)
class Known:
    """What the head knows of a trial: offered, starting, running, at_rung, resizing, pausing, stopping, stopped, away.

    `workers` are those of the last order, `former` those before a resize that is not confirmed yet.
    """

    request: Request
    generation: int = 0
    state: str = "away"
    rung: int = 0
    epochs: float = 0.0
    workers: tuple[WorkerSlot, ...] = ()
    former: tuple[WorkerSlot, ...] = ()
    resize: int = 0
    losses: int = 0
    can_pause: bool = True


class About(TypedDict):
    """Whom an event is about."""

    at: float
    study: str
    number: int
    generation: int


def a_node(random: Random, name: str) -> NodeUp:
    count = random.choice((1, 2, 4, 8))
    return NodeUp(
        at=0.0,
        node=name,
        gpus=tuple(f"{name}.{g}" for g in range(count)),
        cpus=4 * count,
        memory_gib=16.0 * count,
        device_model=random.choice(("a100", "a100", "t4")),
        gpu_memory_gib=random.choice((0.0, 16.0)),
        speed=random.choice((1.0, 0.5)),
    )


def a_request(random: Random, *, gangs: bool, shares: bool) -> Request:
    k_min = random.choice((1, 1, 1, 2)) if gangs else 1
    return Request(
        k_min=k_min,
        k_max=k_min * random.choice((1, 2, 4)),
        gpus=random.choice(SHARES) if shares else Fraction(1),
        cpus=1,
        memory_gib=random.choice((None, None, 1.5)) if shares else None,
        gpu_memory_gib=random.choice((None, None, 3.0, 10.0)) if shares else None,
    )


def a_study(random: Random, name: str, at: float, *, budgets: bool) -> StudyAdded:
    ladder = Ladder(milestones=MILESTONES, eta=3, planned=random.randint(3, 30), lower_is_better=True)
    return StudyAdded(
        at=at,
        study=name,
        weight=random.choice((1.0, 2.0, 0.5)),
        priority=random.choice((0, 0, 1)),
        ladders=(ladder,),
        gpu_hours=random.choice((None, None, 0.5)) if budgets else None,
    )
