"""ConfigSpace: hyperparameters, with conditions for options and repeated parts."""

from __future__ import annotations

import importlib
import json
from typing import TYPE_CHECKING, Any

from ...errors import SpaceError
from ..choice import Choice
from ..domain import Domain
from ..float_domain import Float
from ..int_domain import Int
from ..listed_domains import Listed, Ordinal
from ..node import Node
from ..paths import joined
from ..repeat import Repeat
from ..space import Space
from ..values import encode_value
from .losses import Lossy, refuse_losses

if TYPE_CHECKING:
    from collections.abc import Iterator


def to_configspace(space: Space, *, lossy: Lossy = "refuse") -> Any:
    """A `ConfigSpace.ConfigurationSpace` whose hyperparameters are the unrolled paths.

    Options become equality conditions, elements of repeated parts conditions on the count. Values of categories are
    written as JSON text. ConfigSpace is not one of shoal's dependencies; it is imported here.

    Raises:
        SpaceError: ConfigSpace is missing, or something would be lost and `lossy` is "refuse".
    """
    refuse_losses("ConfigSpace", list(_losses(space)), lossy)
    try:
        library: Any = importlib.import_module("ConfigSpace")
    except ImportError as error:
        raise SpaceError("The export needs ConfigSpace, which is not installed.", "pip install ConfigSpace") from error
    target = library.ConfigurationSpace()
    _Export(library, target).record(space, "", [])
    return target


class _Export:
    """Walks the tree and adds what it finds; a parent is (hyperparameter, "=" or ">", value)."""

    def __init__(self, library: Any, target: Any) -> None:
        self._library = library
        self._target = target

    def record(self, space: Space, prefix: str, parents: list[tuple[Any, str, Any]]) -> None:
        for name, node in space.nodes.items():
            self.node(node, joined(prefix, name), parents)

    def node(self, node: Node, path: str, parents: list[tuple[Any, str, Any]]) -> None:
        match node:
            case Domain():
                self._add(_hyperparameter(self._library, node, path), parents)
            case Space():
                self.record(node, path, parents)
            case Choice():
                tag = self._add(self._library.CategoricalHyperparameter(path, list(node.options)), parents)
                for option, space in node.options.items():
                    below = path if _all_distinct(node) else f"{path}[{option}]"
                    if space is not None:
                        self.record(space, below, [*parents, (tag, "=", option)])
            case Repeat():
                count = self._add(_hyperparameter(self._library, node.counts, path), parents)
                for index in range(node.max):
                    more = [] if index < node.min else [(count, ">", index)]
                    self.node(node.node, f"{path}[{index}]", [*parents, *more])

    def _add(self, hyperparameter: Any, parents: list[tuple[Any, str, Any]]) -> Any:
        self._target.add(hyperparameter)
        conditions = [
            self._library.EqualsCondition(hyperparameter, parent, value)
            if relation == "="
            else self._library.GreaterThanCondition(hyperparameter, parent, value)
            for parent, relation, value in parents
        ]
        if len(conditions) == 1:
            self._target.add(conditions[0])
        elif conditions:
            self._target.add(self._library.AndConjunction(*conditions))
        return hyperparameter


def _hyperparameter(library: Any, domain: Domain, path: str) -> Any:
    initial = domain.initial()
    if domain.size() == 1:
        value = domain.points(1)[0]
        return library.Constant(
            path, value if isinstance(value, (int, float, str)) else json.dumps(encode_value(value))
        )
    match domain:
        case Float() if domain.step is None:
            return library.UniformFloatHyperparameter(
                path, domain.low, domain.high, log=domain.log, default_value=initial
            )
        case Int() if domain.step is None:
            return library.UniformIntegerHyperparameter(
                path, domain.low, domain.high, log=domain.log, default_value=initial
            )
        case Float() | Int():
            return library.OrdinalHyperparameter(path, list(domain.points(1)), default_value=initial)
        case Ordinal():
            return library.OrdinalHyperparameter(path, _texts(domain), default_value=json.dumps(encode_value(initial)))
        case Listed():
            return library.CategoricalHyperparameter(
                path, _texts(domain), default_value=json.dumps(encode_value(initial))
            )
    raise AssertionError(domain)


def _texts(domain: Listed) -> list[str]:
    return [json.dumps(encode_value(value)) for value in domain.values]


def _all_distinct(choice: Choice) -> bool:
    """Whether no name occurs in two options (ConfigSpace wants one condition per hyperparameter)."""
    names = [name for option in choice.options.values() if option is not None for name in option.nodes]
    return len(names) == len(set(names))


def _losses(space: Space) -> Iterator[str]:
    if space.has_rules or space.constraints:
        yield "the rules"
    for decision in space.all_decisions():
        if getattr(decision.domain, "prior", None) is not None:
            yield f"the prior of {decision.path}"
