"""How many devices a study can use: the sum of the largest useful sizes of everybody who could run."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from .within_study import Candidate


def demand(found: Sequence[Candidate], *, gain: float, capacity: int) -> int:
    """Devices of which every doubling adds at least `gain` a worker; at most `capacity`.

    New trials count at that size too, so that a study with a long queue asks for the whole pool; spare ones do not.
    """
    total = 0.0
    for candidate in found:
        trial = candidate.trial
        if candidate.spare:
            continue
        k = trial.k if candidate.kept else trial.speed.worth(trial.offer.request.k_min, gain)
        most = trial.most or k
        total += min(k, most) * float(trial.unit)
        if total >= capacity:
            return capacity
    return min(capacity, ceil(total))
