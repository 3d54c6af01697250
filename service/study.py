"""`Study`: what a person writes. Everything is checked here, and nothing happens until it runs.

Workers import the file that makes the study, so making one is cheap and has no side effect.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import SpecError
from ..search.reproducible import lag_of
from ..search.spec import (
    Budget,
    Chosen,
    DuplicatesPolicy,
    EntryKind,
    Json,
    Objective,
    Resources,
    StudySpec,
    ValueFrom,
    priority_class,
)
from ..spaces import Architecture, Space, as_space
from .entry import Command, Train, entry_point, source_file
from .first_points import first_points
from .goals import Metrics, constraints_of, objectives_of, stopping_of
from .pool import check_resources

if TYPE_CHECKING:
    from ..dashboards.notebook import ResultFigures
    from ..search.early_stopping.choices import RuleChoice
    from .ask_tell import Asked, AskTell, Told
    from .head import Observer
    from .results import StudyResults


WITH_SPACE, WITHOUT_SPACE = "portfolio", "tpe"
"""The default strategies: the portfolio needs a declared space."""


class Study:
    """A search: what may be tried, how to try it, which way is better, and how much to spend.

    Args:
        train: `train(trial)`, `objective(config) -> float`, an Optuna `objective(trial)` (without `space`), or
            `shoal.Command("...")`. See `service/entry.py` for how the kind is told.
        space: what can be tried; None: the function asks for its values itself (define by run).
        maximize, minimize: the name of the reported metric, or of the value an objective returns; a list of names, or
            both arguments, for several objectives. Curves and most figures show the first (of `maximize`, if given).
        subject_to: bounds on reported metrics, e.g. {"latency_ms": "<= 5"}. A trial outside of them is no solution.
        trials: how many configurations to try; None: until `time_limit_s`.
        strategy: by name, see `shoal strategies`; default: "portfolio", and "tpe" for define by run.
        strategy_options: the strategy's own options by name.
        early_stopping: `shoal.ASHA(...)`, `shoal.Median()`, `shoal.Patience()`, ..., "optuna:<Pruner>", or None.
        workers: processes a trial, or (min, max); powers of two.
        gpus_per_worker: "auto" (1 where the pool has GPUs), 0, 0.25, 1, 2, ...
        cpus_per_worker: "auto" (1 on a pool without GPUs), or a count.
        memory_gib: main memory a worker needs, GiB.
        gpu_memory_gib: memory that a worker needs on each of its GPUs, so that those who share one fit.
        threads_per_worker: a constant of the study: 1 and 2 threads differ in bits.
        shards: upper bound of logical shards (default: the largest number of workers).
        name: what the study is called; default: the name of its file.
        seed: every trial's and proposal's seed derives from it.
        max_failures: end the study after that many failed trials; None: never.
        trial_time_limit_s, time_limit_s: seconds for a trial, and for the study.
        reuse_workers: a worker takes trial after trial; for cheap functions without global state.
        value: a trial is judged by its "last" or its "best" reported value.
        duplicates: a configuration that comes again: "reuse" its result, "replicate" it, or "reject" it.
        points_to_evaluate: configurations to try first. The space's default follows, if it has one.
        like: the name of a study in the same data directory whose results the strategy begins with.
        kind: how `train` is called, where its signature leaves that open.
        priority: "low", "normal", "high" or a number: studies of a higher class go first when they share a pool.
        weight: of studies of one class, one of weight 2 gets twice the devices of one of weight 1.
        gpu_hours: what the study may use of GPUs (of CPUs, where there are none); None: no limit.
        reproducible: the same seed gives the same trials, whatever the timing: proposal n knows exactly the results of
            the trials before n - 8, or before n less another number that is given.

    Raises:
        SpecError: anything above is wrong; the message names the value, what is allowed, and what to do.
        SpaceError: one of `points_to_evaluate` is outside of the space.
    """

    def __init__(
        self,
        *,
        train: Train | Command,
        space: Space | type[Space] | Architecture | type[Architecture] | None = None,
        maximize: Metrics = None,
        minimize: Metrics = None,
        subject_to: Mapping[str, str | Sequence[str]] | None = None,
        trials: int | None = 60,
        strategy: str | None = None,
        strategy_options: Mapping[str, Json] | None = None,
        early_stopping: RuleChoice | Chosen | str | None = None,
        workers: int | tuple[int, int] = 1,
        gpus_per_worker: str | float = "auto",
        cpus_per_worker: str | int = "auto",
        memory_gib: float | None = None,
        gpu_memory_gib: float | None = None,
        threads_per_worker: int = 1,
        shards: int | None = None,
        name: str | None = None,
        seed: int = 0,
        max_failures: int | None = None,
        trial_time_limit_s: float | None = None,
        time_limit_s: float | None = None,
        reuse_workers: bool = False,
        value: ValueFrom = "last",
        duplicates: DuplicatesPolicy = "reuse",
        points_to_evaluate: Sequence[Mapping[str, Any]] = (),
        like: str | None = None,
        kind: EntryKind | None = None,
        priority: int | str = 0,
        weight: float = 1.0,
        gpu_hours: float | None = None,
        reproducible: bool | int = False,
    ) -> None:
        space = None if space is None else as_space(space)
        low, high = _workers(workers)
        objectives = objectives_of(maximize, minimize)
        self.train = train
        self.space = space
        self._given_name = name
        self._spec = StudySpec(
            name=default_name(train) if name is None else name,
            space=None if space is None else space.to_json(),
            objectives=objectives,
            constraints=constraints_of(subject_to),
            entry=entry_point(train, space, kind),
            strategy=_strategy(strategy, {} if strategy_options is None else strategy_options, space, objectives),
            early_stopping=stopping_of(early_stopping, objectives),
            budget=Budget(
                trials=trials,
                max_failures=max_failures,
                trial_time_limit_s=trial_time_limit_s,
                study_time_limit_s=time_limit_s,
                gpu_hours=gpu_hours,
            ),
            resources=Resources(
                min_workers=low,
                max_workers=high,
                gpus_per_worker=str(gpus_per_worker),
                cpus_per_worker=str(cpus_per_worker),
                memory_gib=memory_gib,
                gpu_memory_gib=gpu_memory_gib,
                threads_per_worker=threads_per_worker,
            ),
            seed=seed,
            shards=shards,
            reuse_workers=reuse_workers,
            value_from=_one_of("value", value, ("last", "best")),
            duplicates=_one_of("duplicates", duplicates, ("reuse", "replicate", "reject")),
            priority=priority_class(priority),
            weight=weight,
            reproducible=lag_of(reproducible),
        )
        check_resources(self._spec.resources)
        self.first_points = first_points(points_to_evaluate, space)
        self.like = _like(like, space)
        self._file: Path | None = None
        self._by_hand: AskTell | None = None
        self._found: StudyResults | None = None

    @property
    def name(self) -> str:
        return self._spec.name

    def spec(self, *, code: str = "", name: str | None = None) -> StudySpec:
        """The study as data. `code` is its archive's hash; `name` overrides a name that was not given."""
        return replace(self._spec, code=code, name=self._given_name or name or self._spec.name)

    def adapted(self, spec: StudySpec, *, file: Path | None = None, like: str | None = None) -> Study:
        """The same study with `spec` instead of its own (the command line's flags), found in `file`, and `like`."""
        other = copy(self)
        other._spec, other._given_name = spec, spec.name
        other._file = self._file if file is None else file.resolve()
        other._by_hand = other._found = None
        other.like = self.like if like is None else _like(like, self.space)
        return other

    def project_file(self) -> Path | None:
        """The file whose folder is archived for the workers; None in a notebook."""
        return self._file or source_file(self.train)

    def run(
        self,
        *,
        data: str | Path = ".shoal",
        logical_gpus: int | None = None,
        ray: str = "",
        store: str = "",
        resume: bool = True,
        on_event: Observer | None = None,
    ) -> StudyResults:
        """Run the study in this program to its end and return what came out.

        Args:
            data: the data directory; a study of the same name there is resumed, or extended when `trials`
            grew. logical_gpus: pretend that this machine has so many GPUs. ray: run trials on the nodes of
            the Ray cluster at this address, "start": one of this machine. store: with it, the URL of storage
            that all nodes share (default: `data`). resume: False: refuse to go on with a study that exists
            already. on_event: called as `on_event(state, event)` after each event is in the journal.

        Raises:
            ShoalError: the study cannot run here; a failing *trial* does not raise.
            KeyboardInterrupt: Ctrl-C; what ran is paused, and the next `run` goes on.
        """
        from .running import place_of, run_studies

        if _is_imported_by_a_worker():
            raise SpecError(
                "study.run() is called while a worker imports this file.",
                "Put it under: if __name__ == '__main__':",
            )
        self._found = run_studies(
            [self],
            data=Path(data),
            place=place_of([self], Path(data), logical_gpus=logical_gpus, ray=ray, store=store),
            resume=resume,
            observers=() if on_event is None else (on_event,),
        )[0]
        return self._found

    def ask(self) -> Asked:
        """The next trial for people who run their own loop: `asked.number`, `asked.config`, `asked.seed`.

        Raises:
            StrategyError: the budget is spent or the space is exhausted.
        """
        return self._session().ask()

    def tell(self, asked: Asked | int, value: Told | None = None, *, failed: str = "") -> None:
        """What became of an asked trial: its value (of several objectives, or with `subject_to`: a mapping of metrics),
        or `failed="why"`."""
        self._session().tell(asked, value, failed=failed)

    def report(self, asked: Asked | int, step: int, value: Told) -> bool:
        """A value, or a mapping of metrics, after `step` epochs of an asked trial; False: it was stopped, ask for the
        next one."""
        return self._session().report(asked, step, value)

    def results(self) -> StudyResults:
        """What `ask` and `tell` have found so far."""
        return self._session().results()

    @property
    def figures(self) -> ResultFigures:
        """Plotly figures of what `run`, or `ask` and `tell`, have found: `study.figures.history()`, ...

        Raises:
            SpecError: the study has not run in this program.
        """
        found = self._latest()
        if found is None:
            raise SpecError(f"study {self.name} has not run in this program yet.", "Call study.run() first.")
        return found.figures

    def _repr_html_(self) -> str | None:
        """What a notebook shows: what was found; the line of `repr` before that."""
        found = self._latest()
        return None if found is None else found._repr_html_()

    def _latest(self) -> StudyResults | None:
        return self._found if self._by_hand is None else self._by_hand.results()

    def _session(self) -> AskTell:
        if self._by_hand is None:
            from .ask_tell import AskTell

            self._by_hand = AskTell(self)
        return self._by_hand

    def __repr__(self) -> str:
        budget = self._spec.budget.trials
        goals = ", ".join(f"{objective.direction}={objective.metric!r}" for objective in self._spec.objectives)
        return f"Study({self.name!r}, {goals}, trials={budget})"


