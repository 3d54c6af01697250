"""Our decisions as Optuna's parameters, and back.

Values are never given to Optuna as they are: categories and everything that has steps go by index (so that True, 1 and
1.0 stay three values, and a step's end point is kept), and what a double cannot carry goes by its place in [0, 1].
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import Trial

from ...spaces import Categorical, Domain, Float, Int, Ordinal

EXACT = 2**53
"""Integers up to this size are doubles without loss; Optuna computes in doubles."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoding:
    """How one decision is put to Optuna. `value` and `param` are inverse to each other (`param` to rounding)."""

    distribution: BaseDistribution
    value: Callable[[Any], Any]
    param: Callable[[Any], Any]

    def suggest(self, trial: Trial, name: str) -> Any:
        """Let Optuna decide; our value."""
        match self.distribution:
            case CategoricalDistribution(choices=choices):
                return self.value(trial.suggest_categorical(name, choices))
            case IntDistribution(low=low, high=high, log=log):
                return self.value(trial.suggest_int(name, low, high, log=log))
            case FloatDistribution(low=low, high=high, log=log):
                return self.value(trial.suggest_float(name, low, high, log=log))
        raise AssertionError(self.distribution)


def encoding_of(domain: Domain) -> Encoding:
    """The encoding of a leaf domain. A prior is not passed on: Optuna has no place for one."""
    size = domain.size()
    match domain:
        case Categorical():
            return _indexed(domain, CategoricalDistribution(range(len(domain.values))), domain.index)
        case Ordinal():
            return _indexed(domain, IntDistribution(0, len(domain.values) - 1), domain.index)
        case Int(step=None) if max(abs(domain.low), abs(domain.high)) <= EXACT:
            return _direct(IntDistribution(domain.low, domain.high, log=domain.log))
        case Float(step=None) if math.isfinite(domain.high - domain.low):
            return _direct(FloatDistribution(domain.low, domain.high, log=domain.log))
        case Int(step=int(step)) if size is not None and size <= EXACT:
            return _indexed(domain, IntDistribution(0, size - 1), lambda value: (value - domain.low) // step)
        case Float(step=float(step)) if size is not None and size <= EXACT:
            return _indexed(domain, IntDistribution(0, size - 1), lambda value: round((value - domain.low) / step))
    return Encoding(distribution=FloatDistribution(0.0, 1.0), value=domain.from_unit, param=domain.to_unit)


def _direct(distribution: BaseDistribution) -> Encoding:
    return Encoding(distribution=distribution, value=lambda param: param, param=lambda value: value)


def _indexed(domain: Domain, distribution: BaseDistribution, index: Callable[[Any], int]) -> Encoding:
    points = domain.points(1)
    return Encoding(distribution=distribution, value=lambda param: points[param], param=index)
