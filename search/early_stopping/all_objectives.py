"""A rule that compares trials, shown how they rank over all objectives instead of the values of one.

Source: Schmucker et al. 2021, "Multi-objective Asynchronous Successive Halving", section 3: trials at a rung are sorted
by non-dominated fronts. Deviations: within a front the less crowded come first (NSGA-II, Deb et al. 2002) instead of an
epsilon-net; it serves every rule that compares trials, since what the rule sees is a trial's place among all reports of
the same step, from 0 (the fittest) to below 1.

Places change as others report, so the rule is made anew and shown all of them before it answers. Trials that report at
other steps than the rest are compared with few.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import replace

from ..spec import Objective
from ..strategies.fronts import front_ranks
from .port import Promotion, StoppingRule, Verdict

PLACE = Objective(metric="place", direction="minimize")


class AllObjectivesRule:
    """Non-dominated ranking before another rule.

    Args:
        make: the rule, for an objective that is to be minimised.
    """

    def __init__(self, make: Callable[[Objective], StoppingRule]) -> None:
        self._make = make
        self._reports: dict[int, dict[int, tuple[float, ...] | None]] = {}
        self._of_step: dict[int, dict[int, tuple[float, ...]]] = {}
        self._places: dict[int, dict[int, float]] = {}
        self._rule: StoppingRule | None = None

    def observe(self, number: int, step: int, value: float | None) -> None:
        """A study of one objective, as a simulation has it; smaller is better."""
        self.observe_all(number, step, None if value is None else (value,))

    def observe_all(self, number: int, step: int, losses: tuple[float, ...] | None) -> None:
        """Take a report in: the loss of every objective, None where one is missing."""
        own = self._reports.setdefault(number, {})
        if own and step <= max(own):
            return
        own[step] = losses
        if losses is not None:
            self._of_step.setdefault(step, {})[number] = losses
            self._places.pop(step, None)
        self._rule = None

    def verdict(self, number: int, *, can_pause: bool) -> Verdict:
        verdict = self._shown().verdict(number, can_pause=can_pause)
        return replace(verdict, reason=_over_all(verdict.reason))

    def promotions(self, paused: Collection[int], *, closing: bool = False) -> list[Promotion]:
        found = self._shown().promotions(paused, closing=closing)
        return [replace(promotion, reason=_over_all(promotion.reason)) for promotion in found]

    def farewell(self, number: int) -> str:
        farewell = self._shown().farewell(number)
        return _over_all(farewell) if farewell else ""

    def _shown(self) -> StoppingRule:
        """The rule, having seen the place of every report."""
        if self._rule is None:
            self._rule = self._make(PLACE)
            for number, reports in sorted(self._reports.items()):
                for step, losses in reports.items():
                    self._rule.observe(number, step, None if losses is None else self._place(number, step))
        return self._rule

    def _place(self, number: int, step: int) -> float:
        if step not in self._places:
            reports = sorted(self._of_step[step].items())
            finite = [losses if all(map(math.isfinite, losses)) else None for _, losses in reports]
            ranks = front_ranks(finite).tolist() or [math.nan] * len(finite)
            self._places[step] = {
                one: math.nan if losses is None else place / len(finite)
                for (one, _), losses, place in zip(reports, finite, ranks, strict=True)
            }
        return self._places[step][number]


def _over_all(reason: str) -> str:
    return f"over all objectives: {reason}"
