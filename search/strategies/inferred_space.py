"""A space from trials that were defined as they ran: which parameters there are, and which of them depend on which.

A define-by-run objective (`trial.suggest_...`) never says that `momentum` belongs to the optimizer "sgd". Its trials
do: a parameter that only ever comes with some values of a category becomes a child of those options, so that models of
conditional spaces see it as such. What no category explains stays a parameter of its own, in the middle of its range
for trials without it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...spaces import Categorical, Choice, Configuration, Decision, Domain, Node, Space

Params = Mapping[str, Any]
"""Name → value; of categories the index."""


@dataclass(frozen=True, slots=True)
class InferredSpace:
    """A space over parameters that have any names."""

    space: Space
    names: tuple[str, ...]

    def configuration(self, params: Params) -> Configuration:
        """The configuration of a trial; what it should have had and has not is in the middle."""

        def decide(decision: Decision) -> Any:
            name = self.name_of(decision)
            if name not in params:
                return decision.domain.from_unit(0.5)
            value = params[name]
            return _tag(value) if decision.role == "tag" else decision.domain.coerce(value)

        return self.space.build(decide)

    def params(self, config: Configuration) -> dict[str, Any]:
        """What `configuration` was made of, as far as it is active."""
        return {
            self.name_of(decision): int(value[1:]) if decision.role == "tag" else value
            for decision, value in self.space.decisions_of(config)
        }

    def name_of(self, decision: Decision) -> str:
        """The parameter that a decision is about."""
        return self.names[int(decision.path.rsplit(".", 1)[-1][1:])]


def inferred_space(domains: Mapping[str, Domain], trials: Sequence[Params]) -> InferredSpace:
    """The space of some trials.

    Args:
        domains: every parameter's domain; categories as `Categorical(range(n))`.
        trials: what each had.
    """
    names = tuple(sorted(domains))
    place = {name: index for index, name in enumerate(names)}
    nodes = _nodes(domains, place, list(names), trials)
    return InferredSpace(Space(rules=(), **nodes), names)


def _nodes(
    domains: Mapping[str, Domain], place: Mapping[str, int], names: Sequence[str], trials: Sequence[Params]
) -> dict[str, Node]:
    """The nodes of one level: `names` are the parameters that occur in these trials."""
    always = [name for name in names if all(name in trial for trial in trials)]
    children: dict[str, list[str]] = {}
    for name in names:
        parent = None if name in always else _parent(name, always, domains, trials)
        if parent is not None:
            children.setdefault(parent, []).append(name)
    below = {name for family in children.values() for name in family}
    nodes: dict[str, Node] = {}
    for name in names:
        if name in below:
            continue
        key = f"p{place[name]}"
        if name not in children:
            nodes[key] = domains[name]
            continue
        options: dict[str, Space | None] = {}
        for value in _categories(domains[name]):
            under = [trial for trial in trials if trial[name] == value]
            inside = [child for child in children[name] if any(child in trial for trial in under)]
            options[_tag(value)] = Space(rules=(), **_nodes(domains, place, inside, under)) if inside else None
        nodes[key] = Choice(**options)
    return nodes


def _parent(
    name: str, always: Sequence[str], domains: Mapping[str, Domain], trials: Sequence[Params]
) -> str | None:
    """The category whose values explain best when `name` is there: the fewest trials that have the value but not it."""
    best: tuple[int, str] | None = None
    for parent in always:
        if not isinstance(domains[parent], Categorical):
            continue
        values = {trial[parent] for trial in trials if name in trial}
        unexplained = sum(name not in trial for trial in trials if trial[parent] in values)
        missing = sum(name not in trial for trial in trials)
        if unexplained < missing and (best is None or unexplained < best[0]):
            best = (unexplained, parent)
    return None if best is None else best[1]


def _categories(domain: Domain) -> Sequence[Any]:
    assert isinstance(domain, Categorical)
    return domain.values


def _tag(value: int) -> str:
    return f"v{value}"
