"""`StudyView`: a study as figures, pages and reports read it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from ..errors import NotFound, ShoalError
from ..search.spec import Objective
from ..search.study_data import StudyData
from ..search.transitions import TrialStatus
from ..search.trial_record import PENDING, TrialRecord
from ..spaces import Domain, Space, node_from_json
from ..spaces.values import Value
from .axes import Axis, axis_of, guessed_axis
from .intervals import Intervals

Kept = TypeVar("Kept")

MOST_PATHS = 200
"""How many parameters are looked at: 1,000 would be no page that anybody reads."""


class StudyView:
    """A read-only study: its folded state, its past on the devices, and its parameters on one level.

    Args:
        state: the folded study.
        intervals: who held which devices; None where only the state is known (then charts of the pool are empty).
    """

    def __init__(self, state: StudyData, intervals: Intervals | None = None) -> None:
        self.state = state
        self.intervals = intervals or Intervals()
        self._space: Space | None = None
        self._space_source: object = None
        self._flat: dict[int, Mapping[str, Value]] = {}
        self._domains: dict[str, Domain] = {}
        self._valued: dict[str, tuple[int, list[TrialRecord]]] = {}
        self._kept: dict[tuple[str, int], Any] = {}

    def once(self, what: str, trial: TrialRecord, make: Callable[[TrialRecord], Kept]) -> Kept:
        """`make(trial)`, kept once the trial has ended: then it cannot change any more, unless a study is reopened."""
        if not trial.status.is_terminal:
            return make(trial)
        key = (f"{what} {trial.status} {trial.generation}", trial.number)
        if key not in self._kept:
            self._kept[key] = make(trial)
        kept: Kept = self._kept[key]
        return kept

    @property
    def name(self) -> str:
        return self.state.name

    @property
    def objective(self) -> Objective:
        return self.state.spec.objective

    def objective_named(self, metric: str) -> Objective:
        """The objective of this metric; empty: the first.

        Raises:
            NotFound: the study has no such objective.
        """
        objectives = {one.metric: one for one in self.state.spec.objectives}
        if metric and metric not in objectives:
            raise NotFound(f"study {self.name} has no objective {metric!r}.", f"It has {', '.join(objectives)}.")
        return objectives[metric] if metric else self.objective

    def value_of(self, trial: TrialRecord, objective: Objective) -> float | None:
        """What a trial is judged by in one objective: at its end, or so far; None for one that ended without."""
        if objective is self.objective:
            return trial.value
        if trial.values is not None:
            return (trial.named_values or {}).get(objective.metric)
        judged, column = trial.judged_row(), trial.columns.get(objective.metric)
        return column[judged] if trial.status in PENDING and judged is not None and column else None

    def finite_value(self, trial: TrialRecord, objective: Objective) -> float:
        """The same of a trial that `valued` or `judged` gave for this objective."""
        value = self.value_of(trial, objective)
        assert value is not None
        return value

    @property
    def trials(self) -> list[TrialRecord]:
        """Every trial, by number."""
        return [self.state.trials[number] for number in sorted(self.state.trials)]

    @property
    def began_at(self) -> float:
        return self.state.created_at or min((t.created_at for t in self.state.trials.values()), default=0.0)

    @property
    def ended_trials(self) -> list[TrialRecord]:
        """Trials that have ended, in the order in which they did."""
        return [self.state.trials[number] for number in self.state.ended]

    @property
    def resting_trials(self) -> list[TrialRecord]:
        """Trials that have ended or are paused, in the order in which they last trained.

        Not in the order of their ends: trials that stay paused at a rung end all at once, with the study.
        """
        paused = [self.state.trials[number] for number in self.state.numbers(TrialStatus.PAUSED)]
        return sorted([*self.ended_trials, *paused], key=self.rested_at)

    def rested_at(self, trial: TrialRecord) -> float:
        """When a trial that does not run last trained, seconds since the epoch; its end, for one that never did."""
        let_go_at = self.intervals.let_go_at.get(trial.number)
        if let_go_at is not None:
            return let_go_at
        return trial.ended_at or trial.started_at or trial.created_at

    def valued(self, objective: Objective | None = None, *, with_stopped: bool = True) -> list[TrialRecord]:
        """Ended trials with a finite value in an objective (None: the first), in the order in which they ended."""
        of = objective or self.objective
        seq, found = self._valued.get(of.metric, (-1, []))
        if seq != self.state.last_seq:
            wanted = (TrialStatus.COMPLETED, TrialStatus.STOPPED)
            found = [t for t in self.ended_trials if t.status in wanted and is_finite(self.value_of(t, of))]
            self._valued[of.metric] = self.state.last_seq, found
        return [t for t in found if with_stopped or t.status is TrialStatus.COMPLETED]

    def keeps_bounds(self, trial: TrialRecord) -> bool:
        """Does an ended trial keep all outcome constraints?"""
        return not self.state.spec.constraints or self.state.excess(trial) == 0

    def judged(self, objective: Objective | None = None) -> list[TrialRecord]:
        """`valued()`, and the paused trials with a finite value so far: of many a rule will ask no more."""
        of = objective or self.objective
        paused = (self.state.trials[number] for number in self.state.numbers(TrialStatus.PAUSED))
        return [*self.valued(of), *(t for t in paused if is_finite(self.value_of(t, of)))]

    @property
    def space(self) -> Space | None:
        """The declared space; None for define by run, and for one that this program cannot build."""
        body = self.state.spec.space
        if body is not self._space_source:
            self._space_source, self._space = body, None
            self._flat.clear()
            self._domains.clear()
            if body is not None:
                try:
                    self._space = Space.from_json(body)
                except ShoalError:
                    self._space = None
                else:
                    self._domains = {d.path: d.domain for d in self._space.all_decisions()[:MOST_PATHS]}
        return self._space

    def flat(self, trial: TrialRecord) -> Mapping[str, Value]:
        """A trial's parameters on one level: `{"optimizer": "sgd", "optimizer.momentum": 0.9}`."""
        space = self.space
        if trial.config is None:
            return {path: self._suggested(trial, path, value) for path, value in trial.flat.items()}
        known = self._flat.get(trial.number)
        if known is None:
            try:
                known = dict(trial.config) if space is None else space.configuration(trial.config).flat()
            except ShoalError:  # of a former version of the space
                known = {}
            self._flat[trial.number] = known
        return known

    @property
    def paths(self) -> list[str]:
        """Parameters in the space's order; of a define-by-run study in the order of first appearance."""
        if self.space is not None:
            return list(self._domains)
        seen: dict[str, None] = {}
        for trial in self.state.trials.values():
            seen.update(dict.fromkeys(self.flat(trial)))
            if len(seen) > MOST_PATHS:
                break
        return list(seen)[:MOST_PATHS]

    def axis(self, path: str) -> Axis:
        """The axis of a parameter."""
        domain = self.domain(path)
        if domain is not None:
            return axis_of(path, domain)
        return guessed_axis(path, (f[path] for t in self.state.trials.values() if path in (f := self.flat(t))))

    def domain(self, path: str) -> Domain | None:
        """The domain of a parameter, where one is known."""
        if self.space is not None:
            return self._domains.get(path)
        if path not in self._domains:
            for trial in self.state.trials.values():
                if path in trial.domains:
                    self._remember(path, trial)
                    break
        return self._domains.get(path)

    def _suggested(self, trial: TrialRecord, path: str, value: Value) -> Value:
        if path not in self._domains:
            self._remember(path, trial)
        domain = self._domains.get(path)
        if domain is None:
            return value
        try:
            return domain.parse(value, path)
        except ShoalError:
            return value

    def _remember(self, path: str, trial: TrialRecord) -> None:
        try:
            node = node_from_json(trial.domains[path])
        except (ShoalError, KeyError, TypeError):
            return
        if isinstance(node, Domain):
            self._domains[path] = node


def is_finite(value: float | None) -> bool:
    """Is there a number that a chart can draw?"""
    return value is not None and math.isfinite(value)
