"""Which Optuna samplers there are, what options they take, and how one is made for an ask.

A sampler is made anew for every proposal, seeded from the ask: Optuna keeps what a sampler has learned in the study, so
nothing is lost but a warm start of the GP's fit, and equal calls give equal proposals without reaching into its private
random states. Naming and describing a sampler does not import Optuna.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from ...errors import SpecError
from ..spec import Json
from .options import check_fields, nearest
from .optuna_keywords import refuse_objects

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler

PREFIX = "optuna:"


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplerTraits:
    """What we have to know about an Optuna sampler.

    `replays_asks`: it keeps state about its own former asks (a generation, an optimizer), which a restore repeats.
    `constraints`: how it takes outcome constraints: "own", Optuna's sampler does; "penalty", it looks at the order of
    values alone, so what is outside is told as worse than all that is inside; "none", it looks at no results.
    `attempts`: draws before a proposal that was tried or breaks a rule is replaced; few where an ask is slow.
    `fixed_seed`: its seed is a property of the study (scrambling), not of the ask. `finite_only`: it cannot work in a
    space with continuous parameters.
    """

    summary: str
    source: str
    cost: str = "a few ms"
    replays_asks: bool = False
    several_objectives: bool = True
    constraints: Literal["own", "penalty", "none"] = "own"
    attempts: int = 8
    fixed_seed: bool = False
    finite_only: bool = False


SAMPLERS: dict[str, SamplerTraits] = {
    "TPESampler": SamplerTraits(
        summary="tree-structured Parzen estimator", source="Bergstra et al. 2011; Falkner et al. 2018 (multivariate)"
    ),
    "GPSampler": SamplerTraits(
        summary="Gaussian process with log-EI; conditional parameters are drawn at random",
        source="Snoek et al. 2012; Ament et al. 2023 (log-EI)",
        cost="0.1 to 1 s at 100 results, grows",
        attempts=1,
    ),
    "CmaEsSampler": SamplerTraits(
        summary="covariance matrix adaptation; categories and conditional parameters are drawn at random",
        source="Hansen and Ostermeier 2001; Nomura et al. 2021",
        replays_asks=True,
        several_objectives=False,
        constraints="penalty",
    ),
    "NSGAIISampler": SamplerTraits(summary="genetic algorithm", source="Deb et al. 2002", replays_asks=True),
    "NSGAIIISampler": SamplerTraits(
        summary="genetic algorithm with reference points", source="Deb and Jain 2014", replays_asks=True
    ),
    "QMCSampler": SamplerTraits(
        summary="quasi-Monte Carlo points",
        source="Bergstra and Bengio 2012",
        replays_asks=True,
        constraints="none",
        fixed_seed=True,
    ),
    "BruteForceSampler": SamplerTraits(
        summary="every combination of a finite space, shuffled", source="Optuna", constraints="none", finite_only=True
    ),
    "RandomSampler": SamplerTraits(
        summary="independent draws", source="Bergstra and Bengio 2012", constraints="none"
    ),
}

ALIASES = {
    "tpe": "TPESampler",
    "gp": "GPSampler",
    "cmaes": "CmaEsSampler",
    "nsga2": "NSGAIISampler",
    "nsgaii": "NSGAIISampler",
    "nsga3": "NSGAIIISampler",
    "nsgaiii": "NSGAIIISampler",
    "qmc": "QMCSampler",
    "bruteforce": "BruteForceSampler",
    "brute_force": "BruteForceSampler",
    "random": "RandomSampler",
}

UNSUPPORTED = {
    "GridSampler": "Use strategy='grid': it knows conditions and rules.",
    "PartialFixedSampler": "Fix the parameter in the space: Constant(value).",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TpeOptions:
    """Of Optuna's TPESampler; the defaults are those that did best in our comparison (multivariate and grouped)."""

    n_startup_trials: int = field(default=10, metadata={"low": 0, "help": "random trials before the model"})
    n_ei_candidates: int = field(default=24, metadata={"low": 1, "help": "candidates an ask compares"})
    multivariate: bool = field(default=True, metadata={"help": "model parameters jointly"})
    group: bool = field(default=True, metadata={"help": "one joint model for each group of co-active parameters"})
    constant_liar: bool = field(default=True, metadata={"help": "count pending trials as bad ones"})

    def __post_init__(self) -> None:
        check_fields(self, "tpe")
        if self.group and not self.multivariate:
            raise SpecError("tpe: group=True needs multivariate=True.", "Set both, or group=False.")


