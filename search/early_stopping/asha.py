"""Asynchronous successive halving.

Source: Li et al. 2020, "A System for Massively Parallel Hyperparameter Tuning", MLSys, Algorithm 2 (`get_job`);
brackets after Li et al. 2018, "Hyperband", JMLR 18, Algorithm 1.

Promotion form (the paper's): a trial that reaches a rung pauses, and `promotions` names those in the top 1/eta of their
rung, the highest rung first. Deviations:
- a trial that is in the top 1/eta when it arrives goes straight on, which saves a pause and changes no decision;
- a trial that cannot pause is treated by the stopping form;
- when nothing else will come (`closing`) and no trial has had `max_epochs`, the best trial of the highest rung goes on:
  with fewer than eta trials at a rung the paper would end without a fully trained one;
- NaN and infinities count in a rung and never leave it: such a trial stops there.

Stopping form: a trial outside the top 1/eta at a rung stops for good. While fewer than eta have been there, the best so
far goes on.

A rung takes a trial's first report with a value at or after its milestone. A report that passes several milestones
counts at the highest one only: 10 epochs are not compared with 1. Ties go to the lower trial number.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Collection, Sequence
from typing import Literal

from ..spec import Objective
from .curves import Curves
from .port import Promotion, Verdict
from .ranking import Rank, rank, shown
from .rungs import bracket_sizes, milestones

Form = Literal["promotion", "stopping"]


class Rung:
    """The values of the trials that have reached a number of epochs, and which of them are in the top 1/eta.

    `candidates`: those in the top, with a finite value, that have not reached a higher rung. Kept up to date with every
    arrival, since the study asks for promotions after each event: with 640 trials a search through all of them took
    3 ms.
    """

    def __init__(self, index: int, epochs: int, eta: int) -> None:
        self.index = index
        self.epochs = epochs
        self.candidates: set[int] = set()
        self._eta = eta
        self._order: list[tuple[Rank, int]] = []
        self._values: dict[int, float] = {}
        self._departed: set[int] = set()

    def enter(self, number: int, value: float, key: Rank) -> None:
        before = self.quota()
        at = bisect_left(self._order, (key, number))
        self._order.insert(at, (key, number))
        self._values[number] = value
        if at < before:
            self._admit(at)
            self.candidates.discard(self._order[before][1])
        if self.quota() > before:
            self._admit(before)

    def depart(self, number: int) -> None:
        """It has reached a higher rung."""
        self._departed.add(number)
        self.candidates.discard(number)

    def _admit(self, place: int) -> None:
        number = self._order[place][1]
        if number not in self._departed and self.is_finite(number):
            self.candidates.add(number)

    def quota(self) -> int:
        """How many are the top 1/eta."""
        return len(self._order) // self._eta

    def place(self, number: int, objective: Objective) -> int:
        """From 0, the best."""
        return bisect_left(self._order, (rank(objective, self._values[number]), number))

    def value(self, number: int) -> float | None:
        """What the trial reported here, None if it has not."""
        return self._values.get(number)

    def is_finite(self, number: int) -> bool:
        return math.isfinite(self._values[number])

    def size(self) -> int:
        return len(self._order)

    def story(self, number: int, objective: Objective) -> str:
        """`rung 2 (9 epochs): 0.71 is rank 9 of 14`."""
        value, place = shown(self._values[number]), self.place(number, objective) + 1
        epochs = "1 epoch" if self.epochs == 1 else f"{self.epochs} epochs"
        return f"rung {self.index} ({epochs}): {value} is rank {place} of {self.size()}"


class AshaRule:
    """ASHA, and Hyperband where there are several `brackets`.

    Args:
        brackets: bracket s has the rungs from index s on; trials are dealt to them in Hyperband's proportions.
    """

    def __init__(
        self,
        objective: Objective,
        *,
        max_epochs: int,
        min_epochs: int,
        reduction_factor: int,
        form: Form,
        brackets: int = 1,
    ) -> None:
        self._objective = objective
        self._max_epochs = max_epochs
        self._eta = reduction_factor
        self._form = form
        rungs = list(enumerate(milestones(min_epochs, max_epochs, reduction_factor)))
        self._ladders = [[Rung(index, epochs, self._eta) for index, epochs in rungs[s:]] for s in range(brackets)]
        self._deal = dealt(bracket_sizes(brackets, reduction_factor))
        self._curves = Curves()
        self._highest: dict[int, Rung] = {}
        self._arrived: dict[int, bool] = {}
        self._has_finished = False

    # --- as a plan for a pool that decides at the rungs itself --------------------------------------

    @property
    def is_promotion(self) -> bool:
        """Do trials pause at rungs, rather than stop there?"""
        return self._form == "promotion"

    @property
    def lower_is_better(self) -> bool:
        return self._objective.direction == "minimize"

    @property
    def reduction_factor(self) -> int:
        return self._eta

    @property
    def milestones(self) -> tuple[tuple[int, ...], ...]:
        """For every bracket the epochs of its rungs and, last, of a full training."""
        return tuple((*(rung.epochs for rung in ladder), self._max_epochs) for ladder in self._ladders)

    def bracket(self, number: int) -> int:
        """Which bracket the trial belongs to."""
        return self._deal[number % len(self._deal)]

    def reached(self, number: int) -> list[tuple[int, float]]:
        """(place of the rung in its bracket, value) of every rung that the trial has reported at, lowest first."""
        ladder = self._ladder(number)
        found = [(place, value) for place, rung in enumerate(ladder) if (value := rung.value(number)) is not None]
        last = self._curves.last(number)
        if last is not None and last[0] >= self._max_epochs and last[1] is not None:
            found.append((len(ladder), last[1]))
        return found

    def arrival(self, number: int) -> tuple[int, float] | None:
        """(place, value) of the rung to which its last report has brought the trial, None if to none."""
        last = self._curves.last(number)
        if last is None or last[1] is None or not (self._arrived[number] or last[0] >= self._max_epochs):
            return None
        return self.reached(number)[-1]

    @property
    def last_rung(self) -> int:
        """The index of the highest rung."""
        return max((rung.index for ladder in self._ladders for rung in ladder), default=0)

    # --- as a rule that decides -----------------------------------------------------------------------

    def observe(self, number: int, step: int, value: float | None) -> None:
        if not self._curves.add(number, step, value):
            return
        self._has_finished = self._has_finished or step >= self._max_epochs
        self._arrived[number] = False
        if value is None:
            return
        reached = [rung for rung in self._ladder(number) if rung.epochs <= step]
        before = self._highest.get(number)
        if reached and (before is None or reached[-1].index > before.index):
            if before is not None:
                before.depart(number)
            reached[-1].enter(number, value, rank(self._objective, value))
            self._highest[number] = reached[-1]
            self._arrived[number] = True

    def verdict(self, number: int, *, can_pause: bool) -> Verdict:
        last = self._curves.last(number)
        if last is None:
            return Verdict(action="continue", reason="no report yet")
        step, value = last
        if step >= self._max_epochs:
            return Verdict(action="stop", reason=f"trained in full: {step} of {self._max_epochs} epochs", finished=True)
        if value is None:
            return Verdict(action="continue", reason=f"epoch {step}: {self._objective.metric} is missing, no decision")
        if not self._arrived[number]:
            return Verdict(action="continue", reason=f"epoch {step}: {self._next_decision(number, step)}")
        rung = self._highest[number]
        story = rung.story(number, self._objective)
        if not rung.is_finite(number):
            return Verdict(action="stop", reason=f"{story}, and only finite values go on")
        pauses = self._form == "promotion" and can_pause
        needed = rung.quota() if pauses else max(rung.quota(), 1)
        if rung.place(number, self._objective) < needed:
            return Verdict(action="continue", reason=f"{story}, within the top {needed}")
        if pauses and needed == 0:
            return Verdict(action="pause", reason=f"{story}; the first {self._eta} trials are awaited")
        return Verdict(action="pause" if pauses else "stop", reason=f"{story}, needs the top {needed}")

    def promotions(self, paused: Collection[int], *, closing: bool = False) -> list[Promotion]:
        rungs = [rung for ladder in self._ladders for rung in ladder]
        able = [number for rung in rungs for number in rung.candidates if number in paused]
        if able or not closing or self._has_finished:
            able.sort(key=self._urgency)
            return [self._promotion(number, f"within the top {self._highest[number].quota()}") for number in able]
        waiting = [number for number in paused if number in self._highest and self._highest[number].is_finite(number)]
        waiting.sort(key=self._urgency)
        return [self._promotion(number, "the nearest to a full training; no other will come") for number in waiting[:1]]

    def farewell(self, number: int) -> str:
        rung = self._highest.get(number)
        if rung is None:
            return "it reached no rung"
        return f"{rung.story(number, self._objective)}, needed the top {rung.quota()}"

    def _ladder(self, number: int) -> list[Rung]:
        return self._ladders[self._deal[number % len(self._deal)]]

    def _urgency(self, number: int) -> tuple[int, int, int]:
        rung = self._highest[number]
        return (-rung.epochs, rung.place(number, self._objective), number)

    def _promotion(self, number: int, why: str) -> Promotion:
        rung = self._highest[number]
        return Promotion(number=number, rung=rung.index, reason=f"{rung.story(number, self._objective)}, {why}")

    def _next_decision(self, number: int, step: int) -> str:
        later = [rung.epochs for rung in self._ladder(number) if rung.epochs > step]
        return f"next decision at epoch {later[0]}" if later else f"trains on to epoch {self._max_epochs}"


def dealt(sizes: Sequence[int]) -> list[int]:
    """The bracket of each trial of a round, so that every beginning of it has the brackets in proportion.

    >>> dealt([3, 1])
    [0, 0, 1, 0]
    """
    total = sum(sizes)
    given = [0] * len(sizes)
    order = []
    for place in range(1, total + 1):
        bracket = max(range(len(sizes)), key=lambda s: (sizes[s] * place - given[s] * total, -s))
        given[bracket] += 1
        order.append(bracket)
    return order