def _is_imported_by_a_worker() -> bool:
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return spec is not None and spec.name.startswith("shoal.trial_runner.")


def default_name(train: Train | Command) -> str:
    """The name of the file a study is written in, else of its function."""
    file = source_file(train)
    if file is not None:
        return fit_name(file.stem)
    return fit_name("command" if isinstance(train, Command) else getattr(train, "__name__", "study"))


def fit_name(text: str) -> str:
    """`text` as a study's name.

    >>> fit_name("my study (2)")
    'my-study-2'
    """
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("-_.")[:100] or "study"


def _workers(workers: int | tuple[int, int]) -> tuple[int, int]:
    pair = tuple(workers) if isinstance(workers, Sequence) else (workers, workers)
    if len(pair) != 2 or not all(isinstance(k, int) and not isinstance(k, bool) for k in pair):
        raise SpecError(f"workers={workers!r} is not a count or a pair.", "Use workers=1 or workers=(1, 4).")
    return pair[0], pair[1]


def _strategy(
    name: str | None, options: Mapping[str, Json], space: Space | None, objectives: tuple[Objective, ...]
) -> Chosen:
    from ..search.strategies import check

    if name is None:
        name = WITH_SPACE if space is not None else WITHOUT_SPACE
    if not isinstance(name, str):
        raise SpecError(f"strategy={name!r} is not a name.", "Use e.g. strategy='portfolio' or 'random'.")
    if not isinstance(options, Mapping):
        raise SpecError(f"strategy_options={options!r} is not a mapping.", "Use e.g. strategy_options={'n': 10}.")
    chosen = Chosen(name=name, options=dict(options))
    check(chosen, has_space=space is not None, objectives=objectives)
    return chosen


def _like(like: Any, space: Space | None) -> str | None:
    if like is None:
        return None
    if not isinstance(like, str) or not like:
        raise SpecError(f"like={like!r} is not a study's name.", "Use e.g. like='digits'; shoal ls lists them.")
    if space is None:
        raise SpecError(f"like={like!r} needs a declared space.", "Give the study a space=..., or leave like out.")
    return like


def _one_of(name: str, value: Any, allowed: tuple[str, ...]) -> Any:
    if value not in allowed:
        raise SpecError(f"{name}={value!r} is unknown.", f"Use one of {', '.join(map(repr, allowed))}.")
    return value
