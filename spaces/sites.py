"""The space unrolled along its paths: the sites that the top-down walk steps on.

A node says *what* can be decided, a site says *where*. Everything that produces configurations (random, Sobol, a
grid, a model) goes through `build`; everything that reads them goes through `decisions`, its inverse.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from .configuration import Chosen, Configuration
from .paths import joined
from .values import Value

if TYPE_CHECKING:
    from .choice import Choice
    from .domain import Domain
    from .repeat import Repeat
    from .space import Space


Role: TypeAlias = Literal["leaf", "tag", "count"]


@dataclass(frozen=True, slots=True)
class Decision:
    """Something to decide: a leaf, the tag of a `Choice` (a `Categorical`), the count of a `Repeat` (an `Int`).

    Attributes:
        path: where, for example `layers[2].width`.
        domain: what is possible; a `Float`, `Int`, `Ordinal` or `Categorical`.
        allowed: the values left by rules that speak of this parameter alone; None when no such rule is known.
        role: "leaf" for a parameter, "tag" of a choice, "count" of a repeated part.
        optional: whether some configurations do not have it.
    """

    path: str
    domain: Domain
    allowed: tuple[Value, ...] | None = None
    role: Role = "leaf"
    optional: bool = False

    def sample(self, rng: np.random.Generator) -> Value:
        """A draw from the domain's distribution among what is allowed."""
        if self.allowed is None:
            return self.domain.sample(rng)
        return self.allowed[int(rng.random() * len(self.allowed))]

    def __hash__(self) -> int:
        return hash(self.path)


Decide: TypeAlias = Callable[[Decision], Value]


class Site(ABC):
    """A node at a path."""

    @abstractmethod
    def build(self, decide: Decide) -> Value:
        """The value that the answers of `decide` make; only active decisions are asked, top down."""

    @abstractmethod
    def decisions(self, value: Value) -> Iterator[tuple[Decision, Value]]:
        """The decisions that made a value, in the order of `build`."""

    @abstractmethod
    def unrolled(self) -> Iterator[Decision]:
        """Every decision at or below this site, active or not, in a fixed order."""


class LeafSite(Site):
    """A domain at a path."""

    def __init__(self, path: str, domain: Domain, *, optional: bool, allowed: tuple[Value, ...] | None = None) -> None:
        self.decision = Decision(path, domain, allowed, "leaf", optional)

    def build(self, decide: Decide) -> Value:
        return decide(self.decision)

    def decisions(self, value: Value) -> Iterator[tuple[Decision, Value]]:
        yield self.decision, value

    def unrolled(self) -> Iterator[Decision]:
        yield self.decision


class FixedSite(Site):
    """A constant: nothing to decide."""

    def __init__(self, value: Value) -> None:
        self.value = value

    def build(self, decide: Decide) -> Value:
        return self.value

    def decisions(self, value: Value) -> Iterator[tuple[Decision, Value]]:
        return iter(())

    def unrolled(self) -> Iterator[Decision]:
        return iter(())


class RecordSite(Site):
    """A `Space` at a path.

    Args:
        space: the record.
        below: the path of a parameter, given its name.
        optional: whether some configurations do not have that parameter.
    """

    def __init__(self, space: Space, below: Callable[[str], str], optional: Callable[[str], bool]) -> None:
        self.space = space
        self.sites: dict[str, Site] = {}
        for name, node in space.nodes.items():
            self.sites[name] = node.site(below(name), optional=optional(name))
        for name, allowed in space.allowed.items():
            leaf = space.leaf(name)
            self.sites[name] = LeafSite(below(name), leaf, optional=optional(name), allowed=allowed)

    def build(self, decide: Decide) -> Configuration:
        return Configuration(self.space, {name: site.build(decide) for name, site in self.sites.items()})

    def decisions(self, value: Value) -> Iterator[tuple[Decision, Value]]:
        for name, site in self.sites.items():
            yield from site.decisions(value._values[name])

    def unrolled(self) -> Iterator[Decision]:
        for site in self.sites.values():
            yield from site.unrolled()


class ChoiceSite(Site):
    """A `Choice` at a path: its tag, then the parameters of the chosen option.

    A parameter that several options define in the same way is one decision (`optimizer.lr`); where they differ,
    the tag sets them apart (`optimizer[sgd].lr`).
    """

    def __init__(self, path: str, choice: Choice, *, optional: bool) -> None:
        self.choice = choice
        self.decision = Decision(path, choice.tags, None, "tag", optional)
        self.options: dict[str, RecordSite | None] = {}

        def missing(name: str) -> bool:
            return optional or not choice.everywhere(name)

        for tag, option in choice.options.items():

            def below(name: str, tag: str = tag) -> str:
                return joined(path if choice.shared(name) else f"{path}[{tag}]", name)

            self.options[tag] = None if option is None else RecordSite(option, below, missing)

    def build(self, decide: Decide) -> Chosen:
        tag = decide(self.decision)
        site = self.options[tag]
        return Chosen(self.choice, tag, None if site is None else site.build(decide))

    def decisions(self, value: Value) -> Iterator[tuple[Decision, Value]]:
        yield self.decision, value.choice
        site = self.options[value.choice]
        if site is not None:
            yield from site.decisions(value)

    def unrolled(self) -> Iterator[Decision]:
        yield self.decision
        seen: set[str] = set()
        for site in self.options.values():
            for decision in site.unrolled() if site is not None else ():
                if decision.path not in seen:
                    seen.add(decision.path)
                    yield decision


class RepeatSite(Site):
    """A `Repeat` at a path: its count, then that many elements."""

    def __init__(self, path: str, repeat: Repeat, *, optional: bool) -> None:
        self.repeat = repeat
        self.decision = Decision(path, repeat.counts, None, "count", optional)
        self._elements: list[Site] = []

    def element(self, index: int) -> Site:
        """The site of an element; made when first asked for, because `max` may be large."""
        while (place := len(self._elements)) <= index:
            optional = self.decision.optional or place >= self.repeat.min
            self._elements.append(self.repeat.node.site(f"{self.decision.path}[{place}]", optional=optional))
        return self._elements[index]

    def build(self, decide: Decide) -> tuple[Value, ...]:
        count = decide(self.decision)
        return tuple(self.element(index).build(decide) for index in range(count))

    def decisions(self, value: Value) -> Iterator[tuple[Decision, Value]]:
        yield self.decision, len(value)
        for index, item in enumerate(value):
            yield from self.element(index).decisions(item)

    def unrolled(self) -> Iterator[Decision]:
        yield self.decision
        for index in range(self.repeat.max):
            yield from self.element(index).unrolled()
