"""`StudySpec`: everything a study is, as plain data.

The head stores and reads only this; user code is named here (`EntryPoint`) and runs in workers alone.
Each class is valid by construction (`SpecError` otherwise) and round-trips through JSON.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from math import inf, isfinite, isnan
from typing import Any, Literal, Self

from ..errors import SpecError
from .reproducible import check_reproducible

Json = Any  # a JSON value: the one named boundary where the type is open

Direction = Literal["maximize", "minimize"]
EntryKind = Literal["trial", "objective", "optuna", "command"]
ValueFrom = Literal["last", "best"]
DuplicatesPolicy = Literal["reuse", "replicate", "reject"]
Relation = Literal["<=", ">="]

ALL = "all"
"""What early stopping takes as `metric` for all objectives; no objective may be called so."""

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
CONSTRAINT = re.compile(r"\s*(<=|>=)\s*(\S+)\s*")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _check_count(name: str, value: object, *, low: int | None) -> None:
    """Raises: SpecError: `value` is no whole number, or below `low`."""
    remedy = "Use a whole number." if low is None else f"Use {low} or more."
    if isinstance(value, bool) or not isinstance(value, int):
        raise SpecError(f"{name}={value!r} is not a whole number.", remedy)
    if low is not None and value < low:
        raise SpecError(f"{name}={value} is below {low}.", remedy)


def _check_distinct(what: str, names: list[str]) -> None:
    """Raises: SpecError: a name comes twice."""
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise SpecError(f"{what}: {twice!r} is given twice.", "Name each once.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """One metric and which way is better."""

    metric: str
    direction: Direction

    def __post_init__(self) -> None:
        if not self.metric.isidentifier():
            raise SpecError(f"metric {self.metric!r} is not a name.", "Use a Python identifier, e.g. val_accuracy.")
        if self.metric == ALL:
            raise SpecError(f"an objective cannot be called {ALL!r}.", "Choose another name for the metric.")
        if self.direction not in ("maximize", "minimize"):
            raise SpecError(f"direction {self.direction!r} is unknown.", "Use 'maximize' or 'minimize'.")

    def better(self, a: float, b: float) -> bool:
        """Is `a` strictly better than `b`?"""
        return a > b if self.direction == "maximize" else a < b

    def loss(self, value: float) -> float:
        """`value` turned so that smaller is better."""
        return -value if self.direction == "maximize" else value


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeConstraint:
    """A bound on a reported metric: a trial that ends outside of it is no solution, however good it is.

    `relation` is "<=" or ">="; the bound itself is inside.
    """

    metric: str
    relation: Relation
    bound: float

    def __post_init__(self) -> None:
        if not isinstance(self.metric, str) or not self.metric.isidentifier():
            raise SpecError(f"subject_to: metric {self.metric!r} is not a name.", "Use a Python identifier.")
        if self.relation not in ("<=", ">="):
            raise SpecError(f"subject_to: {self.metric} has relation {self.relation!r}.", "Use '<=' or '>='.")
        if not _is_number(self.bound) or not isfinite(self.bound):
            raise SpecError(f"subject_to: bound {self.bound!r} of {self.metric} is not a finite number.", "Use one.")

    @classmethod
    def parse(cls, metric: str, text: object) -> Self:
        """From what a person writes.

        >>> OutcomeConstraint.parse("latency_ms", "<= 5")
        OutcomeConstraint(metric='latency_ms', relation='<=', bound=5.0)

        Raises:
            SpecError: not of this form.
        """
        found = CONSTRAINT.fullmatch(text) if isinstance(text, str) else None
        remedy = f"Write subject_to={{{metric!r}: '<= 5'}} or '>= 0.9'."
        if found is None:
            raise SpecError(f"subject_to: {metric!r} has {text!r}, which is not a bound.", remedy)
        try:
            bound = float(found[2])
        except ValueError:
            raise SpecError(f"subject_to: {metric!r} has the bound {found[2]!r}, not a number.", remedy) from None
        return cls(metric=metric, relation="<=" if found[1] == "<=" else ">=", bound=bound)

    def distance(self, value: float) -> float:
        """How far `value` is from the bound, in units of it (of 1 where the bound is 0): positive outside.

        >>> OutcomeConstraint(metric="latency_ms", relation="<=", bound=5.0).distance(7.5)
        0.5
        """
        return (value - self.bound if self.relation == "<=" else self.bound - value) / (abs(self.bound) or 1.0)

    def excess(self, value: float | None) -> float:
        """How far it is outside, 0 inside; infinite for a value that is missing or not a number."""
        return inf if value is None or isnan(value) else max(self.distance(value), 0.0)

    def __str__(self) -> str:
        return f"{self.metric} {self.relation} {self.bound:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryPoint:
    """What a worker runs.

    `kind` says how it is called: `train(trial)`, `objective(config) -> float`, a plain Optuna
    `objective(trial)`, or a shell `command` with `{path}` placeholders. `module` is a dotted module
    inside the archived project, or `"__pickled__"` for functions that were defined in a notebook.
    """

    kind: EntryKind
    module: str = ""
    function: str = ""
    command: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A strategy or a stopping rule: its registered name and its options."""

    name: str
    options: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """What one trial asks of the pool.

    `gpus_per_worker` is "auto" (1 where the pool has GPUs, else 0) or an exact decimal such as "0.25";
    `cpus_per_worker` is "auto" (1 on a pool without GPUs, else 0) or a count. `memory_gib` is main memory of a worker,
    `gpu_memory_gib` what it needs on each of its GPUs. `threads_per_worker` is a constant of the study, since 1 thread
    and 2 threads differ in bits.
    """

    min_workers: int = 1
    max_workers: int = 1
    gpus_per_worker: str = "auto"
    cpus_per_worker: str = "auto"
    memory_gib: float | None = None
    threads_per_worker: int = 1
    gpu_memory_gib: float | None = None

    def __post_init__(self) -> None:
        low, high = self.min_workers, self.max_workers
        for name, k in (("min", low), ("max", high)):
            if k < 1 or k & (k - 1):
                raise SpecError(f"workers: {name} {k} is not a power of two.", "Use 1, 2, 4, 8, ...")
        if low > high:
            raise SpecError(f"workers=({low}, {high}) has min above max.", f"Use workers=({high}, {low}).")
        _check_count("threads_per_worker", self.threads_per_worker, low=1)
        for name in ("memory_gib", "gpu_memory_gib"):
            size = getattr(self, name)
            if size is not None and not (_is_number(size) and 0 < size < inf):
                raise SpecError(f"{name}={size!r} is not a number above 0.", "Use GiB, or leave it out.")


