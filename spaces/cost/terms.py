"""Predicted costs as terms of a rule: `require(lambda s: cost(s.net).parameters <= 5e6)`."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import lru_cache

from ...errors import SpaceError
from ..configuration import Configuration
from ..expressions import Predicted, Variable
from ..family import Family
from ..naming import did_you_mean, listing
from ..symbols import ChoiceSymbol, RecordSymbol, Symbol, Term
from ..values import Value, shown
from .prediction import Prediction, predict_configuration

QUANTITIES = ("parameters", "macs", "work", "depth")


class CostSymbol:
    """The predicted costs of an architecture, inside a rule; its attributes are `QUANTITIES`, of one sample."""

    __slots__ = ("_part",)

    def __init__(self, part: Variable) -> None:
        self._part = part

    def __getattr__(self, quantity: str) -> Term:
        if quantity not in QUANTITIES:
            raise SpaceError(
                f"A rule names {quantity!r}, which is not a predicted cost; there are: {listing(QUANTITIES)}."
                f"{did_you_mean(quantity, QUANTITIES)}",
                "Name one of these.",
            )
        return Term(Predicted(self._part, quantity))


def cost(part: object) -> CostSymbol:
    """The predicted costs of an architecture in a rule.

    Args:
        part: the symbolic space of an architecture (`s` in its own rules, `s.net` where it is a part), or a `Choice`
            between architectures.

    A rule with costs is checked wherever the class of the architecture may be loaded: for the families of shoal
    everywhere, for a user's own in the worker.

    Raises:
        SpaceError: `part` is not an architecture.
    """
    architecture = isinstance(part, ChoiceSymbol) or (isinstance(part, RecordSymbol) and part.architecture is not None)
    if isinstance(part, Symbol) and isinstance(part.expression, Variable) and architecture:
        return CostSymbol(part.expression)
    raise SpaceError(
        f"cost({shown(part)}): not an architecture.", "Give the parameter that holds one: cost(s.net).parameters."
    )


def predicted(configuration: Configuration, quantity: str) -> Value:
    """The value of a term."""
    values = json.dumps(configuration.to_json(), sort_keys=True)
    query = _Query(configuration.space.architecture, values, configuration)
    return getattr(_prediction(query), quantity)


@dataclass(frozen=True, slots=True)
class _Query:
    """A configuration of a family, by its exact values: cells with the same key may differ in parameters."""

    architecture: Family | None
    values: str
    configuration: Configuration = field(compare=False)


@lru_cache(maxsize=4096)
def _prediction(query: _Query) -> Prediction:
    return predict_configuration(query.configuration, batch=2)
