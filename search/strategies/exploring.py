"""The explore step of population-based training: some parameters of a configuration perturbed or drawn anew."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from ...errors import SpecError
from ...spaces import Configuration, Decision, Float, Int, Ordinal, Space
from ...spaces.values import Value

PERTURBED = "continuous"
"""The name for every `Float` of the space."""

FACTORS = (0.8, 1.2)
"""What a number is multiplied by (Jaderberg et al. 2017, section 4.1.1)."""

TRIES = 32
"""Changes that break a rule are drawn again so often; then the donor's configuration stays as it is."""


def perturbable(space: Space, chosen: str) -> frozenset[str]:
    """The paths that may change.

    Args:
        chosen: "continuous" (in a space without any nothing changes), or paths joined by commas; a path stands for
            everything below it, and a model's weights must still fit after the change.

    Raises:
        SpecError: the space has no such path.
    """
    decisions = space.all_decisions()
    if chosen == PERTURBED:
        return frozenset(decision.path for decision in decisions if isinstance(decision.domain, Float))
    found: set[str] = set()
    for name in (part.strip() for part in chosen.split(",")):
        below = [d.path for d in decisions if d.path == name or d.path.startswith((f"{name}.", f"{name}["))]
        if not below:
            known = ", ".join(decision.path for decision in decisions)
            raise SpecError(f"population: perturb={chosen!r}: the space has no {name!r}.", f"It has {known}.")
        found.update(below)
    return frozenset(found)


def explored(
    config: Configuration, paths: Collection[str], resample: float, rng: np.random.Generator
) -> tuple[Configuration, str]:
    """The configuration with every parameter of `paths` changed, and in words what became of them.

    Args:
        resample: the chance that a parameter is drawn anew instead of perturbed.
    """
    space = config.space
    before = {decision.path: value for decision, value in space.decisions_of(config)}

    def decide(decision: Decision) -> Value:
        if decision.path not in before:  # below a choice that changed
            return decision.sample(rng)
        if decision.path not in paths:
            return before[decision.path]
        if rng.random() < resample:
            return decision.sample(rng)
        return perturbed(decision, before[decision.path], rng)

    for _ in range(TRIES):
        changed = space.build(decide)
        if space.holds(changed):
            return changed, _changes(before, changed)
    return config, "nothing, since every change broke a rule"


def perturbed(decision: Decision, value: Value, rng: np.random.Generator) -> Value:
    """A number times 0.8 or 1.2, within its bounds, an integer by one step at least; of an ordered list the next value
    up or down; a category stays."""
    up = bool(rng.random() < 0.5)
    match decision.domain:
        case Float() as domain:
            moved = min(max(value * FACTORS[up], domain.low), domain.high)
            return domain.from_unit(domain.to_unit(moved))
        case Int() as domain:
            step = domain.step or 1
            steps = max(1, round(abs(value) * abs(FACTORS[up] - 1.0) / step))
            moved = value + (steps if up else -steps) * step
            return moved if domain.low <= moved <= domain.high else value
        case Ordinal() as domain:
            place = domain.index(value) + (1 if up else -1)
            return domain.values[min(max(place, 0), len(domain.values) - 1)]
    return value


def _changes(before: dict[str, Value], changed: Configuration) -> str:
    after = changed.space.decisions_of(changed)
    told = [f"{d.path} {_short(before.get(d.path))} -> {_short(v)}" for d, v in after if before.get(d.path) != v]
    return ", ".join(told) or "nothing"


def _short(value: Value) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
