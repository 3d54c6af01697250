"""Many configurations at once, as rows of numbers in [0, 1]: what models and moves over a space work on.

A column is a decision of the unrolled space. Rows also have numbers where a decision is not active; they come into play
when a move makes it active. Building thousands of `Configuration`s for an ask would cost a second; rows cost a
millisecond, and only the proposal is built.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np

from ...spaces import Categorical, Configuration, Decision, Space
from ...spaces.domain import Domain
from ...spaces.sites import ChoiceSite, LeafSite, RecordSite, RepeatSite, Site

GRID_LIMIT = 512
"""Domains with at most so many values are kept on their grid; between more of them no model tells the difference."""

_IMPUTED, _ABSENT = 0.5, -1.0


class UnitCube:
    """The space as a unit cube with a known activity of every column.

    Attributes:
        columns: the paths.
        categories: how many categories a column has; 0 for numbers.
        free: the columns that have more than one value.
        steps: the smallest distance between two values of a column; 0 where it is continuous.
    """

    def __init__(self, space: Space) -> None:
        self.space = space
        self._decisions = space.all_decisions()
        self.columns: tuple[str, ...] = tuple(decision.path for decision in self._decisions)
        self._column = {path: index for index, path in enumerate(self.columns)}
        self._optional = np.array([decision.optional for decision in self._decisions], dtype=bool)
        self._domains = [decision.domain.unbent() for decision in self._decisions]
        self._grids = [_grid(d, domain) for d, domain in zip(self._decisions, self._domains, strict=True)]
        self.categories = np.array(
            [len(d.domain.values) if isinstance(d.domain, Categorical) else 0 for d in self._decisions], dtype=int
        )
        self.steps = np.array([0.0 if grid is None or len(grid) < 2 else np.diff(grid).min() for grid in self._grids])
        self._believed = [i for i, d in enumerate(self._decisions) if getattr(d.domain, "prior", None) is not None]
        self.free = np.array([i for i, grid in enumerate(self._grids) if grid is None or len(grid) > 1], dtype=int)

    def draw(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Random rows of the space's own distribution, rules not looked at. Shape (count, columns).

        Where a person believes in something every second row does not, so that a wrong belief can be found out.
        """
        rows = rng.random((count, len(self.columns)))
        for column in self._believed:
            bent, domain = self._decisions[column].domain, self._domains[column]
            rows[::2, column] = [domain.to_unit(bent.from_unit(u)) for u in rows[::2, column]]
        return self.snapped(rows)

    def log_prior(self, rows: np.ndarray) -> np.ndarray:
        """The logarithm of how much a person believes in each row, 0 for the one believed best."""
        total = np.zeros(len(rows))
        if not self._believed:
            return total
        active = self.active(rows)
        for column in self._believed:
            total += np.where(active[:, column], self._decisions[column].domain.log_prior(rows[:, column]), 0.0)
        return total

    def snapped(self, rows: np.ndarray) -> np.ndarray:
        """Every number moved to the nearest value of its domain, in place."""
        np.clip(rows, 0.0, 1.0, out=rows)
        for column, grid in enumerate(self._grids):
            if grid is not None:
                middles = (grid[1:] + grid[:-1]) / 2
                rows[:, column] = grid[np.searchsorted(middles, rows[:, column])]
        return rows

    def active(self, rows: np.ndarray) -> np.ndarray:
        """Which decisions are active. Shape of `rows`, bool."""
        mask = np.zeros(rows.shape, dtype=bool)
        self._activate(self.space.root, rows, mask, np.ones(len(rows), dtype=bool))
        return mask

    def encode(self, configs: Iterable[Configuration], rng: np.random.Generator) -> np.ndarray:
        """The rows of configurations; what is not active in them is drawn from `rng`."""
        listed = list(configs)
        rows = self.draw(rng, len(listed))
        for row, config in zip(rows, listed, strict=True):
            for decision, value in self.space.decisions_of(config):
                column = self._column[decision.path]
                row[column] = self._domains[column].to_unit(value)
        return rows

    def decode(self, row: np.ndarray) -> Configuration:
        """The configuration of a row; rules are not looked at."""
        return self.space.build(lambda d: self._value(self._column[d.path], row))

    def _value(self, column: int, row: np.ndarray) -> object:
        return self._domains[column].from_unit(float(row[column]))

    def forest_features(self, rows: np.ndarray) -> np.ndarray:
        """The columns of `spaces.encodings.ForestEncoding`: one-hot, with activity bits, -1 where inactive."""
        active = self.active(rows)
        index = self._indices(rows)
        blocks = []
        for column, count in enumerate(self.categories):
            on = active[:, column, None]
            if self._optional[column]:
                blocks.append(on.astype(float))
            block = (index[:, column, None] == np.arange(count)) if count else rows[:, column, None]
            blocks.append(np.where(on, block, _ABSENT))
        return np.hstack(blocks) if blocks else np.zeros((len(rows), 0))

    def gp_features(self, rows: np.ndarray) -> np.ndarray:
        """The columns of `spaces.encodings.GpEncoding`: numbers, and category indices; 0.5 and -1 where inactive."""
        values = np.where(self.categories > 0, self._indices(rows), rows)
        return np.asarray(np.where(self.active(rows), values, np.where(self.categories > 0, _ABSENT, _IMPUTED)))

    @cached_property
    def is_numeric(self) -> np.ndarray:
        """Which columns are numbers."""
        return np.asarray(self.categories == 0)

    def _indices(self, rows: np.ndarray) -> np.ndarray:
        """Of every category its index; of numbers nothing of use."""
        return np.asarray(np.minimum((rows * self.categories).astype(int), np.maximum(self.categories - 1, 0)))

    def _activate(self, site: Site, rows: np.ndarray, mask: np.ndarray, here: np.ndarray) -> None:
        """Mark what is active at and below a site in the rows `here`."""
        match site:
            case RecordSite():
                for below in site.sites.values():
                    self._activate(below, rows, mask, here)
            case LeafSite():
                mask[:, self._column[site.decision.path]] |= here
            case ChoiceSite():
                column = self._column[site.decision.path]
                mask[:, column] |= here
                count = len(site.options)
                tags = np.minimum((rows[:, column] * count).astype(int), count - 1)
                for place, option in enumerate(site.options.values()):
                    if option is not None:
                        self._activate(option, rows, mask, here & (tags == place))
            case RepeatSite():
                column = self._column[site.decision.path]
                mask[:, column] |= here
                low, span = site.repeat.min, site.repeat.max - site.repeat.min + 1
                counts = low + np.minimum((rows[:, column] * span).astype(int), span - 1)
                for place in range(site.repeat.max):
                    self._activate(site.element(place), rows, mask, here & (counts > place))


def _grid(decision: Decision, domain: Domain) -> np.ndarray | None:
    """Where the values of a finite domain lie in [0, 1], ascending; None when they are too many."""
    size = domain.size()
    if size is None or size > GRID_LIMIT:
        return None
    values = domain.points(1) if decision.allowed is None else decision.allowed
    return np.array(sorted({domain.to_unit(value) for value in values}))
