"""shoal's strategies as Optuna samplers, for anybody's `optuna.create_study(sampler=...)`.

    import optuna, shoal
    study = optuna.create_study(sampler=shoal.optuna.RandomForestSampler(seed=1))

The objective stays as it is, `trial.suggest_...` and all. Which parameters depend on which is learned from the trials
(`search/strategies/inferred_space.py`), so conditional spaces are modelled as such from the second time a branch is
taken. A parameter that no trial has had before is drawn at random: Optuna tells of it only when it is asked for.

Pruned trials teach by their curve, failed ones that their place is bad, running ones that their place is taken. What
the objective gives to `trial.set_constraint` is an outcome constraint. A range that changes from trial to trial is that
of the latest trial, older values are moved into it.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from shoal.errors import SpecError
from shoal.search import strategies
from shoal.search.spec import Chosen, Json, Objective, OutcomeConstraint
from shoal.search.strategies.inferred_space import InferredSpace, inferred_space
from shoal.search.strategies.port import Pending, Result, Strategy
from shoal.spaces import Categorical, Configuration, Domain, Float, Int

__all__ = ["BayesianSampler", "EvolutionSampler", "PortfolioSampler", "RandomForestSampler", "ReinforcementSampler"]

FINISHED = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL)


class StrategySampler(BaseSampler):
    """One of shoal's strategies.

    Args:
        seed: proposals depend on it and on the study's trials alone; None: a random one.
        options: those of the strategy, see `shoal strategies NAME`.

    Raises:
        SpecError: an unknown option or a bad value.
    """

    strategy: str

    def __init__(self, *, seed: int | None = None, **options: Json) -> None:
        self._chosen = Chosen(name=self.strategy, options=options)
        strategies.check(self._chosen, has_space=True, objectives=(Objective(metric="value", direction="minimize"),))
        self._seed = _checked_seed(int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else seed)
        self._independent = RandomSampler(seed=self._seed)
        self._made: Strategy | None = None
        self._made_for: Json = None
        self._told: set[int] = set()
        self._attrs: dict[tuple[str, int], Json] = {}
        """What the strategy wants back with a trial's result, by study and number."""
        self._lock = threading.Lock()  # `study.optimize(n_jobs=4)` asks one sampler from several threads

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._lock = threading.Lock()

    def reseed_rng(self) -> None:
        """Called by Optuna in every worker process, so that they do not all propose the same."""
        self._seed = int(np.random.SeedSequence().generate_state(1)[0])
        self._independent.reseed_rng()

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """Every parameter that any trial has had, by its latest distribution."""
        found: dict[str, BaseDistribution] = {}
        for past in study.get_trials(deepcopy=False):
            found.update(past.distributions)
        return {name: distribution for name, distribution in found.items() if not distribution.single()}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """The strategy's proposal, as far as its own conditions make it active."""
        with self._lock:
            return self._proposed(study, trial, search_space) if search_space else {}

    def _proposed(self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]) -> dict[str, Any]:
        trials = [past for past in study.get_trials(deepcopy=False) if past.number != trial.number and past.params]
        known = {past.number: _known(past, search_space) for past in trials}
        domains = {name: _domain(distribution) for name, distribution in search_space.items()}
        finished = [known[past.number] for past in trials if past.state in FINISHED]
        inferred = inferred_space(domains, finished or list(known.values()))
        constraints = tuple(sorted({name for past in trials for name in past.constraints}))
        strategy = self._strategy(inferred, study, constraints)
        fresh = [past for past in trials if past.state in FINISHED and past.number not in self._told]
        for past in fresh:
            config, attrs = inferred.configuration(known[past.number]), self._attrs.get((study.study_name, past.number))
            strategy.tell([_result(past, config, attrs, len(study.directions), constraints)])
        self._told.update(past.number for past in fresh)
        pending = [
            Pending(number=past.number, config=inferred.configuration(known[past.number]), curve=_curve(past))
            for past in trials
            if past.state == TrialState.RUNNING
        ]
        seed = int(np.random.SeedSequence((self._seed, trial.number)).generate_state(1)[0])
        proposals = strategy.ask(trial.number, 1, pending, seed)
        if not proposals or proposals[0].config is None:
            return {}  # the space is exhausted: Optuna goes on asking, so anything may come again
        self._attrs[study.study_name, trial.number] = proposals[0].attrs
        params = inferred.params(proposals[0].config)
        return {name: _external(search_space[name], value) for name, value in params.items()}

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """A parameter that the proposal does not have."""
        return self._independent.sample_independent(study, trial, param_name, param_distribution)

    def _strategy(self, inferred: InferredSpace, study: Study, constraints: Sequence[str]) -> Strategy:
        """The strategy of a study's space as it is known now; a new one when more has become known."""
        goals = [[direction.name for direction in study.directions], list(constraints)]
        body = [study.study_name, list(inferred.names), inferred.space.to_json(), *goals]
        if self._made is None or body != self._made_for:
            objectives = [
                Objective(metric=f"value_{place}", direction="maximize" if _is_up(direction) else "minimize")
                for place, direction in enumerate(study.directions)
            ]
            bounds = [
                OutcomeConstraint(metric=f"constraint_{place}", relation="<=", bound=0.0)
                for place in range(len(constraints))
            ]
            self._made = strategies.make(self._chosen, inferred.space, objectives, seed=self._seed, constraints=bounds)
            self._made_for, self._told = body, set()
        return self._made


