"""Every strategy by name: what it is, and how it is made. Describing one loads no library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import SpecError
from ...spaces import Space
from ..spec import Chosen, Objective
from .grid import GridOptions, GridSearch
from .info import StrategyInfo
from .options import checked, nearest, options_of
from .optuna_samplers import NAMED, PREFIX, SAMPLERS, class_name, named_options, sampler_maker
from .port import Strategy
from .random_search import RandomOptions, RandomSearch
from .sobol import SobolOptions, SobolSearch

BUILT_IN: dict[str, tuple[StrategyInfo, type[Any]]] = {
    "random": (
        StrategyInfo(
            name="random",
            summary="independent draws from the space; a finite space without repetition",
            source="Bergstra and Bengio 2012",
            cost="0.1 ms",
            options=(),
            uses_history=False,
            defines_by_run=True,
        ),
        RandomOptions,
    ),
    "grid": (
        StrategyInfo(
            name="grid",
            summary="every combination, continuous parameters at evenly spaced values",
            source="",
            cost="0.1 ms",
            options=options_of(GridOptions),
            uses_history=False,
            defines_by_run=False,
        ),
        GridOptions,
    ),
    "sobol": (
        StrategyInfo(
            name="sobol",
            summary="low-discrepancy points, which cover the space more evenly than random ones",
            source="Sobol' 1967; Owen 1998",
            cost="1 ms",
            options=options_of(SobolOptions),
            uses_history=False,
            defines_by_run=False,
        ),
        SobolOptions,
    ),
}


def names() -> tuple[str, ...]:
    """Every name that `describe` and `make` know."""
    return (*BUILT_IN, *NAMED, *(f"{PREFIX}{cls}" for cls in SAMPLERS))


def describe(name: str) -> StrategyInfo:
    """What strategy `name` is.

    Raises:
        SpecError: there is none of this name.
    """
    if name in BUILT_IN:
        return BUILT_IN[name][0]
    if name not in NAMED and not name.startswith(PREFIX):
        known = names()
        raise SpecError(f"strategy {name!r} is unknown.{nearest(name, known)}", f"Known: {', '.join(known)}.")
    cls_name, options = NAMED[name] if name in NAMED else (class_name(name), None)
    traits = SAMPLERS[cls_name]
    return StrategyInfo(
        name=name if name in NAMED else f"{PREFIX}{cls_name}",
        summary=f"{traits.summary} (Optuna's {cls_name})",
        source=traits.source,
        cost=traits.cost,
        options=() if options is None else options_of(options),
        uses_history=True,
        defines_by_run=True,
        replays_asks=traits.replays_asks,
        open_options=options is None,
    )


def check(chosen: Chosen, *, has_space: bool, objectives: Sequence[Objective]) -> StrategyInfo:
    """Refuse what can be refused without a space. Loads Optuna only where options of an `optuna:...` are given.

    Raises:
        SpecError: an unknown name or option, a bad value, or a strategy that cannot serve such a study.
    """
    info = describe(chosen.name)
    if not has_space and not info.defines_by_run:
        raise SpecError(
            f"strategy {chosen.name!r} needs a declared space, and this study defines its space as it runs.",
            "Give the study a space=..., or use strategy='random' or 'tpe'.",
        )
    if chosen.name in BUILT_IN:
        checked(BUILT_IN[chosen.name][1], chosen.name, chosen.options)
        return info
    if chosen.name in NAMED:
        checked(NAMED[chosen.name][1], chosen.name, chosen.options)
    elif chosen.options:
        sampler_maker(chosen.name, class_name(chosen.name), chosen.options, study_seed=0)
    traits = SAMPLERS[NAMED[chosen.name][0] if chosen.name in NAMED else class_name(chosen.name)]
    if len(objectives) > 1 and not traits.several_objectives:
        raise SpecError(
            f"strategy {chosen.name!r} takes one objective, and this study has {len(objectives)}.",
            "Use strategy='nsga2' or 'tpe'.",
        )
    return info


def make(chosen: Chosen, space: Space | None, objectives: Sequence[Objective], *, seed: int = 0) -> Strategy:
    """The chosen strategy for a space (None: define by run) and a study's seed.

    Raises:
        SpecError: as `check`, and for a strategy that cannot work in this space.
    """
    check(chosen, has_space=space is not None, objectives=objectives)
    if chosen.name == "random":
        return RandomSearch(space, seed)
    if chosen.name in BUILT_IN:
        assert space is not None
        if chosen.name == "grid":
            return GridSearch(space, checked(GridOptions, "grid", chosen.options))
        return SobolSearch(space, checked(SobolOptions, "sobol", chosen.options), seed)
    if chosen.name in NAMED:
        cls_name, options_class = NAMED[chosen.name]
        options = named_options(checked(options_class, chosen.name, chosen.options))
    else:
        cls_name, options = class_name(chosen.name), dict(chosen.options)
    if space is not None and SAMPLERS[cls_name].finite_only and space.size() is None:
        raise SpecError(
            f"strategy {chosen.name!r} needs a finite space, and this one has continuous parameters.",
            "Give them a step, or use strategy='tpe'.",
        )
    maker = sampler_maker(chosen.name, cls_name, options, seed)
    from .optuna_strategy import OptunaStrategy  # imports optuna

    return OptunaStrategy(chosen.name, space, objectives, SAMPLERS[cls_name], maker)
