"""Every strategy by name: what it is, and how it is made. Describing one loads no library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import SpecError
from ...spaces import Space
from ..spec import Chosen, Objective, OutcomeConstraint
from .bayesian import BayesianOptions, bayesian
from .evolution import Evolution, EvolutionOptions
from .grid import GridOptions, GridSearch
from .info import StrategyInfo
from .options import checked, nearest, options_of
from .optuna_samplers import NAMED, PREFIX, SAMPLERS, class_name, named_options, sampler_maker
from .population import Population, PopulationOptions
from .port import Strategy
from .portfolio import Portfolio, PortfolioOptions
from .random_forest import RandomForestOptions, random_forest
from .random_search import RandomOptions, RandomSearch
from .reinforcement import Reinforcement, ReinforcementOptions
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
            several_objectives=True,
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
            several_objectives=True,
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
            several_objectives=True,
        ),
        SobolOptions,
    ),
    "random_forest": (
        StrategyInfo(
            name="random_forest",
            summary="random trees predict the loss, expected improvement picks the trial; for conditional spaces",
            source="Hutter et al. 2011 (SMAC); Geurts et al. 2006",
            cost="60 ms at 100 results, 0.2 s at 1,000",
            options=options_of(RandomForestOptions),
            uses_history=True,
            defines_by_run=False,
            several_objectives=True,
            constraints=True,
            borrows=True,
        ),
        RandomForestOptions,
    ),
    "bayesian": (
        StrategyInfo(
            name="bayesian",
            summary="a Gaussian process over conditional and mixed parameters, expected improvement picks the trial",
            source="Snoek et al. 2012; Levesque et al. 2017; Ament et al. 2023; Hvarfner et al. 2024",
            cost="60 ms at 100 results, 0.1 s from 300 on",
            options=options_of(BayesianOptions),
            uses_history=True,
            defines_by_run=False,
            several_objectives=True,
            constraints=True,
            borrows=True,
        ),
        BayesianOptions,
    ),
    "evolution": (
        StrategyInfo(
            name="evolution",
            summary="children of good trials, the oldest fall out; for cheap trials, architectures, several objectives",
            source="Real et al. 2019; Deb et al. 2002 (several objectives)",
            cost="1 ms",
            options=options_of(EvolutionOptions),
            uses_history=True,
            defines_by_run=False,
            several_objectives=True,
            constraints=True,
            borrows=True,
        ),
        EvolutionOptions,
    ),
    "population": (
        StrategyInfo(
            name="population",
            summary="members train side by side, weak ones take over the weights of strong ones; finds schedules",
            source="Jaderberg et al. 2017",
            cost="1 ms",
            options=options_of(PopulationOptions),
            uses_history=True,
            defines_by_run=False,
            waits=True,
            constraints=True,
        ),
        PopulationOptions,
    ),
    "portfolio": (
        StrategyInfo(
            name="portfolio",
            summary="forest, Gaussian process, TPE and evolution on one history, each asked as often as it has earned",
            source="Auer et al. 2002; Garivier and Moulines 2011",
            cost="50 ms at 100 results, 0.2 s at 1,000",
            options=options_of(PortfolioOptions),
            uses_history=True,
            defines_by_run=False,
            several_objectives=True,
            constraints=True,
            borrows=True,
        ),
        PortfolioOptions,
    ),
    "reinforcement": (
        StrategyInfo(
            name="reinforcement",
            summary="a policy writes configurations token by token and is trained on the good ones; for architectures",
            source="Abolafia et al. 2018 (pqt); Schulman et al. 2017 (ppo); Zoph and Le 2017 (reinforce)",
            cost="0.15 s at 100 results, 0.25 s at 1,000",
            options=options_of(ReinforcementOptions),
            uses_history=True,
            defines_by_run=False,
            several_objectives=True,
            constraints=True,
        ),
        ReinforcementOptions,
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
        several_objectives=traits.several_objectives,
        constraints=traits.constraints != "none",
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
    if len(objectives) > 1 and not info.several_objectives:
        raise SpecError(
            f"strategy {chosen.name!r} takes one objective, and this study has {len(objectives)}.",
            "Use strategy='portfolio', 'evolution' or 'nsga2'.",
        )
    if chosen.name in BUILT_IN:
        checked(BUILT_IN[chosen.name][1], chosen.name, chosen.options)
    elif chosen.name in NAMED:
        checked(NAMED[chosen.name][1], chosen.name, chosen.options)
    elif chosen.options:
        sampler_maker(chosen.name, class_name(chosen.name), chosen.options, study_seed=0)
    return info


def make(
    chosen: Chosen,
    space: Space | None,
    objectives: Sequence[Objective],
    *,
    seed: int = 0,
    constraints: Sequence[OutcomeConstraint] = (),
) -> Strategy:
    """The chosen strategy for a space (None: define by run) and a study's seed.

    Outcome constraints reach the strategies that look at them (`StrategyInfo.constraints`).

    Raises:
        SpecError: as `check`, and for a strategy that cannot work in this space.
    """
    check(chosen, has_space=space is not None, objectives=objectives)
    if chosen.name == "random":
        return RandomSearch(space, seed)
    if chosen.name in BUILT_IN:
        assert space is not None
        options = checked(BUILT_IN[chosen.name][1], chosen.name, chosen.options)
        match options:
            case GridOptions():
                return GridSearch(space, options)
            case RandomForestOptions():
                return random_forest(space, objectives, options, seed, constraints)
            case EvolutionOptions():
                return Evolution(space, objectives, options, seed, constraints)
            case PopulationOptions():
                return Population(space, objectives, options, seed, constraints)
            case PortfolioOptions():
                return Portfolio(space, objectives, options, seed, constraints)
            case ReinforcementOptions():
                return Reinforcement(space, objectives, options, seed, constraints)
            case BayesianOptions():
                return bayesian(space, objectives, options, seed, constraints)
            case _:
                return SobolSearch(space, options, seed)
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

    return OptunaStrategy(chosen.name, space, objectives, SAMPLERS[cls_name], maker, constraints)
