"""Architectures: a space whose configurations can be built into networks."""

from __future__ import annotations

import importlib
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from ..errors import SpaceError
from .choice import Choice
from .configuration import Chosen, Configuration
from .family import Family
from .naming import did_you_mean, listing
from .node import Node
from .paths import joined
from .repeat import Repeat
from .space import Space, declared
from .values import Value

if TYPE_CHECKING:
    from torch import nn


class Architecture(ABC):
    """A family of networks: parameters as class attributes, and how to build a member.

    Put an instance (or the class) where a space can stand: `Space(net=ResNet(), lr=...)`. Arguments replace
    parameters of the family: `ResNet(width=Constant(16))`.

    Attributes:
        input_shape: one sample without the batch, for cost estimates.
        num_classes: outputs, for cost estimates.
        points: name → values of known members, for example the networks of the paper.

    Args:
        input_shape: what the networks are fed in this study, when it is not what the family assumes. It is also told to
            `build` (as `input_shape` and, its first number, `in_channels`) when costs are estimated.
        num_classes: outputs in this study, likewise.
        nodes: parameters in place of the family's.
    """

    input_shape: tuple[int, ...] = (3, 224, 224)
    num_classes: int = 1000
    points: ClassVar[Mapping[str, Mapping[str, Value]]] = MappingProxyType({})

    def __init__(
        self, *, input_shape: Sequence[int] | None = None, num_classes: int | None = None, **nodes: Node
    ) -> None:
        self._given_shape = None if input_shape is None else tuple(input_shape)
        self._given_classes = num_classes
        self._replaced = nodes

    @abstractmethod
    def build(self, config: Configuration, num_classes: int, **options: Any) -> nn.Module:
        """The network of a configuration. Import torch inside."""

    @cached_property
    def space(self) -> Space:
        """The parameters as a space that remembers this class."""
        nodes, rules = declared(type(self))
        entry_point = f"{type(self).__module__}:{type(self).__qualname__}"
        unknown = next((name for name in self._replaced if name not in nodes), None)
        if unknown is not None:
            raise SpaceError(
                f"{type(self).__name__} has no parameter {unknown!r}; there are: {listing(nodes)}."
                f"{did_you_mean(unknown, nodes)}",
                "Replace a parameter that the family has.",
            )
        family = Family(entry_point=entry_point, input_shape=self._given_shape, num_classes=self._given_classes)
        return Space.of_architecture(family, rules, {**nodes, **self._replaced})

    def point(self, name: str) -> Configuration:
        """A known member of the family.

        Raises:
            SpaceError: no such member, or it lies outside of the parameters given.
        """
        if name not in self.points:
            raise SpaceError(
                f"{type(self).__name__} has no member {name!r}; there are: {listing(self.points)}."
                f"{did_you_mean(name, self.points)}",
                "Name one of these, or use space.validate({...}).",
            )
        return self.space.validate(self.points[name])


def architecture_of(space: Space) -> type[Architecture]:
    """The class that builds the configurations of a space.

    Raises:
        SpaceError: the space is not that of an architecture, or its class cannot be imported here.
    """
    if space.architecture is None:
        raise SpaceError(
            f"The space of {listing(space.nodes)} is not an architecture.",
            "Make it a subclass of shoal.spaces.architectures.Architecture with a build method.",
        )
    module, _, name = space.architecture.entry_point.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise SpaceError(
            f"The architecture {space.architecture.entry_point!r} cannot be imported here ({error}).",
            "Define it at the top level of an importable module.",
        ) from error
    assert isinstance(found, type) and issubclass(found, Architecture)
    return found


def is_importable_here(space: Space) -> bool:
    """Whether using the architecture runs no code that this process has not loaded already, shoal's own aside.

    The head of a service reads spaces but never imports what a user wrote.
    """
    module = space.architecture.module if space.architecture is not None else ""
    return module.startswith("shoal.") or module in sys.modules


def build(config: Configuration | Chosen, num_classes: int, **options: Any) -> nn.Module:
    """The network of a configuration of an architecture, for example `build(config.net, num_classes=10)`.

    Args:
        config: a configuration of an architecture, or of a `Choice` between architectures.
        num_classes: outputs.
        options: what the family's `build` takes, such as `in_channels`.
    """
    chosen = as_configuration(config)
    return architecture_of(chosen.space)().build(chosen, num_classes, **options)


def as_configuration(value: Configuration | Chosen) -> Configuration:
    """A configuration, or the one of the option chosen.

    Raises:
        SpaceError: an option without parameters.
    """
    option = value.option_configuration() if isinstance(value, Chosen) else value
    if option is None:
        raise SpaceError(f"The option {value!r} has no parameters.", "Give an architecture.")
    return option


def architecture_parts(config: Configuration) -> Iterator[tuple[str, Configuration]]:
    """(path, configuration) of every architecture in a configuration, itself included; outermost first."""
    return _parts("", config)


def has_architecture(node: Node) -> bool:
    """Is there an architecture at or below a node?"""
    if getattr(node, "architecture", None) is not None:
        return True
    below: Iterable[Node | None] = ()
    if isinstance(node, Choice):
        below = node.options.values()
    elif isinstance(node, Repeat):
        below = (node.node,)
    else:
        below = getattr(node, "nodes", {}).values()
    return any(one is not None and has_architecture(one) for one in below)


def _parts(path: str, value: Value) -> Iterator[tuple[str, Configuration]]:
    if isinstance(value, Chosen):
        value = value.option_configuration()
    if isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from _parts(f"{path}[{index}]", item)
    elif isinstance(value, Configuration):
        if value.space.architecture is not None:
            yield path, value
            return
        for name, item in value.items():
            yield from _parts(joined(path, name), item)
