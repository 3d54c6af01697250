"""Flat features for trees: one block of columns for every unrolled path."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..configuration import Configuration
from ..listed_domains import Categorical
from ..sites import Decision
from ..space import Space
from ..values import Value

INACTIVE = -1.0


class ForestEncoding:
    """Columns for a random forest.

    Numbers and ordinals are one column in [0, 1] on their own scale (priors do not bend it), categories one column each
    (one-hot). A path that may be inactive has an activity column before its block (1 or 0), and its block is -1 where
    it is inactive.

    Attributes:
        columns: names, `path`, `path=category` and `path?` (activity).
    """

    def __init__(self, space: Space) -> None:
        self.space = space
        self._first: dict[str, int] = {}
        self._optional = frozenset(d.path for d in space.all_decisions() if d.optional)
        self._scales = {d.path: d.domain.unbent() for d in space.all_decisions()}
        names: list[str] = []
        for decision in space.all_decisions():
            if decision.path in self._optional:
                names.append(f"{decision.path}?")
            self._first[decision.path] = len(names)
            if isinstance(decision.domain, Categorical):
                names.extend(f"{decision.path}={value}" for value in decision.domain.values)
            else:
                names.append(decision.path)
        self.columns: tuple[str, ...] = tuple(names)

    def encode(self, configs: Sequence[Configuration]) -> np.ndarray:
        """Array of shape (configurations, columns)."""
        rows = np.full((len(configs), len(self.columns)), INACTIVE)
        activity = [first - 1 for path, first in self._first.items() if path in self._optional]
        rows[:, activity] = 0.0
        for row, config in zip(rows, configs, strict=True):
            for decision, value in self.space.decisions_of(config):
                first = self._first[decision.path]
                if decision.path in self._optional:
                    row[first - 1] = 1.0
                if isinstance(decision.domain, Categorical):
                    row[first : first + len(decision.domain.values)] = 0.0
                    row[first + decision.domain.index(value)] = 1.0
                else:
                    row[first] = self._scales[decision.path].to_unit(value)
        return rows

    def decode(self, row: np.ndarray) -> Configuration:
        """The configuration of a row; rules are not looked at. Exact but for the last digits of continuous numbers."""

        def decide(decision: Decision) -> Value:
            first = self._first[decision.path]
            if isinstance(decision.domain, Categorical):
                block = row[first : first + len(decision.domain.values)]
                return decision.domain.values[int(np.argmax(block))]
            return self._scales[decision.path].from_unit(min(max(float(row[first]), 0.0), 1.0))

        return self.space.build(decide)
