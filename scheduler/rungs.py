"""What one ladder of a study knows: who has reported at which rung, who went on, and who still can.

Successive halving promotes the best 1/eta of a rung (Jamieson and Talwalkar 2016; asynchronous form: Li et
al. 2020, "A System for Massively Parallel Hyperparameter Tuning", section 3). Deviation: a promoted trial
that is lost before its next report gives its place to the next best, so that failures do not thin the rungs
above.
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Sequence

from .port import Ladder
from .usefulness import Standing, usefulness

Score = tuple[float, int]
"""(value turned so that lower is better, trial number): ties go to the lower number."""


class Rungs:
    """The results of one ladder and the usefulness of its trials.

    A trial is *unstarted* until its first report, *at* the rung of its last report afterwards, and *gone*
    once it ended without having reached the top.
    """

    def __init__(self, ladder: Ladder) -> None:
        self.ladder = ladder
        top = len(ladder.milestones)
        self.results: list[list[Score]] = [[] for _ in range(top)]
        self.promoted: list[set[int]] = [set() for _ in range(top)]
        self._replaced = [0] * top
        self._rung_of: dict[int, int] = {}
        self._score_of: dict[int, Score] = {}
        self._gone: set[int] = set()
        self._lost_unreported = 0
        self._useful: dict[int, float] | None = {}

    @property
    def top(self) -> int:
        """The last rung, where a trial has had all its epochs."""
        return len(self.ladder.milestones) - 1

    def replan(self, ladder: Ladder) -> None:
        """Another number of planned trials; milestones and eta stay."""
        self.ladder = ladder
        self._useful = None

    def report(self, number: int, rung: int, value: float | None) -> bool:
        """Take a result in; False when this rung or a higher one was already reported."""
        if rung <= self._rung_of.get(number, -1) or not 0 <= rung <= self.top or number in self._gone:
            return False
        score = (_turned(value, lower_is_better=self.ladder.lower_is_better), number)
        insort(self.results[rung], score)
        self._rung_of[number] = rung
        self._score_of[number] = score
        self._useful = None
        return True

    def remember(self, number: int, reached: Sequence[tuple[int, float]], *, ended: bool) -> None:
        """A trial's former (rung, value), lowest first; `ended`: it will not be offered any more."""
        for rung, value in reached:
            self.promote(number)
            self.report(number, rung, value)
        if ended:
            self.lose(number)

    def promote(self, number: int) -> None:
        """The trial goes on from the rung of its last report."""
        rung = self._rung_of.get(number, -1)
        if rung >= 0:
            self.promoted[rung].add(number)

    def lose(self, number: int) -> None:
        """The trial ended before it could report again; at the top nothing is lost.

        If it had been promoted and nobody had displaced it, the next best takes its place.
        """
        rung = self._rung_of.get(number, -1)
        if number in self._gone or rung == self.top:
            return
        self._gone.add(number)
        if rung < 0:
            self._lost_unreported += 1
        elif number in self.promoted[rung] and self.rank(number) <= self.quota(rung):
            self._replaced[rung] += 1
        self._useful = None

    def rung_of(self, number: int) -> int:
        """The rung of the trial's last report; -1 before the first."""
        return self._rung_of.get(number, -1)

    def rank(self, number: int) -> int:
        """The trial's place among the results of its rung, from 1."""
        rung = self._rung_of[number]
        return self.results[rung].index(self._score_of[number]) + 1

    def waits_for_promotion(self, number: int) -> bool:
        rung = self._rung_of.get(number, -1)
        return 0 <= rung < self.top and number not in self.promoted[rung] and number not in self._gone

    def is_on_top(self, number: int) -> bool:
        """Whether the trial is in the best 1/eta of those at its rung so far; the best one always is."""
        return self.rank(number) <= max(1, len(self.results[self._rung_of[number]]) // self.ladder.eta)

    def planned_at(self, rung: int) -> int:
        """How many trials are meant to report at `rung`."""
        expected = max(1, self.ladder.planned - self._lost_unreported, len(self.results[0]))
        for _ in range(rung):
            expected = max(1, expected // self.ladder.eta)
        return expected

    def quota(self, rung: int) -> int:
        """How many go on from `rung`, replacements of lost ones included."""
        return max(1, self.planned_at(rung) // self.ladder.eta) + self._replaced[rung]

    def useful(self, number: int) -> float:
        """P(the trial is among those of its rung that go on); 1 before its first report, 0 when it is out."""
        if number not in self._rung_of:
            return 1.0
        if self._useful is None:
            self._useful = self._estimate()
        return self._useful.get(number, 1.0)

    def epochs_to_next(self, number: int) -> int:
        """Epochs between the trial's last rung and the next one."""
        rung = self._rung_of.get(number, -1)
        milestones = self.ladder.milestones
        below = milestones[rung] if rung >= 0 else 0
        return milestones[min(rung + 1, self.top)] - below

    def _estimate(self) -> dict[int, float]:
        standings = [
            Standing(
                ranked=tuple(number for _, number in self.results[rung]),
                quota=self.quota(rung),
                expected=self.planned_at(rung),
            )
            for rung in range(self.top)
        ]
        unstarted = max(0, self.ladder.planned - self._lost_unreported - len(self.results[0]))
        return usefulness(standings, unstarted=unstarted, gone=self._gone)


def _turned(value: float | None, *, lower_is_better: bool) -> float:
    if value is None or math.isnan(value):
        return math.inf
    return value if lower_is_better else -value