class RandomForestSampler(StrategySampler):
    """Random trees predict the loss: strong in conditional spaces."""

    strategy = "random_forest"


class BayesianSampler(StrategySampler):
    """A Gaussian process over conditional and mixed parameters."""

    strategy = "bayesian"


class EvolutionSampler(StrategySampler):
    """Aging evolution: cheap, for architectures and several objectives."""

    strategy = "evolution"


class ReinforcementSampler(StrategySampler):
    """A policy that is trained on the good trials."""

    strategy = "reinforcement"


class PortfolioSampler(StrategySampler):
    """Forest, Gaussian process, TPE and evolution, each as often as it has earned."""

    strategy = "portfolio"


def _checked_seed(seed: int) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**32:
        raise SpecError(f"seed={seed!r} is not a whole number in [0, 2^32).", "Use e.g. seed=1, or None.")
    return int(seed)


def _known(trial: FrozenTrial, search_space: Mapping[str, BaseDistribution]) -> dict[str, Any]:
    """A trial's parameters, moved into the ranges of `search_space`; of categories the index."""
    found: dict[str, Any] = {}
    for name, value in trial.params.items():
        match search_space.get(name):
            case CategoricalDistribution() as distribution if value in distribution.choices:
                found[name] = int(distribution.to_internal_repr(value))
            case FloatDistribution() | IntDistribution() as distribution if isinstance(value, int | float):
                found[name] = _inside(distribution, value)
    return found


def _inside(distribution: FloatDistribution | IntDistribution, value: float) -> float:
    """The nearest value of the range."""
    low, high, step = distribution.low, distribution.high, distribution.step
    value = min(max(value, low), high)
    if step is None or distribution.log:
        return value
    nearest = low + round((value - low) / step) * step
    return int(nearest) if isinstance(distribution, IntDistribution) else min(nearest, high)


def _domain(distribution: BaseDistribution) -> Domain:
    match distribution:
        case FloatDistribution():
            return Float(distribution.low, distribution.high, log=distribution.log, step=distribution.step)
        case IntDistribution():
            step = None if distribution.step == 1 else distribution.step
            return Int(distribution.low, distribution.high, log=distribution.log, step=step)
        case CategoricalDistribution():
            return Categorical(range(len(distribution.choices)))
    raise SpecError(f"{distribution} is no distribution that shoal knows.", "Suggest floats, integers or categories.")


def _external(distribution: BaseDistribution, value: Any) -> Any:
    return distribution.choices[value] if isinstance(distribution, CategoricalDistribution) else value


def _result(
    trial: FrozenTrial, config: Configuration, attrs: Json, objectives: int, constraints: Sequence[str]
) -> Result:
    """What became of a finished trial."""
    curve = _curve(trial)
    values = None if trial.values is None else tuple(trial.values)
    if trial.state == TrialState.PRUNED and values is None and curve and objectives == 1:
        values = (curve[-1][1],)
    started, ended = trial.datetime_start, trial.datetime_complete
    state = {TrialState.COMPLETE: "completed", TrialState.PRUNED: "stopped"}.get(trial.state, "failed")
    return Result(
        number=trial.number,
        config=config,
        attrs=attrs,
        state=state,  # type: ignore[arg-type]
        values=values,
        outcomes=tuple(trial.constraints.get(name) for name in constraints),
        curve=curve,
        cost_s=0.0 if started is None or ended is None else max((ended - started).total_seconds(), 0.0),
    )


def _curve(trial: FrozenTrial) -> tuple[tuple[int, float], ...]:
    points = sorted(trial.intermediate_values.items())
    return tuple((step, value) for step, value in points if not math.isnan(value))


def _is_up(direction: StudyDirection) -> bool:
    return direction == StudyDirection.MAXIMIZE
