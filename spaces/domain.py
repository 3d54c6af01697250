"""The leaves of a space: something to decide, with its own distribution."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..errors import SpaceError
from .node import Node
from .sites import LeafSite
from .symbols import Symbol, Term
from .values import Json, Value, shown

if TYPE_CHECKING:
    from .expressions import Variable


class Domain(Node):
    """A leaf domain.

    `to_unit` and `from_unit` are the one bridge to samplers and models: a uniform `u` in [0, 1] gives the
    domain's own distribution (log for log, equal bins for steps and categories).
    """

    __slots__ = ()

    @abstractmethod
    def from_unit(self, u: float) -> Value:
        """The value at `u` in [0, 1]."""

    @abstractmethod
    def to_unit(self, value: Value) -> float:
        """The place of a value of this domain in [0, 1]; the middle of its bin where there are bins."""

    @abstractmethod
    def points(self, count: int) -> Points:
        """Every value in order, or `count` values evenly spaced in [0, 1] where there are infinitely many."""

    @abstractmethod
    def place(self, value: Value) -> int:
        """The index of a value among the `points` of a finite domain."""

    @abstractmethod
    def coerce(self, value: Value) -> Value:
        """The domain's own form of `value` (plain, exact type).

        Raises:
            ValueError: it is not in the domain.
        """

    @abstractmethod
    def allowed(self) -> str:
        """What is allowed, for messages."""

    @abstractmethod
    def initial(self) -> Value:
        """The default, or where none was given the middle (of categories, the first)."""

    def sample(self, rng: np.random.Generator) -> Value:
        """One draw from the domain's own distribution."""
        return self.from_unit(rng.random())

    def unbent(self) -> Domain:
        """The same domain without a prior: what a model sees, so that evidence can outweigh a belief."""
        return self

    def log_prior(self, places: np.ndarray) -> np.ndarray:
        """How much a person believes in values: the logarithm, 0 for those believed best; all 0 without a prior.

        Args:
            places: where the values are in the [0, 1] of `unbent()`.
        """
        return np.zeros_like(places)

    def contains(self, value: Value) -> bool:
        """Whether `value` is in the domain, its type included."""
        try:
            self.coerce(value)
        except ValueError:
            return False
        return True

    def site(self, path: str, *, optional: bool) -> LeafSite:
        return LeafSite(path, self, optional=optional)

    def parse(self, obj: Value, path: str) -> Value:
        try:
            return self.coerce(obj)
        except ValueError:
            raise SpaceError(
                f"{path or 'The value'} = {shown(obj)} ({type(obj).__name__}) is not allowed; "
                f"allowed: {self.allowed()}.",
                "Change the value, or widen the space.",
            ) from None

    def encode(self, value: Value) -> Json:
        return value

    def symbol(self, variable: Variable, scopes: Iterator[int]) -> Symbol:
        return Term(variable, self)


class Points:
    """A sequence whose items are computed when asked for, so that a huge domain costs nothing.

    `count` is an attribute because `len` cannot exceed 2**63.
    """

    __slots__ = ("_at", "count")

    def __init__(self, count: int, at: Callable[[int], Value]) -> None:
        self.count = count
        self._at = at

    def __getitem__(self, index: int) -> Value:
        return self._at(index)

    def __iter__(self) -> Iterator[Value]:
        return (self._at(index) for index in range(self.count))
