"""A record of named parameters, with rules: the space itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import numpy as np

from ..errors import SpaceError
from . import defaults, enumeration, sampling
from .configuration import Configuration
from .domain import Domain
from .expressions import Variable, reads_cost
from .family import Family
from .groups import independent_groups
from .listed_domains import Constant
from .naming import checked_name, did_you_mean, listing
from .node import Node
from .paths import joined
from .rules import Constraint, Rule, Unbound
from .sites import Decide, Decision, RecordSite
from .symbols import RecordSymbol, Symbol
from .values import Json, Value, shown

if TYPE_CHECKING:
    from .architecture import Architecture


AnyRule: TypeAlias = Rule | Unbound | Constraint
Spacelike: TypeAlias = "Node | type[Space] | Architecture | type[Architecture]"
Declared: TypeAlias = tuple[dict[str, Node], tuple[AnyRule, ...]]


class Space(Node):
    """Named parameters and the rules between them.

    Args:
        rules: `forbid(...)`, `require(...)`, `constraint(...)`; their functions see this space.
        nodes: the parameters, by name.

    >>> from shoal.spaces import Float, Int, Space
    >>> import numpy as np
    >>> Space(depth=Int(1, 3), width=Int(1, 4)).size()
    12

    The same as a class, whose annotations are for the editor:

    >>> class Net(Space):
    ...     depth: int = Int(1, 3)
    ...     width: int = Int(1, 4)
    >>> Net() == Space(depth=Int(1, 3), width=Int(1, 4))
    True

    Raises:
        SpaceError: a name, node or rule that cannot be, a rule nothing satisfies, a default that a rule forbids.
    """

    _declared: ClassVar[Declared] = ({}, ())
    architecture: Family | None = None
    """`module:Class` of the `Architecture` that builds networks from the configurations, if there is one."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._declared = declared(cls)
        for name in cls._declared[0].keys() & vars(cls).keys():
            delattr(cls, name)  # so that a parameter called `size` or `count` does not hide the method

    def __init__(self, *, rules: Iterable[AnyRule] = (), **nodes: Spacelike) -> None:
        if isinstance(rules, Node) or not isinstance(rules, Iterable):
            raise SpaceError(
                f"Space: rules={shown(rules)} is not a list of rules.",
                "Write rules=[forbid(lambda s: ...)]; a parameter cannot be called 'rules'.",
            )
        class_nodes, class_rules = type(self)._declared
        self._nodes: dict[str, Node] = {}
        for name, node in {**class_nodes, **nodes}.items():
            self._nodes[checked_name(name, "parameter")] = as_node(node, name)
        bound: list[Rule] = []
        constraints: list[Constraint] = []
        for rule in (*class_rules, *rules):
            match rule:
                case Unbound():
                    bound.append(rule.bind(self))
                case Rule():
                    bound.append(rule)
                case Constraint():
                    constraints.append(rule)
                case _:
                    raise SpaceError(
                        f"Space: {shown(rule)} is not a rule.", "Wrap it: forbid(lambda s: ...) or require(...)."
                    )
        self.rules: tuple[Rule, ...] = tuple(bound)
        self.constraints: tuple[Constraint, ...] = tuple(constraints)
        self._ruled = [(name, node) for name, node in self._nodes.items() if node.has_rules]
        cheapest_first = sorted(bound, key=lambda rule: reads_cost(rule.expression))
        self.groups = independent_groups(self, cheapest_first)
        self.allowed: dict[str, tuple[Value, ...]] = sampling.allowed_by_single_rules(self)
        defaults.check(self)

    @classmethod
    def of_architecture(cls, family: Family, rules: Iterable[AnyRule], nodes: Mapping[str, Node]) -> Space:
        """The space of an architecture's parameters."""
        space = cls.__new__(cls)
        space.architecture = family  # before the rules are bound: they may speak of its cost
        space.__init__(rules=rules, **nodes)  # type: ignore[misc]
        return space

    @property
    def nodes(self) -> Mapping[str, Node]:
        """The parameters, by name, in order."""
        return MappingProxyType(self._nodes)

    @property
    def has_rules(self) -> bool:  # type: ignore[override]
        return bool(self.rules or self._ruled)

    @cached_property
    def root(self) -> RecordSite:
        """This space as the root of the tree."""
        return self.site("", optional=False)

    def leaf(self, name: str) -> Domain:
        """The domain of a parameter that is a leaf."""
        node = self._nodes[name]
        assert isinstance(node, Domain)
        return node

    def build(self, decide: Decide) -> Configuration:
        """The configuration that the answers of `decide` make: a top-down walk over the active decisions.

        Every source of configurations goes through this. Rules are not looked at.

        Raises:
            SpaceError: an answer that is not in the decision's domain.
        """
        return self.root.build(lambda decision: decision.domain.parse(decide(decision), decision.path))

    def decisions_of(self, config: Configuration) -> list[tuple[Decision, Value]]:
        """The decisions that made a configuration, in order: the inverse of `build`."""
        return list(self.root.decisions(config))

    def all_decisions(self) -> tuple[Decision, ...]:
        """Every decision of the fully unrolled space, active or not, in a fixed order."""
        return tuple(self.root.unrolled())

    def sample(self, rng: np.random.Generator) -> Configuration:
        """A random configuration that honours the rules.

        Raises:
            SpaceError: none was found; names the rule that excludes them.
        """
        return sampling.sample(self, rng)

    def repair(self, config: Configuration, rng: np.random.Generator) -> Configuration:
        """`config` if it is valid, else a valid configuration near it.

        Raises:
            SpaceError: none was found; names the rule that excludes them.
        """
        return sampling.repair(self, config, rng)

    def violations(self, config: Configuration) -> list[str]:
        """The rules that `config` breaks, as text; empty when it is valid."""
        return [
            f"{path}: {rule!r}" if path else repr(rule) for path, rule, short in self.shortfalls(config, "") if short
        ]

    def validate(self, config: Mapping[str, Value]) -> Configuration:
        """The valid configuration that a mapping stands for.

        Raises:
            SpaceError: not in the space (path, value, what is allowed), or a rule is broken.
        """
        checked = self.parse(config, "")
        broken = self.violations(checked)
        if broken:
            raise SpaceError(f"{shown(checked, 200)} breaks {'; '.join(broken)}.", "Change one of the values.")
        return checked

    def configuration(self, obj: Json) -> Configuration:
        """The configuration that `Configuration.to_json` wrote; rules are not looked at.

        Raises:
            SpaceError: not in the space.
        """
        return self.parse(obj, "")

    def from_flat(self, values: Mapping[str, Value]) -> Configuration:
        """The configuration with these decisions by path, as `Configuration.flat` gives; rules are not looked at.

        Raises:
            SpaceError: a decision is missing, not in its domain, or not one of the configuration.
        """
        used: set[str] = set()

        def decide(decision: Decision) -> Value:
            if decision.path not in values:
                raise SpaceError(
                    f"{decision.path} is missing; allowed: {decision.domain.allowed()}.", "Give it a value."
                )
            used.add(decision.path)
            return values[decision.path]

        config = self.build(decide)
        unknown = [path for path in values if path not in used]
        if unknown:
            raise SpaceError(
                f"{unknown[0]!r} is not an active parameter; active: {listing(used)}.{did_you_mean(unknown[0], used)}",
                "Leave it out.",
            )
        return config

    def default(self) -> Configuration | None:
        """The configuration to try first; None when no parameter was given a default.

        Parameters without a default take their middle, of categories and options the first; where that breaks a rule,
        they give way.
        """
        return defaults.default(self)

    def size(self) -> int | None:
        total = 1
        for node in self._nodes.values():
            one = node.size()
            if one is None:
                return None
            total *= one
        return total

    def count(self, limit: int) -> int | None:
        """How many valid configurations there are, by enumeration.

        None when the space is infinite, or when more than `limit` would have to be looked at.
        """
        size = self.size()
        if size is None or not self.has_rules:
            return size if size is None or size <= limit else None
        return None if size > limit else sum(1 for _ in enumeration.grid(self, 1))

    def grid(self, points_per_float: int) -> Iterator[Configuration]:
        """Every valid configuration, lazily, in a fixed order; the last decision varies fastest.

        Args:
            points_per_float: how many evenly spaced points of [0, 1] a continuous parameter contributes, >= 1.
        """
        return enumeration.grid(self, points_per_float)

    def site(self, path: str, *, optional: bool) -> RecordSite:
        return RecordSite(self, lambda name: joined(path, name), lambda name: optional)

    def parse(self, obj: Value, path: str) -> Configuration:
        if not isinstance(obj, Mapping):
            raise SpaceError(
                f"{path or 'The configuration'} = {shown(obj)} is not a mapping of parameters.",
                f"Give values for: {listing(self._nodes)}.",
            )
        for name in obj:
            if name not in self._nodes:
                raise SpaceError(
                    f"{joined(path, str(name))!r} is not a parameter; there are: {listing(self._nodes)}."
                    f"{did_you_mean(name, self._nodes)}",
                    "Leave it out, or correct its name.",
                )
        values: dict[str, Value] = {}
        for name, node in self._nodes.items():
            if name in obj:
                values[name] = node.parse(obj[name], joined(path, name))
            elif isinstance(node, Constant):
                values[name] = node.value
            else:
                raise SpaceError(f"{joined(path, name)} is missing.", "Give it a value.")
        return Configuration(self, values)

    def encode(self, value: Value) -> Json:
        return {name: node.encode(value[name]) for name, node in self._nodes.items()}

    def canonical(self, value: Value) -> Json:
        return {name: node.canonical(value[name]) for name, node in self._nodes.items()}

    def symbol(self, variable: Variable, scopes: Iterator[int]) -> Symbol:
        return RecordSymbol(variable, self._nodes, scopes, self.architecture)

    def holds(self, value: Value) -> bool:
        return all(group.holds(value) for group in self.groups)

    def shortfalls(self, value: Value, path: str) -> Iterator[tuple[str, Rule, float]]:
        for rule in self.rules:
            yield path, rule, rule.shortfall(value)
        for name, node in self._ruled:
            yield from node.shortfalls(value._values[name], joined(path, name))

    def has_defaults(self) -> bool:
        return any(node.has_defaults() for node in self._nodes.values())

    def to_json(self) -> dict[str, Json]:
        rules = [rule.to_json() for rule in self._every_rule()]
        nodes = {name: node.to_json() for name, node in self._nodes.items()}
        more = {"rules": rules, "architecture": self.architecture and self.architecture.to_json()}
        return {"type": "space", "nodes": nodes, **{name: value for name, value in more.items() if value}}

    @classmethod
    def from_json(cls, obj: Json) -> Space:
        """The space that `to_json` wrote.

        Raises:
            SpaceError: it is not a space written by this or an older version.
        """
        from .json_form import space_from_json

        return space_from_json(obj)

    def __repr__(self) -> str:
        parts = [f"{name}={node!r}" for name, node in self._nodes.items()]
        rules = [repr(rule) for rule in self._every_rule()]
        if rules:
            parts.append(f"rules=[{', '.join(rules)}]")
        return f"Space({', '.join(parts)})"

    def _every_rule(self) -> list[Rule | Constraint]:
        return [*self.rules, *self.constraints]

    def __getstate__(self) -> dict[str, Value]:
        return {name: value for name, value in self.__dict__.items() if name != "root"}


