"""Sums in a fixed order: the same bits however the summands are spread over workers.

Floating-point addition is not associative, so the order is part of the result. Leaf i of a tree over V = 2^m leaves is
added to its neighbour first, then pairs to pairs. A worker that owns V/k consecutive leaves computes a whole subtree
alone; the group goes on from there. A leaf may be absent (None): the sum of x and an absent leaf is x, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

T = TypeVar("T")


class TreeSum(Generic[T]):
    """Adds leaves as they arrive, keeping at most log2(leaves) + 1 partial sums.

    Args:
        add: the sum of two values, the left one first; may reuse the left one's memory.

    >>> tree = TreeSum(lambda left, right: f"({left}+{right})")
    >>> for leaf in ["a", "b", None, "d", "e", None]:
    ...     tree.push(leaf)
    >>> tree.total()
    '(((a+b)+d)+e)'
    """

    def __init__(self, add: Callable[[T, T], T]) -> None:
        self._add = add
        self._partial: list[tuple[int, T | None]] = []  # (level, sum), levels falling

    def push(self, leaf: T | None, level: int = 0) -> None:
        """Add the next leaf, or the sum of the next 2^level leaves, which begin at a multiple of that."""
        value = leaf
        while self._partial and self._partial[-1][0] == level:
            _, left = self._partial.pop()
            level, value = level + 1, self._join(left, value)
        self._partial.append((level, value))

    def total(self) -> T | None:
        """The sum; missing leaves at the end count as absent. None when every leaf was."""
        value: T | None = None
        for _, left in reversed(self._partial):
            value = self._join(left, value)
        return value

    def _join(self, left: T | None, right: T | None) -> T | None:
        if left is None:
            return right
        return left if right is None else self._add(left, right)


def tree_sum(values: Iterable[float]) -> float:
    """The fixed-tree sum of numbers, 0.0 when there are none.

    >>> tree_sum([1e16, 1.0, -1e16, 1.0])  # from left to right it would be 1.0
    0.0
    """
    tree: TreeSum[float] = TreeSum(lambda left, right: left + right)
    for value in values:
        tree.push(value)
    total = tree.total()
    return 0.0 if total is None else total