PRIORITY_WORDS: Mapping[str, int] = {"low": -1, "normal": 0, "high": 1}


def priority_class(value: object) -> int:
    """A priority class as a person writes it: a whole number, higher first, or one of three words.

    >>> priority_class("high"), priority_class(5)
    (1, 5)

    Raises:
        SpecError: neither.
    """
    if isinstance(value, str) and value in PRIORITY_WORDS:
        return PRIORITY_WORDS[value]
    if isinstance(value, bool) or not isinstance(value, int):
        remedy = f"Use {', '.join(PRIORITY_WORDS)}, or a whole number: higher goes first."
        raise SpecError(f"priority={value!r} is no priority.", remedy)
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """How much a study may spend. None means no limit. Times in seconds.

    Once `gpu_hours` are spent or promised to running trials, nothing new starts and the furthest trial is brought to
    its end. On a pool without GPUs they are CPU-hours.
    """

    trials: int | None
    max_failures: int | None = None
    trial_time_limit_s: float | None = None
    study_time_limit_s: float | None = None
    gpu_hours: float | None = None

    def __post_init__(self) -> None:
        for name in ("trials", "max_failures"):
            if getattr(self, name) is not None:
                _check_count(name, getattr(self, name), low=1)
        if self.trials is None and self.study_time_limit_s is None:
            raise SpecError("the study has no end: neither trials nor a time limit is set.", "Set trials=60.")
        for name in ("trial_time_limit_s", "study_time_limit_s", "gpu_hours"):
            limit = getattr(self, name)
            if limit is not None and not (_is_number(limit) and 0 < limit < inf):
                unit = "hours" if name == "gpu_hours" else "seconds"
                raise SpecError(f"{name}={limit!r} is not a number above 0.", f"Use {unit}, or leave it out.")


