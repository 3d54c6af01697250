"""Moves in a space: mutation, crossover, neighbours, distance. Whatever they return is valid."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass

import numpy as np

from .configuration import Configuration
from .domain import Domain
from .listed_domains import Categorical
from .sampling import nearby
from .sites import Decision
from .space import Space
from .values import Value, identity

_STEP = 0.2
"""Standard deviation of a numeric mutation in [0, 1], as in SMAC's local search (Hutter et al., LION 2011)."""
_TRIES = 20  # mutations tried before a random draw stands in


def mutate(config: Configuration, rng: np.random.Generator) -> Configuration:
    """`config` with one decision changed, repaired where that breaks a rule.

    A number moves by a normal step on its own scale, a category or option becomes another one, a repeated part gains
    or loses one element anywhere. Falls back to a random configuration when nothing valid is found nearby.
    """
    space = config.space
    decided = [(d, v) for d, v in space.decisions_of(config) if len(d.allowed or ()) != 1 and d.domain.size() != 1]
    if not decided:
        return config
    for _ in range(_TRIES):
        decision, value = decided[int(rng.integers(len(decided)))]
        fixed = nearby(space, _moved(config, decision, value, rng), rng)
        if fixed is not None and fixed != config:
            return fixed
    return space.sample(rng)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A configuration that was not seen before, or the honest news that none was found.

    Attributes:
        config: the configuration; seen before only if the whole space seems to be.
        reason: "mutation", or why it is not one.
    """

    config: Configuration
    reason: str


def mutate_unseen(config: Configuration, rng: np.random.Generator, seen: Container[str], *, tries: int = 30) -> Mutant:
    """A mutation whose `key()` is not in `seen`; a random unseen configuration when the neighbourhood is exhausted."""
    for _ in range(tries):
        mutant = mutate(config, rng)
        if mutant.key() not in seen:
            return Mutant(config=mutant, reason="mutation")
    for _ in range(tries):
        drawn = config.space.sample(rng)
        if drawn.key() not in seen:
            return Mutant(config=drawn, reason=f"neighbourhood exhausted after {tries} tries: a random one instead")
    return Mutant(config=drawn, reason=f"neighbourhood exhausted, and {tries} random draws were all seen before")


def crossover(first: Configuration, second: Configuration, rng: np.random.Generator) -> Configuration:
    """A child that takes every decision from one of its parents, at random; repaired where a rule breaks.

    A decision that only one parent has is that parent's; one that neither has is drawn.
    """
    space = first.space
    parents = first.flat(), second.flat()

    def decide(decision: Decision) -> Value:
        having = [parent for parent in parents if decision.path in parent]
        if not having:
            return decision.sample(rng)
        return having[int(rng.integers(len(having)))][decision.path]

    return space.repair(space.root.build(decide), rng)


def neighbours(config: Configuration, rng: np.random.Generator, *, per_float: int = 4) -> Iterator[Configuration]:
    """Every valid configuration one step away, in a random order without duplicates.

    A step is: another category or option; the next integer or ordinal value up or down; one element more or less, at
    any place; for a continuous number `per_float` normal steps. Parameters that become active are drawn.
    """
    space = config.space
    moves = [
        (decision, value, other)
        for decision, value in space.decisions_of(config)
        for other in _adjacent(decision, value, rng, per_float)
    ]
    seen = {config.key()}
    for place in rng.permutation(len(moves)):
        decision, value, other = moves[place]
        for changed in _stepped(config, decision, value, other, rng):
            if changed.key() not in seen and space.holds(changed):
                seen.add(changed.key())
                yield changed


def distance(first: Configuration, second: Configuration) -> float:
    """From 0 (same) to 1: the mean over all paths that are active in either.

    A number contributes its difference on its own scale in [0, 1], a category 0 or 1, a path that only one has 1.
    """
    mine = {decision.path: (decision.domain, value) for decision, value in first.space.decisions_of(first)}
    theirs = second.flat()
    total = float(len(theirs.keys() - mine.keys()))
    for path, (domain, value) in mine.items():
        total += _gap(domain, value, theirs[path]) if path in theirs else 1.0
    return total / max(len(theirs.keys() | mine.keys()), 1)


def _gap(domain: Domain, value: Value, other: Value) -> float:
    if isinstance(domain, Categorical):
        return float(identity(value) != identity(other))
    return abs(domain.to_unit(value) - domain.to_unit(other))


def _moved(config: Configuration, decision: Decision, value: Value, rng: np.random.Generator) -> Configuration:
    if isinstance(decision.domain, Categorical):
        others = [v for v in decision.allowed or decision.domain.values if identity(v) != identity(value)]
        target = others[int(rng.integers(len(others)))]
    elif decision.role == "count":
        target = value + (1 if value == decision.domain.from_unit(0.0) or _can_grow(decision, value, rng) else -1)
    else:
        target = _numeric_step(decision.domain, value, rng)
    changed = list(_stepped(config, decision, value, target, rng))
    return changed[int(rng.integers(len(changed)))]


def _can_grow(decision: Decision, value: int, rng: np.random.Generator) -> bool:
    return value != decision.domain.from_unit(1.0) and rng.random() < 0.5


def _numeric_step(domain: Domain, value: Value, rng: np.random.Generator) -> Value:
    unit = domain.to_unit(value)
    for _ in range(_TRIES):
        moved = domain.from_unit(min(max(unit + _STEP * rng.standard_normal(), 0.0), 1.0))
        if identity(moved) != identity(value):
            return moved
    return domain.sample(rng)


def _adjacent(decision: Decision, value: Value, rng: np.random.Generator, per_float: int) -> list[Value]:
    domain = decision.domain
    size = domain.size()
    if isinstance(domain, Categorical):
        return [other for other in domain.values if identity(other) != identity(value)]
    if size is None:
        return [_numeric_step(domain, value, rng) for _ in range(per_float)]
    points = domain.points(1)
    place = domain.place(value)
    return [points[index] for index in (place - 1, place + 1) if 0 <= index < size]


def _stepped(
    config: Configuration, decision: Decision, value: Value, target: Value, rng: np.random.Generator
) -> Iterator[Configuration]:
    """The configurations in which `decision` has become `target`; several where an element came or went."""
    space = config.space
    flat = config.flat()
    if decision.role != "count":
        yield _rebuilt(space, {**flat, decision.path: target}, rng)
        return
    grown = target > value
    for place in range(value + 1 if grown else value):
        kept = _shifted(flat, decision.path, place, count=value, grown=grown)
        yield _rebuilt(space, {**kept, decision.path: target}, rng)


def _shifted(flat: dict[str, Value], path: str, place: int, *, count: int, grown: bool) -> dict[str, Value]:
    """The decisions by path after an element was put in at `place` (its own are left open) or taken out there."""
    moved: dict[str, Value] = {}
    renamed = {}
    for index in range(count):
        shift = 0 if index < place else 1 if grown else -1
        renamed[f"{path}[{index}]"] = None if not grown and index == place else f"{path}[{index + shift}]"
    for old, value in flat.items():
        end = old.find("]", len(path)) + 1 if old.startswith(f"{path}[") else 0
        if old[:end] not in renamed:
            moved[old] = value
        elif (prefix := renamed[old[:end]]) is not None:
            moved[prefix + old[end:]] = value
    return moved


def _rebuilt(space: Space, kept: dict[str, Value], rng: np.random.Generator) -> Configuration:
    def decide(decision: Decision) -> Value:
        return kept[decision.path] if decision.path in kept else decision.sample(rng)

    return space.root.build(decide)
