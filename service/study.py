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
from ..search.spec import (
    Budget,
    Chosen,
    Direction,
    DuplicatesPolicy,
    EntryKind,
    Json,
    Objective,
    Resources,
    StudySpec,
    ValueFrom,
)
from ..spaces import Architecture, Space, as_space
from .entry import Command, Train, entry_point, source_file
from .pool import check_resources

if TYPE_CHECKING:
    from ..search.early_stopping.choices import RuleChoice
    from .ask_tell import Asked, AskTell
    from .head import Observer
    from .results import StudyResults


class Study:
    """A search: what may be tried, how to try it, which way is better, and how much to spend.

    Args:
        train: `train(trial)`, `objective(config) -> float`, an Optuna `objective(trial)` (without `space`),
        or
            `shoal.Command("...")`. See `service/entry.py` for how the kind is told.
        space: what can be tried; None: the function asks for its values itself (define by run).
        maximize, minimize: the name of the reported metric, or of the value an objective returns. One of
        the two. trials: how many configurations to try; None: until `time_limit_s`. strategy: "random",
        "grid", "sobol", "tpe", "gp", "cmaes", "nsga2", "optuna:<Sampler>". strategy_options: the strategy's
        own options by name. early_stopping: `shoal.ASHA(...)`, `shoal.Median()`, `shoal.Patience()`, ...,
        "optuna:<Pruner>", or None. workers: processes a trial, or (min, max); powers of two.
        gpus_per_worker: "auto" (1 where the pool has GPUs), 0, 0.25, 1, 2, ... cpus_per_worker: "auto" (1
        on a pool without GPUs), or a count. memory_gib: main memory a worker needs, GiB.
        threads_per_worker: a constant of the study: 1 and 2 threads differ in bits. shards: upper bound of
        logical shards (default: the largest number of workers). name: what the study is called; default:
        the name of its file. seed: every trial's and proposal's seed derives from it. max_failures: end the
        study after that many failed trials; None: never. trial_time_limit_s, time_limit_s: seconds for a
        trial, and for the study. reuse_workers: a worker takes trial after trial; for cheap functions
        without global state. value: a trial is judged by its "last" or its "best" reported value.
        duplicates: a configuration that comes again: "reuse" its result, "replicate" it, or "reject" it.
        enqueue: configurations to try first. kind: how `train` is called, where its signature leaves that
        open. priority: studies of a higher class go first when they share a pool.

    Raises:
        SpecError: anything above is wrong; the message names the value, what is allowed, and what to do.
        SpaceError: an enqueued configuration is outside of the space.
    """

    def __init__(
        self,
        *,
        train: Train | Command,
        space: Space | type[Space] | Architecture | type[Architecture] | None = None,
        maximize: str | None = None,
        minimize: str | None = None,
        trials: int | None = 60,
        strategy: str = "random",
        strategy_options: Mapping[str, Json] | None = None,
        early_stopping: RuleChoice | Chosen | str | None = None,
        workers: int | tuple[int, int] = 1,
        gpus_per_worker: str | float = "auto",
        cpus_per_worker: str | int = "auto",
        memory_gib: float | None = None,
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
        enqueue: Sequence[Mapping[str, Any]] = (),
        kind: EntryKind | None = None,
        priority: int = 0,
    ) -> None:
        space = None if space is None else as_space(space)
        low, high = _workers(workers)
        objective = _objective(maximize, minimize)
        self.train = train
        self.space = space
        self._given_name = name
        self._spec = StudySpec(
            name=default_name(train) if name is None else name,
            space=None if space is None else space.to_json(),
            objectives=(objective,),
            entry=entry_point(train, space, kind),
            strategy=_strategy(strategy, strategy_options or {}, space, objective),
            early_stopping=_stopping(early_stopping, objective),
            budget=Budget(
                trials=trials,
                max_failures=max_failures,
                trial_time_limit_s=trial_time_limit_s,
                study_time_limit_s=time_limit_s,
            ),
            resources=Resources(
                min_workers=low,
                max_workers=high,
                gpus_per_worker=str(gpus_per_worker),
                cpus_per_worker=str(cpus_per_worker),
                memory_gib=memory_gib,
                threads_per_worker=threads_per_worker,
            ),
            seed=seed,
            shards=shards,
            reuse_workers=reuse_workers,
            value_from=_one_of("value", value, ("last", "best")),
            duplicates=_one_of("duplicates", duplicates, ("reuse", "replicate", "reject")),
            priority=priority,
        )
        check_resources(self._spec.resources)
        if not isinstance(enqueue, Sequence) or isinstance(enqueue, str):
            raise SpecError(f"enqueue={enqueue!r} is not a list.", "Use enqueue=[{'lr': 0.1}].")
        self.enqueue = tuple(_enqueued(config, space) for config in enqueue)
        self._file: Path | None = None
        self._by_hand: AskTell | None = None

    @property
    def name(self) -> str:
        return self._spec.name

    def spec(self, *, code: str = "", name: str | None = None) -> StudySpec:
        """The study as data. `code` is its archive's hash; `name` overrides a name that was not given."""
        return replace(self._spec, code=code, name=self._given_name or name or self._spec.name)

    def adapted(self, spec: StudySpec, *, file: Path | None = None) -> Study:
        """The same study with `spec` instead of its own (the command line's flags), found in `file`."""
        other = copy(self)
        other._spec, other._given_name = spec, spec.name
        other._file = self._file if file is None else file.resolve()
        other._by_hand = None
        return other

    def project_file(self) -> Path | None:
        """The file whose folder is archived for the workers; None in a notebook."""
        return self._file or source_file(self.train)

    def run(
        self,
        *,
        data: str | Path = ".shoal",
        logical_gpus: int | None = None,
        resume: bool = True,
        on_event: Observer | None = None,
    ) -> StudyResults:
        """Run the study in this program to its end and return what came out.

        Args:
            data: the data directory; a study of the same name there is resumed, or extended when `trials`
            grew. logical_gpus: pretend that this machine has so many GPUs. resume: False: refuse to go on
            with a study that exists already. on_event: called as `on_event(state, event)` after each event
            is in the journal.

        Raises:
            ShoalError: the study cannot run here; a failing *trial* does not raise.
            KeyboardInterrupt: Ctrl-C; what ran is paused, and the next `run` goes on.
        """
        from .running import run_studies

        if _is_imported_by_a_worker():
            raise SpecError(
                "study.run() is called while a worker imports this file.",
                "Put it under: if __name__ == '__main__':",
            )
        return run_studies(
            [self],
            data=Path(data),
            logical_gpus=logical_gpus,
            resume=resume,
            observers=() if on_event is None else (on_event,),
        )[0]

    def ask(self) -> Asked:
        """The next trial for people who run their own loop: `asked.number`, `asked.config`, `asked.seed`.

        Raises:
            StrategyError: the budget is spent or the space is exhausted.
        """
        return self._session().ask()

    def tell(self, asked: Asked | int, value: float | None = None, *, failed: str = "") -> None:
        """What became of an asked trial: its value, or `failed="why"`."""
        self._session().tell(asked, value, failed=failed)

    def report(self, asked: Asked | int, step: int, value: float) -> bool:
        """A value after `step` epochs of an asked trial; False: it was stopped, ask for the next one."""
        return self._session().report(asked, step, value)

    def results(self) -> StudyResults:
        """What `ask` and `tell` have found so far."""
        return self._session().results()

    def _session(self) -> AskTell:
        if self._by_hand is None:
            from .ask_tell import AskTell

            self._by_hand = AskTell(self)
        return self._by_hand

    def __repr__(self) -> str:
        budget = self._spec.budget.trials
        objective = self._spec.objective
        return f"Study({self.name!r}, {objective.direction}={objective.metric!r}, trials={budget})"


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


