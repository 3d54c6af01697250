"""Rungs and brackets in exact integers: a logarithm in floating point loses a bracket (log_3 243 = 4.999...)."""

from __future__ import annotations


def milestones(min_epochs: int, max_epochs: int, reduction_factor: int) -> tuple[int, ...]:
    """The epochs of the rungs: `min_epochs * reduction_factor**k` below `max_epochs`, where trials finish.

    >>> milestones(1, 27, 3)
    (1, 3, 9)
    >>> milestones(2, 2, 3)
    ()
    """
    rungs = []
    epochs = min_epochs
    while epochs < max_epochs:
        rungs.append(epochs)
        epochs *= reduction_factor
    return tuple(rungs)


def bracket_count(min_epochs: int, max_epochs: int, reduction_factor: int) -> int:
    """Hyperband's number of brackets, floor(log_eta(max / min)) + 1.

    >>> bracket_count(1, 243, 3), bracket_count(1, 1000, 10)
    (6, 4)
    """
    count = 1
    while min_epochs * reduction_factor**count <= max_epochs:
        count += 1
    return count


def bracket_sizes(count: int, reduction_factor: int) -> tuple[int, ...]:
    """How many trials each bracket gets in a round: ceil(count * eta^s / (s + 1)), s = count - 1 ... 0, as in
    Li et al. 2018, Algorithm 1. Bracket 0 starts at the first rung and has the most.

    >>> bracket_sizes(4, 3)
    (27, 12, 6, 4)
    """
    return tuple(-(-count * reduction_factor**s // (s + 1)) for s in range(count - 1, -1, -1))
