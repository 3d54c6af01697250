"""Random configurations that honour the rules.

In order, until one works: masks (a rule about one finite parameter only removes values, before any draw); bounded
rejection of each group of parameters that rules tie together, which keeps the distribution exact; local repair of a
rejected draw followed by a Gibbs sweep that spreads it over the valid region again; for small finite spaces,
enumeration; an error that names the rule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from operator import methodcaller
from typing import TYPE_CHECKING

import numpy as np

from ..errors import SpaceError
from .configuration import Configuration
from .domain import Domain
from .enumeration import grid
from .paths import joined, related
from .sites import Decision
from .values import Value

if TYPE_CHECKING:
    from .rules import Rule
    from .space import Space

_DRAWS = 64
"""Rejections before repair: exact down to a valid share of about 7 % (0.93**64 = 1 %), at some ms in the worst case."""
_STARTS = 8  # repairs from fresh draws before giving up; one nearly always does
_MOVES = 200  # changes in one repair; ten floats with a sum <= 1 (a valid share of 1/10!) need about 30
_CANDIDATES = 6  # values tried in one change
_NEAR = 0.1  # standard deviation in [0, 1] of a candidate near the present value
_ENUMERABLE = 20_000  # configurations that are simply listed when everything else failed: about 1 s
_MASKABLE = 1_000  # values of one parameter that a rule is evaluated on beforehand


def sample(space: Space, rng: np.random.Generator) -> Configuration:
    """See `Space.sample`."""
    draw = methodcaller("sample", rng)  # of every decision; a call in C, because this is the hot loop
    if not space.has_rules:
        return space.root.build(draw)
    sites = space.root.sites
    values: dict[str, Value] = {}
    valid = True
    for group in space.groups:
        for _ in range(_DRAWS):
            part = Configuration(space, {name: sites[name].build(draw) for name in group.names})
            if group.holds(part):
                break
        else:
            valid = False
        values |= part._values
    config = Configuration(space, {name: values[name] for name in sites})
    if valid:
        return config
    for _ in range(_STARTS):
        repaired = nearby(space, config, rng)
        if repaired is not None:
            return _spread(space, repaired, rng)
        config = space.root.build(draw)
    return _listed(space, rng)


def repair(space: Space, config: Configuration, rng: np.random.Generator) -> Configuration:
    """See `Space.repair`."""
    repaired = nearby(space, config, rng)
    return sample(space, rng) if repaired is None else repaired


def nearby(
    space: Space,
    config: Configuration,
    rng: np.random.Generator,
    *,
    movable: Callable[[Decision], bool] = lambda decision: True,
) -> Configuration | None:
    """A valid configuration a few changes away from `config`, or None when the search fails.

    A walk: take a broken rule, take a parameter it speaks of, try some values, keep the best unless it is worse.

    Args:
        movable: which decisions may change.
    """
    broken = _broken(space, config)
    for _ in range(_MOVES):
        if not broken:
            return config
        _, rule, path = broken[int(rng.integers(len(broken)))]
        places = [joined(path, variable) for variable in rule.variables()] or [path]
        decisions = space.decisions_of(config)
        concerned = [
            (decision, value)
            for decision, value in decisions
            if movable(decision) and any(related(decision.path, place) for place in places)
        ]
        if not concerned:
            return None
        decision, value = concerned[int(rng.integers(len(concerned)))]
        kept = {other.path: present for other, present in decisions}
        best = total = sum(short for short, _, _ in broken)
        for candidate in _candidates(decision, value, rng):
            changed = _rebuilt(space, kept, decision.path, candidate, rng)
            still_broken = _broken(space, changed)
            total = sum(short for short, _, _ in still_broken)
            if total <= best:
                best, config, broken = total, changed, still_broken
    return None if broken else config


def allowed_by_single_rules(space: Space) -> dict[str, tuple[Value, ...]]:
    """Name → values left, for finite parameters that some rule speaks of alone.

    Raises:
        SpaceError: a rule leaves no value.
    """
    allowed: dict[str, tuple[Value, ...]] = {}
    for rule in space.rules:
        names = rule.variables()
        name = next(iter(names), "")
        node = space.nodes.get(name)
        size = node.size() if isinstance(node, Domain) else None
        if len(names) != 1 or not isinstance(node, Domain) or size is None or size > _MASKABLE:
            continue
        values = allowed.get(name, tuple(node.points(1)))
        allowed[name] = tuple(v for v in values if not rule.shortfall(Configuration(space, {name: v})))
        if not allowed[name]:
            raise SpaceError(f"{rule!r} leaves no value of {name!r}: {node.allowed()}.", "Loosen the rule.")
    # values of a log scale or a prior are not equally likely: there, rejection keeps the distribution
    return {name: values for name, values in allowed.items() if _is_uniform(space.leaf(name))}


def _is_uniform(domain: Domain) -> bool:
    return not getattr(domain, "log", False) and getattr(domain, "prior", None) is None


def _broken(space: Space, config: Configuration) -> list[tuple[float, Rule, str]]:
    return [(short, rule, path) for path, rule, short in space.shortfalls(config, "") if short]


def _candidates(decision: Decision, value: Value, rng: np.random.Generator) -> Iterator[Value]:
    """Values for one decision, half of them near the present one where there is a near."""
    for attempt in range(_CANDIDATES):
        if attempt % 2 and decision.allowed is None:
            unit = decision.domain.to_unit(value) + _NEAR * rng.standard_normal()
            yield decision.domain.from_unit(min(max(unit, 0.0), 1.0))
        else:
            yield decision.sample(rng)


def _rebuilt(space: Space, kept: dict[str, Value], path: str, value: Value, rng: np.random.Generator) -> Configuration:
    """The configuration with one decision changed; parameters that become active are drawn."""

    def decide(decision: Decision) -> Value:
        if decision.path == path:
            return value
        return kept[decision.path] if decision.path in kept else decision.sample(rng)

    return space.root.build(decide)


def _spread(space: Space, config: Configuration, rng: np.random.Generator) -> Configuration:
    """One Gibbs sweep by rejection: every decision is drawn again, and kept where the result is valid.

    A repaired draw lies at the edge of the valid region; the sweep moves it inside.
    """
    for place in rng.permutation(len(space.decisions_of(config))):
        decisions = space.decisions_of(config)
        if place >= len(decisions):
            continue
        kept = {decision.path: value for decision, value in decisions}
        decision = decisions[place][0]
        for _ in range(_CANDIDATES):
            changed = _rebuilt(space, kept, decision.path, decision.sample(rng), rng)
            if space.holds(changed):
                config = changed
                break
    return config


def _listed(space: Space, rng: np.random.Generator) -> Configuration:
    """The last resort: pick from the enumeration, or say which rule leaves nothing."""
    size = space.size()
    if size is not None and size <= _ENUMERABLE:
        valid = list(grid(space, 1))
        if valid:
            return valid[int(rng.integers(len(valid)))]
    draws = [space.root.build(lambda decision: decision.sample(rng)) for _ in range(_DRAWS)]
    counts = Counter(text for draw in draws for text in space.violations(draw))
    rule, times = counts.most_common(1)[0]
    known = size is not None and size <= _ENUMERABLE
    what = f"None of the {size} configurations is valid" if known else "The space is empty or nearly so"
    raise SpaceError(
        f"{what}: {rule} is broken by {times} of {_DRAWS} random draws.",
        "Loosen that rule, or define the space so that it holds by construction.",
    )
