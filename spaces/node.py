"""What every node of a space can do, whatever it is."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .values import Json, Value

if TYPE_CHECKING:
    from .expressions import Variable
    from .rules import Rule
    from .sites import Site
    from .symbols import Symbol


class Node(ABC):
    """A node of the tree: a domain, `Constant`, `Choice`, `Repeat` or `Space`."""

    has_rules = False
    """Whether this node or anything below it carries a symbolic rule."""

    @abstractmethod
    def site(self, path: str, *, optional: bool) -> Site:
        """The node put at a path, which some configurations may not have: what the top-down walk steps on."""

    @abstractmethod
    def parse(self, obj: Value, path: str) -> Value:
        """The value that `obj` (plain values or their JSON form) stands for; rules are not looked at.

        Raises:
            SpaceError: it is not in the space; names the path, the value and what is allowed.
        """

    @abstractmethod
    def encode(self, value: Value) -> Json:
        """The JSON form of a value of this node; `parse` reads it back."""

    def canonical(self, value: Value) -> Json:
        """JSON that is equal for values that are the same trial; `encode` unless a node knows better."""
        return self.encode(value)

    @abstractmethod
    def size(self) -> int | None:
        """How many values there are, rules aside; None if infinitely many."""

    @abstractmethod
    def to_json(self) -> dict[str, Json]:
        """The node itself as JSON."""

    @abstractmethod
    def symbol(self, variable: Variable, scopes: Iterator[int]) -> Symbol:
        """What stands for this node inside the function of a rule; `scopes` numbers nested elements."""

    def holds(self, value: Value) -> bool:
        """Whether `value` breaks none of the rules at or below this node."""
        return True

    def shortfalls(self, value: Value, path: str) -> Iterator[tuple[str, Rule, float]]:
        """(path of the sub-space, rule, how far it is from holding) for every rule here; 0.0 means it holds."""
        return iter(())

    def has_defaults(self) -> bool:
        """Whether any leaf at or below this node was given a default."""
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and _text(self) == _text(other)

    def __hash__(self) -> int:
        return hash(_text(self))


def _text(node: Node) -> str:
    return json.dumps(node.to_json(), sort_keys=True)
