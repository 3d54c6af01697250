"""What each study is owed of the pool, in whole devices.

Classes in strict order of priority; inside a class weighted max-min (see `fair_shares`). Every study that wants
anything is owed its first device before anybody is owed a second one, whatever its class. Devices that a study would
use with little effect count as if its weight were smaller, so they go to others as long as those use them well.

One more device, or more weight for a study, never costs that study a device: each rule is an order in which devices are
handed out, and the order does not depend on how many there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .fair_shares import max_min_shares


@dataclass(frozen=True, slots=True)
class Wants:
    """What a study can use.

    Attributes:
        priority: its class.
        weight: above 0.
        efficient: devices that it uses well.
        demand: devices that help it at all.
    """

    priority: int
    weight: float
    efficient: int
    demand: int


def entitled(capacity: int, studies: Sequence[Wants], *, protected: float) -> list[int]:
    """The devices that each study is owed.

    Args:
        capacity: devices of the pool.
        studies: in order of arrival, which breaks ties.
        protected: in (0, 1]; a device that is not used well counts as 1 / protected devices.

    >>> entitled(12, [Wants(0, 1.0, 4, 12), Wants(0, 1.0, 12, 12)], protected=0.8)
    [5, 7]
    >>> entitled(6, [Wants(0, 1.0, 9, 9), Wants(1, 1.0, 4, 4)], protected=0.8)
    [2, 4]
    """
    left = capacity
    floors = [0] * len(studies)
    for index in sorted(range(len(studies)), key=lambda i: (-studies[i].priority, -studies[i].weight)):
        floors[index] = min(1, left, studies[index].demand)
        left -= floors[index]
    shares = list(floors)
    for priority in sorted({study.priority for study in studies}, reverse=True):
        members = [index for index, study in enumerate(studies) if study.priority == priority]
        given = [floors[index] for index in members]
        dealt = max_min_shares(
            left + sum(given),
            [studies[index].weight for index in members],
            [studies[index].demand for index in members],
            given,
            efficient=[studies[index].efficient for index in members],
            protected=protected,
        )
        left -= sum(dealt) - sum(given)
        for index, share in zip(members, dealt, strict=True):
            shares[index] = share
    return shares
