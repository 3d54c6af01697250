"""A configuration as a sequence of tokens: one masked choice per decision, in the order of the walk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from ...errors import SpaceError
from ..configuration import Configuration
from ..sites import Decision
from ..space import Space
from ..values import Value, identity

EXACT_UP_TO = 64
"""Domains with at most so many values have a token each; larger ones are cut into equal bins."""

Token: TypeAlias = tuple[int, int]
"""(position of the decision among the unrolled ones, which of its options)."""
Choose: TypeAlias = Callable[[int, Sequence[bool]], int]


class TokenEncoding:
    """For policies that write a configuration token by token (a softmax per decision).

    Args:
        space: the space.
        bins: how many equal bins of [0, 1] stand for a domain that is continuous or has more than `EXACT_UP_TO` values.

    Attributes:
        columns: the path of every position.
        options: how many options every position has: the widths of the softmaxes.
    """

    def __init__(self, space: Space, *, bins: int = 16) -> None:
        if bins < 1:
            raise SpaceError(f"bins={bins}: at least 1 is needed.", "Give 1 or more.")
        self.space = space
        self._bins = bins
        decisions = space.all_decisions()
        self.columns: tuple[str, ...] = tuple(decision.path for decision in decisions)
        self.options: tuple[int, ...] = tuple(self._count(decision) for decision in decisions)
        self._position = {path: index for index, path in enumerate(self.columns)}

    def encode(self, config: Configuration) -> list[Token]:
        """The tokens that `decode` turns back into it (into the middle of its bin, where there are bins)."""
        return [
            (self._position[decision.path], self._option(decision, value))
            for decision, value in self.space.decisions_of(config)
        ]

    def decode(self, tokens: Sequence[Token]) -> Configuration:
        """The configuration of a sequence; rules are not looked at."""
        given = dict(tokens)
        return self.write(lambda position, mask: given[position])

    def write(self, choose: Choose) -> Configuration:
        """Ask for one option after the other: `choose(position, mask)` returns the index of an option.

        `mask[i]` is False for options that rules about this decision alone exclude.
        """

        def decide(decision: Decision) -> Value:
            position = self._position[decision.path]
            return self._value(decision, choose(position, self._mask(decision)))

        return self.space.build(decide)

    def _exact(self, decision: Decision) -> bool:
        size = decision.domain.size()
        return size is not None and size <= EXACT_UP_TO

    def _count(self, decision: Decision) -> int:
        return decision.domain.points(1).count if self._exact(decision) else self._bins

    def _value(self, decision: Decision, option: int) -> Value:
        if self._exact(decision):
            return decision.domain.points(1)[option]
        return decision.domain.from_unit((option + 0.5) / self._bins)

    def _option(self, decision: Decision, value: Value) -> int:
        if self._exact(decision):
            return decision.domain.place(value)
        return min(int(decision.domain.to_unit(value) * self._bins), self._bins - 1)

    def _mask(self, decision: Decision) -> Sequence[bool]:
        if decision.allowed is None or not self._exact(decision):
            return (True,) * self._count(decision)
        allowed = {identity(value) for value in decision.allowed}
        return tuple(identity(value) in allowed for value in decision.domain.points(1))