def declared(cls: type) -> Declared:
    """The parameters and rules that a class and its bases declare as attributes, in order."""
    nodes: dict[str, Node] = {}
    rules: tuple[AnyRule, ...] = ()
    for base in reversed(cls.__mro__):
        inherited: Declared | None = vars(base).get("_declared")
        if inherited is not None:
            nodes, rules = {**nodes, **inherited[0]}, inherited[1]
            continue
        for name, value in vars(base).items():
            if name == "rules" and isinstance(value, (list, tuple)):
                rules = (*rules, *value)
            elif isinstance(value, Node) or (isinstance(value, type) and issubclass(value, Space)):
                nodes[name] = as_node(value, name)
    return nodes, rules


def as_space(value: object) -> Space:
    """A space from whatever may stand for one: a `Space`, a subclass of it, an `Architecture` or its class.

    Raises:
        SpaceError: none of these.
    """
    if isinstance(value, Space):
        return value
    if isinstance(value, type):
        if issubclass(value, Space) or isinstance(getattr(value, "space", None), cached_property):
            return as_space(value())
    elif isinstance(space := getattr(value, "space", None), Space):
        return space
    raise SpaceError(
        f"{shown(value)} ({type(value).__name__}) is not a space.",
        "Give Space(name=Float(low, high), ...), a subclass of Space, or an Architecture.",
    )


def as_node(value: object, name: str) -> Node:
    """A node from whatever may stand for one, for the parameter `name`."""
    if isinstance(value, Node):
        return value
    try:
        return as_space(value)
    except SpaceError:
        raise SpaceError(
            f"Space: parameter {name!r} is {shown(value)} ({type(value).__name__}), not a domain.",
            f"Write {name}=Constant({shown(value)}) for a fixed value, or a domain such as Float(low, high).",
        ) from None
