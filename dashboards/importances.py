"""How much each parameter mattered: Optuna's evaluators over our trials, with intervals.

Every figure has a 90 % interval from evaluating again on random halves of the trials, drawn without replacement
(Politis and Romano 1994): the spread over halves equals that of the whole, since 1/m - 1/n = 1/n for m = n/2. Halves
and not bootstrap samples, since repeated points mislead an evaluator that looks at densities or trees.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from ..search.spec import Objective
from ..search.transitions import TrialStatus
from ..spaces import Domain
from ..spaces.values import Value
from .study_view import StudyView

if TYPE_CHECKING:
    from optuna.importance import BaseImportanceEvaluator
    from optuna.trial import FrozenTrial

Evaluator = Literal["ped_anova", "fanova", "mdi"]
EVALUATORS: tuple[Evaluator, ...] = ("ped_anova", "fanova", "mdi")

FEWEST = 10
"""Trials below which an importance is noise."""

HALVES: Mapping[Evaluator, int] = {"ped_anova": 8, "fanova": 3, "mdi": 5}
"""Evaluations behind an interval: eight put its ends within a third; the forests are slow."""

MOST_TRIALS: Mapping[Evaluator, int] = {"ped_anova": 1_000, "fanova": 150, "mdi": 500}
"""Trials given to an evaluator, evenly spread in time beyond that, so that it answers within three seconds."""

Z_90 = 1.64

Row = tuple[Mapping[str, Value], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Importance:
    """A parameter's share of what all parameters explain, and its 90 % interval.

    `trials` is how many of the trials that were judged had the parameter.
    """

    path: str
    share: float
    low: float
    high: float
    trials: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Ended trials as plain values, taken while the study's state may not change, evaluated afterwards.

    `stopped` of the rows are trials that were stopped or paused early.
    """

    objective: Objective
    rows: tuple[Row, ...]
    domains: Mapping[str, Domain]
    stopped: int = 0

    @property
    def completed(self) -> int:
        return len(self.rows) - self.stopped

    def told(self) -> str:
        """Which trials these are, in words."""
        if not self.stopped:
            return f"{self.completed} completed trials"
        return f"{self.completed} completed and {self.stopped} stopped or paused trials, by their last value"


def sample(view: StudyView, *, with_stopped: bool | None = None, metric: str = "") -> Sample:
    """What `importances` needs of a study.

    Args:
        view: the study.
        metric: which objective the values are of; empty: the first.
        with_stopped: also trials that a rule has stopped or paused, judged by their last value; None: only while fewer
            than 10 have completed, as early stopping may leave it at that for good.

    Raises:
        NotFound: the study has no such objective.
    """
    objective = view.objective_named(metric)
    completed = view.valued(objective, with_stopped=False)
    wanted = len(completed) < FEWEST if with_stopped is None else with_stopped
    chosen = view.judged(objective) if wanted else completed
    rows = tuple((view.flat(t), view.finite_value(t, objective)) for t in chosen)
    domains = {path: domain for path in view.paths if (domain := view.domain(path)) is not None}
    return Sample(
        objective=objective,
        rows=rows,
        domains=domains,
        stopped=sum(t.status is not TrialStatus.COMPLETED for t in chosen),
    )


def importances(data: Sample, *, evaluator: Evaluator = "ped_anova", seed: int = 0) -> list[Importance]:
    """Every parameter that varied, the most important first; none with fewer than 10 trials or all values equal.

    Args:
        data: the trials.
        evaluator: ped_anova (Watanabe et al. 2023: which parameters tell the best tenth from the rest; conditional
            parameters count where they are active), fanova (Hutter et al. 2014) or mdi (impurity in a random forest);
            the last two judge only parameters that every trial has.
        seed: of the halves.
    """
    limit = MOST_TRIALS[evaluator]
    rows = data.rows
    if len(rows) > limit:
        rows = tuple(rows[i] for i in np.linspace(0, len(rows) - 1, limit).astype(int))
    if len(rows) < FEWEST or len({value for _, value in rows}) == 1:
        return []
    paths = _varied(data, rows, everywhere=evaluator != "ped_anova")
    trials = _frozen(data, paths, rows)
    whole = _shares(data.objective, paths, trials, evaluator)
    rng = np.random.default_rng(seed)
    halves = [
        _shares(data.objective, paths, [trials[i] for i in rng.permutation(len(trials))[: len(trials) // 2]], evaluator)
        for _ in range(HALVES[evaluator] if whole else 0)
    ]
    found = [
        _with_interval(path, share, [h[path] for h in halves if path in h], sum(path in flat for flat, _ in rows))
        for path, share in whole.items()
    ]
    return sorted(found, key=lambda one: (-one.share, one.path))


def why_none(data: Sample) -> str:
    """Why there is no importance, in a sentence."""
    if len(data.rows) < FEWEST:
        return f"It takes at least {FEWEST} ended trials with a value; so far there are {data.told()}."
    return f"No parameter tells the {data.told()} apart."


def _varied(data: Sample, rows: Sequence[Row], *, everywhere: bool) -> list[str]:
    """Parameters with at least two values among the trials."""
    paths = []
    for path in data.domains:
        values = [repr(flat[path]) for flat, _ in rows if path in flat]
        if len(set(values)) > 1 and (not everywhere or len(values) == len(rows)):
            paths.append(path)
    return paths


def _frozen(data: Sample, paths: list[str], rows: Sequence[Row]) -> list[FrozenTrial]:
    """The trials as Optuna's, with the parameters that each has."""
    from optuna.trial import create_trial

    from ..search.strategies.optuna_encoding import encoding_of

    encodings = {path: encoding_of(data.domains[path]) for path in paths}
    return [
        create_trial(
            params={path: encodings[path].param(flat[path]) for path in paths if path in flat},
            distributions={path: encodings[path].distribution for path in paths if path in flat},
            value=value,
        )
        for flat, value in rows
    ]


def _shares(
    objective: Objective, paths: list[str], trials: list[FrozenTrial], evaluator: Evaluator
) -> dict[str, float]:
    """Importances that sum up to 1; empty where there is nothing to tell apart."""
    if len(paths) < 2:
        return dict.fromkeys(paths, 1.0)
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction=objective.direction)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study.add_trials(trials)
        try:
            # Not `params=paths`: Optuna 5.0's MDI then gives a parameter the figure of another one.
            raw = _evaluator(evaluator).evaluate(study)
        except (ValueError, RuntimeError):  # every trial has the same value
            return {}
    total = float(sum(raw.values()))
    return {path: float(value) / total for path, value in raw.items()} if total > 0 else {}


def _with_interval(path: str, share: float, halves: list[float], trials: int) -> Importance:
    spread = Z_90 * float(np.std(halves, ddof=1)) if len(halves) > 1 else 1.0
    return Importance(
        path=path, share=share, low=max(0.0, share - spread), high=min(1.0, share + spread), trials=trials
    )


def _evaluator(name: Evaluator) -> BaseImportanceEvaluator:
    from optuna.importance import (
        FanovaImportanceEvaluator,
        MeanDecreaseImpurityImportanceEvaluator,
        PedAnovaImportanceEvaluator,
    )

    if name == "fanova":
        return FanovaImportanceEvaluator(n_trees=16, max_depth=16, seed=0)
    if name == "mdi":
        return MeanDecreaseImpurityImportanceEvaluator(n_trees=16, max_depth=16, seed=0)
    return PedAnovaImportanceEvaluator()
