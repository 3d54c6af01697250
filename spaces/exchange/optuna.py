"""Optuna: distributions from a space and back, and suggestions through a trial."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...errors import SpaceError
from ..configuration import Configuration
from ..domain import Domain
from ..float_domain import Float
from ..int_domain import Int
from ..listed_domains import Categorical, Listed, Ordinal
from ..node import Node
from ..sites import Decision
from ..space import Space
from ..values import Value, encode_value, shown
from .losses import Lossy, refuse_losses

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution


def to_optuna(space: Space, *, lossy: Lossy = "refuse") -> dict[str, BaseDistribution]:
    """A distribution for every unrolled path.

    A dictionary of distributions has no conditions and no rules; with `suggest` nothing of them is lost.

    Raises:
        SpaceError: something would be lost and `lossy` is "refuse".
    """
    refuse_losses("A dictionary of Optuna distributions", _losses(space), lossy)
    return {decision.path: _distribution(decision.domain) for decision in space.all_decisions()}


def suggest(space: Space, trial: Any) -> Configuration:
    """A configuration whose every active decision is asked of an Optuna trial, in order; rules are not looked at.

    Args:
        space: the space.
        trial: an `optuna.Trial` (or anything with its `suggest_*`).
    """

    def decide(decision: Decision) -> Value:
        domain, path = decision.domain, decision.path
        match domain:
            case Float():
                return trial.suggest_float(path, domain.low, domain.high, step=domain.step, log=domain.log)
            case Int():
                return trial.suggest_int(path, domain.low, domain.high, step=domain.step or 1, log=domain.log)
            case Listed():
                names = _category_names(domain)
                return domain.values[names.index(trial.suggest_categorical(path, names))]
        raise AssertionError(domain)

    return space.build(decide)


def from_optuna(distributions: Mapping[str, BaseDistribution]) -> Space:
    """A flat space from a study's distributions, for example `study.best_trial.distributions`.

    Raises:
        SpaceError: a name that is not an identifier, or a distribution of another kind.
    """
    nodes: dict[str, Node] = {name: _domain(name, distribution) for name, distribution in distributions.items()}
    return Space(rules=(), **nodes)


def _losses(space: Space) -> list[str]:
    losses = []
    conditional = [decision.path for decision in space.all_decisions() if decision.optional]
    if conditional:
        losses.append(f"that {conditional[0]} and {len(conditional) - 1} others are not always active")
    if space.has_rules or space.constraints:
        losses.append("the rules")
    for decision in space.all_decisions():
        if isinstance(decision.domain, Ordinal):
            losses.append(f"the order of {decision.path}")
        if getattr(decision.domain, "prior", None) is not None:
            losses.append(f"the prior of {decision.path}")
        if isinstance(decision.domain, Listed) and _category_names(decision.domain) != list(decision.domain.values):
            losses.append(f"the types of the values of {decision.path}")
    return losses


def _distribution(domain: Domain) -> BaseDistribution:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    match domain:
        case Float():
            return FloatDistribution(domain.low, domain.high, log=domain.log, step=domain.step)
        case Int():
            return IntDistribution(domain.low, domain.high, log=domain.log, step=domain.step or 1)
        case Listed():
            return CategoricalDistribution(_category_names(domain))
    raise AssertionError(domain)


def _category_names(domain: Listed) -> list[Any]:
    """The values themselves where Optuna can tell them apart (it compares with ==), else their JSON."""
    values = list(domain.values)
    plain = all(value is None or isinstance(value, (bool, int, float, str)) for value in values)
    if plain and len(set(values)) == len(values):
        return values
    return [json.dumps(encode_value(value), sort_keys=True) for value in values]


def _domain(name: str, distribution: BaseDistribution) -> Domain:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    match distribution:
        case FloatDistribution():
            return Float(distribution.low, distribution.high, log=distribution.log, step=distribution.step)
        case IntDistribution():
            step = None if distribution.step == 1 else distribution.step
            return Int(distribution.low, distribution.high, log=distribution.log, step=step)
        case CategoricalDistribution():
            return Categorical(distribution.choices)
    raise SpaceError(
        f"{name} = {shown(distribution)} is not a Float, Int or Categorical distribution.", "Leave it out."
    )