@dataclass(frozen=True, slots=True, kw_only=True)
class StudySpec:
    """A study as data.

    `space` is the space's JSON tree, None for a define-by-run Optuna objective. `code` is the content hash
    (sha256, hex) of the archived project, "" for a study without files. `shards` is V's upper bound
    (None: `max_workers`). `value_from` says which reported value a trial is judged by at its end; with several
    objectives all are read from the same report, and "best" is the best of the first. `reproducible`: trial n is
    proposed from the results of trials below n minus this, whatever the timing (None: from all that there are by then).
    """

    name: str
    space: Json
    objectives: tuple[Objective, ...]
    entry: EntryPoint
    strategy: Chosen
    early_stopping: Chosen
    budget: Budget
    resources: Resources = field(default_factory=Resources)
    seed: int = 0
    code: str = ""
    shards: int | None = None
    reuse_workers: bool = False
    value_from: ValueFrom = "last"
    duplicates: DuplicatesPolicy = "reuse"
    priority: int = 0
    weight: float = 1.0
    constraints: tuple[OutcomeConstraint, ...] = ()
    reproducible: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not NAME.fullmatch(self.name):
            raise SpecError(
                f"study name {self.name!r} is not allowed.",
                "Use up to 100 letters, digits, '_', '-' or '.', starting with a letter or digit.",
            )
        if not self.objectives:
            raise SpecError("the study has no objective.", "Set maximize='...' or minimize='...'.")
        _check_distinct("objective", [objective.metric for objective in self.objectives])
        _check_distinct("subject_to", [f"{c.metric} {c.relation}" for c in self.constraints])
        _check_count("seed", self.seed, low=0)
        if self.seed >= 2**63:
            raise SpecError(f"seed={self.seed} is outside [0, 2^63).", "Use a smaller one.")
        _check_count("priority", self.priority, low=None)
        if not _is_number(self.weight) or not 0 < self.weight < inf:
            raise SpecError(f"weight={self.weight!r} is not a number above 0.", "Use 1 for an equal share.")
        if self.shards is not None:
            _check_count("shards", self.shards, low=1)
        if not isinstance(self.reuse_workers, bool):
            raise SpecError(f"reuse_workers={self.reuse_workers!r} is neither True nor False.", "Use one of them.")
        check_reproducible(self)

    @property
    def objective(self) -> Objective:
        """The first objective: the one that curves show and that early stopping looks at unless it names another."""
        return self.objectives[0]

    @property
    def watched(self) -> Objective:
        """The objective that early stopping looks at; the first also where it looks at all."""
        named = self.early_stopping.options.get("metric")
        if named is None or named == ALL:
            return self.objectives[0]
        return next((objective for objective in self.objectives if objective.metric == named), self.objective)

    @property
    def watches_all(self) -> bool:
        """Does early stopping look at all objectives?"""
        return self.early_stopping.options.get("metric") == ALL

    @property
    def max_shards(self) -> int:
        return self.shards if self.shards is not None else self.resources.max_workers

    def to_json(self) -> Json:
        body = asdict(self)
        body["objectives"] = [asdict(o) for o in self.objectives]
        body["constraints"] = [asdict(c) for c in self.constraints]
        return body

    @classmethod
    def from_json(cls, body: Json) -> Self:
        parts = dict(body)
        parts["objectives"] = tuple(Objective(**o) for o in body["objectives"])
        parts["constraints"] = tuple(OutcomeConstraint(**c) for c in body.get("constraints", ()))
        parts["entry"] = EntryPoint(**body["entry"])
        parts["strategy"] = Chosen(**body["strategy"])
        parts["early_stopping"] = Chosen(**body["early_stopping"])
        parts["budget"] = Budget(**body["budget"])
        parts["resources"] = Resources(**body["resources"])
        return cls(**parts)