def _objective(maximize: str | None, minimize: str | None) -> Objective:
    if (maximize is None) == (minimize is None):
        both = "both maximize and minimize are set" if maximize is not None else "the study has no objective"
        raise SpecError(f"{both}.", "Set one of maximize='val_accuracy' or minimize='loss'.")
    metric = maximize if maximize is not None else minimize
    if not isinstance(metric, str):
        raise SpecError(f"objective {metric!r} is not a metric's name.", "Use e.g. maximize='val_accuracy'.")
    direction: Direction = "maximize" if maximize is not None else "minimize"
    return Objective(metric=metric, direction=direction)


def _workers(workers: int | tuple[int, int]) -> tuple[int, int]:
    pair = tuple(workers) if isinstance(workers, Sequence) else (workers, workers)
    if len(pair) != 2 or not all(isinstance(k, int) and not isinstance(k, bool) for k in pair):
        raise SpecError(f"workers={workers!r} is not a count or a pair.", "Use workers=1 or workers=(1, 4).")
    return pair[0], pair[1]


def _strategy(name: str, options: Mapping[str, Json], space: Space | None, objective: Objective) -> Chosen:
    from ..search.strategies import check

    if not isinstance(name, str):
        raise SpecError(f"strategy={name!r} is not a name.", "Use e.g. strategy='random' or 'tpe'.")
    if not isinstance(options, Mapping):
        raise SpecError(f"strategy_options={options!r} is not a mapping.", "Use e.g. strategy_options={'n': 10}.")
    chosen = Chosen(name=name, options=dict(options))
    check(chosen, has_space=space is not None, objectives=(objective,))
    return chosen


def _stopping(rule: RuleChoice | Chosen | str | None, objective: Objective) -> Chosen:
    from ..search.early_stopping import make_rule, to_chosen

    chosen = to_chosen(rule)
    make_rule(chosen, objective)  # says what is wrong with its options
    return chosen


def _enqueued(config: Mapping[str, Any], space: Space | None) -> tuple[Json, str]:
    """(configuration as JSON, key under which it counts once)."""
    if space is None:
        import json

        try:
            flat = dict(config)
            return flat, json.dumps(flat, sort_keys=True, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise SpecError(
                f"enqueue: {config!r} is not a mapping of plain values: {error}.", "Use enqueue=[{'lr': 0.1}]."
            ) from None
    valid = space.validate(config)
    return valid.to_json(), valid.key()


def _one_of(name: str, value: Any, allowed: tuple[str, ...]) -> Any:
    if value not in allowed:
        raise SpecError(f"{name}={value!r} is unknown.", f"Use one of {', '.join(map(repr, allowed))}.")
    return value
