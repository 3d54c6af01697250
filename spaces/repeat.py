"""A number of copies of one node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..errors import SpaceError
from .int_domain import Int
from .node import Node
from .reads import Reads
from .sites import RepeatSite
from .symbols import RepeatSymbol, Symbol
from .values import Json, Value, shown

if TYPE_CHECKING:
    from .expressions import Variable
    from .rules import Rule
    from .space import Spacelike


class Repeat(Node, Reads[tuple[Value, ...]]):
    """From `min` to `max` copies of a node, each decided for itself; the value is a tuple.

    >>> Repeat(Int(1, 3), 1, 2).size()
    12

    Raises:
        SpaceError: counts that cannot be, or an element that is not a node.
    """

    __slots__ = ("counts", "has_rules", "max", "min", "node")

    def __init__(self, node: Spacelike, min: int, max: int) -> None:
        from .space import as_space

        node = node if isinstance(node, Node) else as_space(node)
        self.counts = Int(min, max)
        if self.counts.low < 0 or self.counts.high < 1:
            raise SpaceError(f"Repeat(min={min}, max={max}): needs 0 <= min and 1 <= max.", "Raise the counts.")
        self.node = node
        self.min, self.max = self.counts.low, self.counts.high
        self.has_rules = node.has_rules

    def site(self, path: str, *, optional: bool) -> RepeatSite:
        return RepeatSite(path, self, optional=optional)

    def parse(self, obj: Value, path: str) -> tuple[Value, ...]:
        if not isinstance(obj, (list, tuple)) or not self.counts.contains(len(obj)):
            got = f"{len(obj)} elements" if isinstance(obj, (list, tuple)) else shown(obj)
            raise SpaceError(
                f"{path or 'The value'}: got {got}; allowed: a list of {self.min} to {self.max} elements.",
                "Change the list, or widen the space.",
            )
        return tuple(self.node.parse(item, f"{path}[{index}]") for index, item in enumerate(obj))

    def encode(self, value: Value) -> Json:
        return [self.node.encode(item) for item in value]

    def canonical(self, value: Value) -> Json:
        return [self.node.canonical(item) for item in value]

    def size(self) -> int | None:
        one = self.node.size()
        if one is None:
            return None
        return sum(int(one**count) for count in range(self.min, self.max + 1))

    def to_json(self) -> dict[str, Json]:
        return {"type": "repeat", "node": self.node.to_json(), "min": self.min, "max": self.max}

    def symbol(self, variable: Variable, scopes: Iterator[int]) -> Symbol:
        return RepeatSymbol(variable, self.node, scopes)

    def holds(self, value: Value) -> bool:
        return not self.has_rules or all(self.node.holds(item) for item in value)

    def shortfalls(self, value: Value, path: str) -> Iterator[tuple[str, Rule, float]]:
        if self.has_rules:
            for index, item in enumerate(value):
                yield from self.node.shortfalls(item, f"{path}[{index}]")

    def has_defaults(self) -> bool:
        return self.node.has_defaults()

    def __repr__(self) -> str:
        return f"Repeat({self.node!r}, {self.min}, {self.max})"
