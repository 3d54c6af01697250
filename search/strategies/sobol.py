"""Sobol points: low-discrepancy coverage of the unit cube of all decisions.

Sources: Sobol' 1967; scrambling after Owen 1998, by `scipy.stats.qmc`. One dimension a decision of the fully unrolled
space; a decision that is not active in a configuration leaves its coordinate unused. Deviations: a point that breaks a
rule or repeats a configuration is replaced by the point of the same number of another scrambling, at last by the
nearest valid configuration, so that trial `number` has its point whatever happened to the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ...errors import SpecError
from ...spaces import Configuration, Decision, Space
from .options import check_fields
from .port import Pending, Proposal, Result
from .unseen import Unseen

SCRAMBLINGS = 8
"""Scramblings tried before a point is repaired: rules that forbid half of the cube defeat eight in 0.4 % of cases."""

LARGEST_DIMENSION = 21_201  # the direction numbers of Joe and Kuo that scipy carries


@dataclass(frozen=True, slots=True, kw_only=True)
class SobolOptions:
    """How the points are made."""

    scramble: bool = field(default=True, metadata={"help": "randomise the points by the study's seed"})

    def __post_init__(self) -> None:
        check_fields(self, "sobol")


class SobolSearch:
    """Trial `number` takes point `number` of a scrambled Sobol sequence."""

    uses_history = False
    replays_asks = False

    def __init__(self, space: Space, options: SobolOptions, seed: int) -> None:
        self._space = space
        self._scramble = options.scramble
        self._seed = seed
        self._column = {decision.path: i for i, decision in enumerate(space.all_decisions())}
        if len(self._column) > LARGEST_DIMENSION:
            raise SpecError(
                f"sobol: the space has {len(self._column)} decisions; Sobol points have at most {LARGEST_DIMENSION}.",
                "Use strategy='random'.",
            )
        self._unseen = Unseen(space)

    def tell(self, results: Sequence[Result]) -> None:
        self._unseen.note(result.config for result in results)

    def ask(self, first_number: int, n: int, pending: Sequence[Pending], seed: int) -> list[Proposal]:
        self._unseen.note(trial.config for trial in pending)
        points = self._points(0, first_number, n)
        proposals = []
        for number, point in zip(range(first_number, first_number + n), points, strict=True):
            proposal = self._proposal(number, point)
            if proposal is None:
                break
            proposals.append(proposal)
        return proposals

    def _proposal(self, number: int, point: Sequence[float]) -> Proposal | None:
        first = self._at(point)
        for scrambling in range(SCRAMBLINGS if self._scramble else 1):
            config = first if scrambling == 0 else self._at(self._points(scrambling, number, 1)[0])
            if config in self._unseen and not self._space.violations(config):
                self._unseen.note([config])
                return Proposal(config=config, reason=f"Sobol point {number}")
        rng = np.random.default_rng((self._seed, number))
        near = self._unseen.draw(lambda: self._space.repair(first, rng), rng, draws=SCRAMBLINGS)
        if near is None:
            return None
        return Proposal(config=near, reason=f"near Sobol point {number}, which was taken or broke a rule")

    def _at(self, point: Sequence[float]) -> Configuration:
        """The configuration at a point of the cube; inactive coordinates are not looked at."""

        def decide(decision: Decision) -> object:
            return decision.domain.from_unit(float(point[self._column[decision.path]]))

        return self._space.build(decide)

    def _points(self, scrambling: int, first: int, n: int) -> Sequence[Sequence[float]]:
        from scipy.stats import qmc

        if not self._column:
            return [()] * n
        rng = np.random.default_rng((self._seed, scrambling))
        engine = qmc.Sobol(len(self._column), scramble=self._scramble, rng=rng)
        if first:
            engine.fast_forward(first)
        points: Sequence[Sequence[float]] = [engine.random(1)[0].tolist() for _ in range(n)]
        return points
