"""No configuration twice: what has been tried, and what a finite space still holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice

import numpy as np

from ...spaces import Configuration, Space

DRAWS = 64
"""Draws before a finite space is enumerated instead. With 95 % of it tried, 64 draws still find something new 96 times
in a hundred; enumerating sooner would cost time in large spaces, and later in nearly exhausted ones."""

ENUMERATED = 4096
"""Of how many untried configurations one is picked at random, once drawing has failed. A bound on time only."""


class Unseen:
    """The configurations of a space that have not been tried yet."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._is_finite = space.size() is not None
        self._tried: set[str] = set()

    def note(self, configs: Iterable[Configuration | None]) -> None:
        """These have been tried (None, of define-by-run trials, is skipped)."""
        self._tried.update(config.key() for config in configs if config is not None)

    def __contains__(self, config: Configuration) -> bool:
        return config.key() not in self._tried

    def draw(
        self, candidate: Callable[[], Configuration], rng: np.random.Generator, draws: int = DRAWS
    ) -> Configuration | None:
        """The first of up to `draws` candidates that is untried, else any untried one; it then counts as tried.

        Returns:
            None when a finite space is exhausted. In an infinite space the last candidate, though tried.
        """
        for _ in range(draws):
            config = candidate()
            if config in self:
                break
        else:
            if self._is_finite:
                return self.any(rng)
        self.note([config])
        return config

    def any(self, rng: np.random.Generator) -> Configuration | None:
        """An untried configuration of a finite space, drawn uniformly from the first 4096; None when exhausted."""
        rest = list(islice((config for config in self._space.grid(1) if config in self), ENUMERATED))
        if not rest:
            return None
        config = rest[int(rng.integers(len(rest)))]
        self.note([config])
        return config