@dataclass(frozen=True, slots=True, kw_only=True)
class GpOptions:
    """Of Optuna's GPSampler."""

    n_startup_trials: int = field(default=10, metadata={"low": 0, "help": "random trials before the model"})
    deterministic_objective: bool = field(default=False, metadata={"help": "the objective has no noise"})

    def __post_init__(self) -> None:
        check_fields(self, "gp")


@dataclass(frozen=True, slots=True, kw_only=True)
class CmaesOptions:
    """Of Optuna's CmaEsSampler."""

    n_startup_trials: int = field(default=1, metadata={"low": 0, "help": "random trials before the first generation"})
    popsize: int | None = field(default=None, metadata={"low": 2, "help": "trials a generation; null: 4 + 3 ln(d)"})
    use_separable_cma: bool = field(default=False, metadata={"help": "diagonal covariance, for many parameters"})
    with_margin: bool = field(default=False, metadata={"help": "keep integers from collapsing to one value"})
    lr_adapt: bool = field(default=False, metadata={"help": "adapt the learning rate, for noisy objectives"})
    consider_pruned_trials: bool = field(default=False, metadata={"help": "learn from stopped trials too"})

    def __post_init__(self) -> None:
        check_fields(self, "cmaes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Nsga2Options:
    """Of Optuna's NSGAIISampler."""

    population_size: int = field(default=50, metadata={"low": 2, "help": "trials a generation"})
    mutation_prob: float | None = field(
        default=None, metadata={"low": 0, "high": 1, "help": "chance to redraw a parameter; null: 1 / their number"}
    )
    crossover_prob: float = field(default=0.9, metadata={"low": 0, "high": 1, "help": "chance of two parents"})
    swapping_prob: float = field(default=0.5, metadata={"low": 0, "high": 1, "help": "chance to swap a parameter"})

    def __post_init__(self) -> None:
        check_fields(self, "nsga2")


NAMED: dict[str, tuple[str, type[Any]]] = {
    "tpe": ("TPESampler", TpeOptions),
    "gp": ("GPSampler", GpOptions),
    "cmaes": ("CmaEsSampler", CmaesOptions),
    "nsga2": ("NSGAIISampler", Nsga2Options),
}

MakeSampler = Callable[[int], "BaseSampler"]


def class_name(name: str) -> str:
    """The Optuna class that `optuna:NAME` means: a class name, or a short one such as `gp`.

    Raises:
        SpecError: there is none, or it is one that cannot work here.
    """
    asked = name.removeprefix(PREFIX)
    if asked in UNSUPPORTED:
        raise SpecError(f"optuna:{asked} needs an object that is not JSON.", UNSUPPORTED[asked])
    found = asked if asked in SAMPLERS else ALIASES.get(asked.lower())
    if found is None:
        raise SpecError(
            f"Optuna sampler {asked!r} is unknown.{nearest(asked, [*SAMPLERS, *ALIASES])}",
            f"Known: {', '.join(SAMPLERS)}.",
        )
    return found


def sampler_maker(owner: str, cls_name: str, options: Mapping[str, Json], study_seed: int) -> MakeSampler:
    """A function from an ask's seed (below 2^32) to a sampler. The first one is made here, to find bad options now.

    Raises:
        SpecError: an option that the class does not take from JSON, or a value that it refuses.
    """
    import optuna

    cls = getattr(optuna.samplers, cls_name)
    refuse_objects(owner, cls, options)
    keywords = dict(options)
    if "warn_independent_sampling" in inspect.signature(cls.__init__).parameters:
        keywords.setdefault("warn_independent_sampling", False)

    def make(seed: int) -> BaseSampler:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # experimental options were chosen on purpose
            if SAMPLERS[cls_name].fixed_seed:
                independent = optuna.samplers.RandomSampler(seed=seed)
                sampler = cls(**keywords, seed=study_seed % 2**32, independent_sampler=independent)
            else:
                sampler = cls(**keywords, seed=seed)
        assert isinstance(sampler, optuna.samplers.BaseSampler)
        return sampler

    try:
        make(0)
    except (TypeError, ValueError) as error:
        raise SpecError(f"{owner}: Optuna refuses the options: {error}", "See Optuna's documentation.") from error
    return make


def named_options(options: Any) -> dict[str, Json]:
    """The keywords of one of the options classes above."""
    return asdict(options)
