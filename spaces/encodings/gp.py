"""Inputs and kernel of a Gaussian process over a conditional space."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..configuration import Configuration
from ..listed_domains import Categorical
from ..sites import Decision
from ..space import Space
from ..values import Value

_IMPUTED = 0.5
_ABSENT = -1.0


class GpEncoding:
    """One column for every unrolled path, and a product kernel over them.

    A number is its place in [0, 1] (Matérn 5/2 in it), a category its index (exp(-[different] / length)). Where a path
    is inactive a number is imputed at 0.5 and a category is one more category, as in Levesque et al., IJCNN 2017. The
    more obvious "factor 1 unless both are active" is no kernel: with k(a, b) = 1/2 for two active points and 1 to an
    inactive one, the 3 x 3 matrix has determinant -1/4.

    Attributes:
        columns: the paths.
        categorical: which columns are category indices.
    """

    def __init__(self, space: Space) -> None:
        self.space = space
        decisions = space.all_decisions()
        self.columns: tuple[str, ...] = tuple(decision.path for decision in decisions)
        self.categorical = np.array([isinstance(decision.domain, Categorical) for decision in decisions], dtype=bool)
        self._scales = {decision.path: decision.domain.unbent() for decision in decisions}
        self._column = {path: index for index, path in enumerate(self.columns)}

    def encode(self, configs: Sequence[Configuration]) -> np.ndarray:
        """Array of shape (configurations, paths)."""
        rows = np.where(self.categorical, _ABSENT, _IMPUTED)[None, :].repeat(len(configs), axis=0)
        for row, config in zip(rows, configs, strict=True):
            for decision, value in self.space.decisions_of(config):
                domain = self._scales[decision.path]
                place = domain.index(value) if isinstance(domain, Categorical) else domain.to_unit(value)
                row[self._column[decision.path]] = place
        return rows

    def decode(self, row: np.ndarray) -> Configuration:
        """The configuration of a row; rules are not looked at. Exact but for the last digits of continuous numbers."""

        def decide(decision: Decision) -> Value:
            place = float(row[self._column[decision.path]])
            if isinstance(decision.domain, Categorical):
                return decision.domain.values[int(place)]
            return self._scales[decision.path].from_unit(min(max(place, 0.0), 1.0))

        return self.space.build(decide)

    def kernel(self, first: np.ndarray, second: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """The kernel matrix.

        Args:
            first: rows, shape (n, paths).
            second: rows, shape (m, paths).
            lengths: one length per path, > 0; for a category the correlation of two different ones is exp(-1/length).

        Returns:
            Shape (n, m), 1 on equal rows.
        """
        numbers = ~self.categorical
        gaps = np.abs(first[:, None, numbers] - second[None, :, numbers]) * (np.sqrt(5.0) / lengths[numbers])
        matern = np.prod((1.0 + gaps + gaps**2 / 3.0) * np.exp(-gaps), axis=2)
        different = first[:, None, self.categorical] != second[None, :, self.categorical]
        hamming = np.exp(-(different / lengths[self.categorical]).sum(axis=2))
        return np.asarray(matern * hamming)
