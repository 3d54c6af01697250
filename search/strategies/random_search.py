"""Random search: independent draws from the space's own distribution.

Source: Bergstra and Bengio 2012, "Random Search for Hyper-Parameter Optimization", JMLR 13. Deviation: a finite space
is sampled without replacement, so that no trial is spent twice.

The draw for trial `number` depends on (study seed, number) and on the configurations that smaller numbers have, never
on how the asks were cut into blocks or on any result: a parallel study is repeatable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...spaces import Space
from ..spec import Json
from .define_by_run import domain_from_json
from .port import Pending, Proposal, Result
from .unseen import Unseen


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomOptions:
    """None."""


class RandomSearch:
    """Independent random configurations.

    Args:
        space: None for a define-by-run study.
        seed: the study's seed.
    """

    uses_history = False
    replays_asks = False

    def __init__(self, space: Space | None, seed: int) -> None:
        self._space = space
        self._seed = seed
        self._unseen = None if space is None else Unseen(space)

    def tell(self, results: Sequence[Result]) -> None:
        if self._unseen is not None:
            self._unseen.note(result.config for result in results)

    def ask(self, first_number: int, n: int, pending: Sequence[Pending], seed: int) -> list[Proposal]:
        numbers = range(first_number, first_number + n)
        if self._space is None or self._unseen is None:
            return [Proposal(config=None, reason=f"trial {number} draws at random as it asks") for number in numbers]
        space = self._space
        self._unseen.note(trial.config for trial in pending)
        proposals = []
        for number in numbers:
            rng = np.random.default_rng((self._seed, number))
            config = self._unseen.draw(lambda rng=rng: space.sample(rng), rng)  # type: ignore[misc]
            if config is None:
                break
            proposals.append(Proposal(config=config, reason=f"random draw {number}"))
        return proposals

    def suggest(self, number: int, path: str, domain: Json, seed: int) -> Json:
        """A draw that depends on `seed` alone, which derives from (study, number, path)."""
        leaf = domain_from_json(domain)
        return leaf.encode(leaf.sample(np.random.default_rng(seed)))
