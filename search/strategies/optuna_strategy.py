"""Any Optuna sampler behind our port.

What the sampler sees is a study whose trials are exactly those told and those pending, in order of their numbers, so a
proposal depends on (that set, the seed) alone, except for samplers with `replays_asks`, whose generations live in
attributes of their own former trials. Pending trials are Optuna's RUNNING ones, stopped ones PRUNED with their curve,
failed, cancelled, infeasible and NaN ones FAIL, and completed ones of which a constraint's metric is not known. The
space is walked from the top, so only active decisions are asked.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.trial import FrozenTrial, Trial, TrialState

from ...spaces import Configuration, Decision, Domain, Space
from ..spec import Json, Objective, OutcomeConstraint
from .define_by_run import domain_from_json
from .optuna_encoding import Encoding, encoding_of
from .optuna_samplers import MakeSampler, SamplerTraits
from .optuna_storage import STUDY_NAME, TrialsStorage, frozen_trial
from .port import Pending, Proposal, Result
from .unseen import Unseen

OUTSIDE = 1e100
"""Told as the loss of what is just outside of the constraints, to samplers that look at the order of losses alone."""

Params = tuple[dict[str, Any], dict[str, BaseDistribution]]


class OptunaStrategy:
    """Configurations from an Optuna sampler.

    Args:
        title: how reasons call it, e.g. "tpe".
        space: None for a define-by-run study.
        make_sampler: a sampler from a seed below 2^32.
    """

    uses_history = True

    def __init__(
        self,
        title: str,
        space: Space | None,
        objectives: Sequence[Objective],
        traits: SamplerTraits,
        make_sampler: MakeSampler,
        constraints: Sequence[OutcomeConstraint] = (),
    ) -> None:
        self._title = title
        self._space = space
        self._traits = traits
        self._make_sampler = make_sampler
        self._objectives = tuple(objectives)
        self._constraints = tuple(constraints) if traits.constraints != "none" else ()
        self.replays_asks = traits.replays_asks
        self._storage = TrialsStorage([objective.direction for objective in objectives])
        self._study = optuna.load_study(study_name=STUDY_NAME, storage=self._storage, sampler=make_sampler(0))
        self._unseen = None if space is None else Unseen(space)
        self._encodings: dict[str, Encoding] = {}
        if space is not None:
            self._encodings = {d.path: encoding_of(d.domain) for d in space.all_decisions()}
        self._live: dict[int, Trial] = {}

    def tell(self, results: Sequence[Result]) -> None:
        for result in results:
            self._live.pop(result.number, None)
            self._storage.trials[result.number] = self._finished(result)
        if self._unseen is not None:
            self._unseen.note(result.config for result in results)

    def ask(self, first_number: int, n: int, pending: Sequence[Pending], seed: int) -> list[Proposal]:
        self._show_pending(pending)
        if self._space is None:
            reason = f"{self._title} decides as the trial asks"
            return [Proposal(config=None, reason=reason) for _ in range(n)]
        proposals = []
        for number in range(first_number, first_number + n):
            proposal = self._propose(number, seed, self._space)
            if proposal is None:
                break
            proposals.append(proposal)
        return proposals

    def suggest(self, number: int, path: str, domain: Json, seed: int) -> Json:
        """Optuna's own `trial.suggest_*`; a path asked again has the same answer."""
        leaf = _leaf(json.dumps(domain))
        encoding = encoding_of(leaf)
        self._study.sampler = self._make_sampler(_seed(seed))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trial = self._live.get(number)
            if trial is None:
                trial = self._live[number] = self._open(number)
            return leaf.encode(encoding.suggest(trial, _open_name(path, encoding.distribution)))

    def _propose(self, number: int, seed: int, space: Space) -> Proposal | None:
        assert self._unseen is not None
        done, running = self._counts()
        reason = f"{self._title} from {done} results, {running} trials open"
        rng = np.random.default_rng((seed, number))
        chosen: Configuration | None = None
        broken: Configuration | None = None
        for attempt in range(self._traits.attempts):
            config = self._draw(number, _seed(seed, number, attempt), space)
            if space.violations(config):
                broken = broken or config
            elif config in self._unseen:
                chosen = config
                break
        if chosen is None and broken is not None:
            repaired = space.repair(broken, rng)
            if repaired in self._unseen:
                chosen, reason = repaired, f"{reason}; repaired to honour the rules"
        if chosen is None:
            chosen = self._unseen.draw(lambda: space.sample(rng), rng)
            reason = f"{reason}; random, since what the model wants was tried"
        attrs = self._storage.trials.pop(number).system_attrs
        if chosen is None:
            return None
        self._unseen.note([chosen])
        self._storage.trials[number] = self._running(number, self._params(chosen, {}, {}), (), attrs)
        return Proposal(config=chosen, reason=reason)

    def _draw(self, number: int, seed: int, space: Space) -> Configuration:
        self._storage.trials.pop(number, None)
        self._study.sampler = self._make_sampler(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trial = self._open(number)

            def decide(decision: Decision) -> Any:
                return self._encodings[decision.path].suggest(trial, decision.path)

            return space.build(decide)

    def _open(self, number: int) -> Trial:
        self._storage.next_number = number
        return self._study.ask()

    def _show_pending(self, pending: Sequence[Pending]) -> None:
        """Make the running trials exactly the pending ones."""
        trials = self._storage.trials
        numbers = {trial.number for trial in pending}
        for number in [n for n, trial in trials.items() if trial.state == TrialState.RUNNING and n not in numbers]:
            del trials[number]
            self._live.pop(number, None)
        for waiting in pending:
            if waiting.number in self._live:
                continue  # Optuna's trial object writes its own record
            known = trials.get(waiting.number)
            attrs = known.system_attrs if known is not None else {}
            params = self._params(waiting.config, waiting.flat, waiting.domains)
            trials[waiting.number] = self._running(waiting.number, params, waiting.curve, attrs)
        if self._unseen is not None:
            self._unseen.note(trial.config for trial in pending)

    def _running(
        self, number: int, params: Params, curve: Sequence[tuple[int, float]], attrs: dict[str, Any]
    ) -> FrozenTrial:
        kept = attrs if self.replays_asks else {}  # others cache there what they wanted before a repair
        return frozen_trial(
            number, TrialState.RUNNING, params=params[0], distributions=params[1], curve=curve, system_attrs=kept
        )

    def _finished(self, result: Result) -> FrozenTrial:
        known = self._storage.trials.get(result.number)
        distances = self._distances(result)
        state, values = self._outcome(result, distances)
        params, distributions = self._params(result.config, result.flat, result.domains)
        trial = frozen_trial(
            result.number, state, params=params, distributions=distributions, values=values, curve=result.curve,
            system_attrs=dict(known.system_attrs) if known is not None and self.replays_asks else {},
        )  # fmt: skip
        if distances is not None and self._traits.constraints == "own":
            for constraint, distance in zip(self._constraints, distances, strict=True):
                trial.set_constraint(str(constraint), distance)
        return trial

    def _distances(self, result: Result) -> tuple[float, ...] | None:
        """How far the trial is from every constraint's bound, positive outside; None where one is not known."""
        outcomes = result.outcomes or (None,) * len(self._constraints)
        pairs = zip(self._constraints, outcomes, strict=True) if self._constraints else ()
        known = [(constraint, value) for constraint, value in pairs if value is not None and math.isfinite(value)]
        found = tuple(constraint.distance(value) for constraint, value in known)
        return found if len(found) == len(self._constraints) else None

    def _outcome(
        self, result: Result, distances: tuple[float, ...] | None
    ) -> tuple[TrialState, tuple[float, ...] | None]:
        values = result.values
        has_values = values is not None and not any(math.isnan(value) for value in values)
        if result.state == "completed" and has_values and distances is not None:
            excess = sum(max(distance, 0.0) for distance in distances)
            if excess > 0 and self._traits.constraints == "penalty":
                return TrialState.COMPLETE, (self._objectives[0].loss(OUTSIDE * (1.0 + excess)),)
            return TrialState.COMPLETE, values
        if result.state == "stopped" and len(self._study.directions) == 1:
            return TrialState.PRUNED, values if has_values else None
        return TrialState.FAIL, None

    def _params(self, config: Configuration | None, flat: Mapping[str, Json], domains: Mapping[str, Json]) -> Params:
        params: dict[str, Any] = {}
        distributions: dict[str, BaseDistribution] = {}
        if config is not None and self._space is not None:
            for decision, value in self._space.decisions_of(config):
                encoding = self._encodings[decision.path]
                params[decision.path] = encoding.param(value)
                distributions[decision.path] = encoding.distribution
        for path, domain in domains.items() if config is None else ():
            leaf = _leaf(json.dumps(domain))
            encoding = encoding_of(leaf)
            name = _open_name(path, encoding.distribution)
            params[name] = encoding.param(leaf.parse(flat[path], path))
            distributions[name] = encoding.distribution
        return params, distributions

    def _counts(self) -> tuple[int, int]:
        running = sum(trial.state == TrialState.RUNNING for trial in self._storage.trials.values())
        return len(self._storage.trials) - running, running


def _seed(*parts: int) -> int:
    """A seed below 2^32, which is what Optuna's generators take."""
    return int(np.random.SeedSequence(parts).generate_state(1)[0])


def _open_name(path: str, distribution: BaseDistribution) -> str:
    """Optuna's name for a define-by-run path. Ranges may change from trial to trial, the kind of parameter may not: two
    trials that ask `x` as a float and as a category have two parameters."""
    kind = type(distribution).__name__.removesuffix("Distribution").lower()
    if isinstance(distribution, CategoricalDistribution):
        return f"{path}:{kind}[{len(distribution.choices)}]"
    return f"{path}:{kind}{'-log' if getattr(distribution, 'log', False) else ''}"


@lru_cache(maxsize=4096)
def _leaf(domain: str) -> Domain:
    return domain_from_json(json.loads(domain))
