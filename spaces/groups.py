"""Parameters that rules tie together: independent groups can be drawn, and rejected, each for itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .configuration import Configuration
from .node import Node
from .paths import parsed_path

if TYPE_CHECKING:
    from .rules import Rule
    from .space import Space


@dataclass(frozen=True, slots=True)
class Group:
    """Parameters of one space, and the rules that speak of them and of nothing else.

    Attributes:
        names: the parameters.
        rules: the rules between them, the costly ones last.
        ruled: those of them that carry rules inside.
    """

    names: tuple[str, ...]
    rules: tuple[Rule, ...]
    ruled: tuple[tuple[str, Node], ...]

    def holds(self, part: Configuration) -> bool:
        """Whether a configuration with these parameters breaks none of the rules."""
        for rule in self.rules:
            if rule.shortfall(part):
                return False
        return all(node.holds(part._values[name]) for name, node in self.ruled)


def independent_groups(space: Space, rules: Iterable[Rule]) -> tuple[Group, ...]:
    """The connected components of the parameters of a space under "some rule names both".

    The valid configurations are the product of those of the groups, so that rejecting each group for itself gives the
    same distribution as rejecting whole configurations, with the sum of the tries in place of their product.

    Args:
        space: the space; its nested rules stay inside one parameter.
        rules: its own rules, in the order in which they are to be tried.
    """
    group_of = {name: {name} for name in space.nodes}
    named = [(rule, _names(space, rule)) for rule in rules]
    for _, names in named:
        merged = set().union(*(group_of[name] for name in names))
        for name in merged:
            group_of[name] = merged
    groups = {id(names): names for names in group_of.values()}
    return tuple(
        Group(
            names=tuple(name for name in space.nodes if name in members),
            rules=tuple(rule for rule, names in named if names <= members),
            ruled=tuple((name, node) for name, node in space.nodes.items() if name in members and node.has_rules),
        )
        for members in groups.values()
    )


def _names(space: Space, rule: Rule) -> set[str]:
    """The parameters of the space itself that a rule reads; all of them where it reads the whole."""
    paths = rule.variables()
    if not paths or "" in paths:
        return set(space.nodes)
    return {str(parsed_path(path)[0]) for path in paths}
