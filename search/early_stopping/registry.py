"""Every stopping rule by name: what it is, and how it is made. Describing one loads no library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ...errors import SpecError
from ..spec import ALL, Chosen, Json, Objective
from ..strategies.options import Option, checked, nearest, options_of
from .all_objectives import AllObjectivesRule
from .asha import AshaRule
from .choices import ASHA, FreezeThaw, Hyperband, Median, NoStopping, Patience, Percentile, RuleChoice, Threshold
from .freeze_thaw import FreezeThawRule
from .optuna_pruners import PREFIX, PRUNERS, OptunaRule, class_name, made_pruner
from .patience import PatienceRule
from .percentile import PercentileRule
from .port import StoppingRule
from .rungs import bracket_count
from .threshold import ThresholdRule
from .unstopped import UnstoppedRule


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleInfo:
    """One registered rule. `pauses`: it may pause trials; `open_options`: further keywords of the Optuna class."""

    name: str
    summary: str
    source: str
    options: tuple[Option, ...]
    pauses: bool = False
    open_options: bool = False


CHOICES: dict[str, type[Any]] = {
    choice.name: choice for choice in (NoStopping, ASHA, Hyperband, FreezeThaw, Median, Percentile, Patience, Threshold)
}

SOURCES = {
    "asha": "Li et al. 2020",
    "hyperband": "Li et al. 2018",
    "freeze_thaw": "Swersky et al. 2014; Li et al. 2020",
    "median": "Golovin et al. 2017",
    "percentile": "Golovin et al. 2017",
    "patience": "Prechelt 1998",
}


COMPARING = ("asha", "hyperband", "median", "percentile")
"""Rules that rank trials at a step: those can do it over all objectives."""


def names() -> tuple[str, ...]:
    """Every name that `describe` and `make_rule` know."""
    return (*CHOICES, *(f"{PREFIX}{cls}" for cls in PRUNERS))


def describe(name: str) -> RuleInfo:
    """What rule `name` is.

    Raises:
        SpecError: there is none of this name.
    """
    if name in CHOICES:
        summary = (CHOICES[name].__doc__ or "").splitlines()[0]
        pauses = name in ("asha", "hyperband", "freeze_thaw")
        options = options_of(CHOICES[name])
        return RuleInfo(name=name, summary=summary, source=SOURCES.get(name, ""), options=options, pauses=pauses)
    if name.startswith(PREFIX):
        cls_name = class_name(name)
        summary = f"{PRUNERS[cls_name]} (Optuna's {cls_name})"
        return RuleInfo(name=f"{PREFIX}{cls_name}", summary=summary, source="Optuna", options=(), open_options=True)
    known = names()
    raise SpecError(f"early stopping {name!r} is unknown.{nearest(name, known)}", f"Known: {', '.join(known)}.")


def to_chosen(given: RuleChoice | Chosen | str | None) -> Chosen:
    """What a study was given as `early_stopping=` as plain data.

    Raises:
        SpecError: an unknown name, or a rule that needs an option.
    """
    if given is None:
        return NoStopping().chosen()
    if isinstance(given, RuleChoice):
        return given.chosen()
    if not isinstance(given, str | Chosen):
        raise SpecError(f"early_stopping={given!r} is no stopping rule.", "Use e.g. shoal.ASHA(max_epochs=27) or None.")
    chosen = Chosen(name=given) if isinstance(given, str) else given
    describe(chosen.name)
    if chosen.name not in CHOICES:
        made_pruner(class_name(chosen.name), _without_metric(chosen.options))  # says what is wrong with its options
        return chosen
    choice: RuleChoice = checked(CHOICES[chosen.name], chosen.name, chosen.options)
    return choice.chosen()


def make_rule(chosen: Chosen, objective: Objective) -> StoppingRule:
    """The chosen rule for an objective, or over all of them where its `metric` says so.

    Raises:
        SpecError: an unknown name or option, or a bad value (of an Optuna pruner: at its first question).
    """
    rule = _made(chosen, objective)
    return AllObjectivesRule(lambda place: _made(chosen, place)) if chosen.options.get("metric") == ALL else rule


def _made(chosen: Chosen, objective: Objective) -> StoppingRule:
    describe(chosen.name)
    if chosen.name.startswith(PREFIX):
        return OptunaRule(objective, class_name(chosen.name), _without_metric(chosen.options))
    match checked(CHOICES[chosen.name], chosen.name, chosen.options):
        case ASHA() as choice:
            return AshaRule(objective, **_settings(choice))
        case Hyperband() as choice:
            count = bracket_count(choice.min_epochs, choice.max_epochs, choice.reduction_factor)
            return AshaRule(objective, **_settings(choice), brackets=count)
        case FreezeThaw() as choice:
            return FreezeThawRule(objective, **_settings(choice))
        case Median() as choice:
            return PercentileRule(objective, keep_percent=50.0, **_settings(choice))
        case Percentile() as choice:
            return PercentileRule(objective, **_settings(choice))
        case Patience() as choice:
            return PatienceRule(objective, **_settings(choice))
        case Threshold() as choice:
            return ThresholdRule(objective, **_settings(choice))
    return UnstoppedRule()


def check_rule(chosen: Chosen, objectives: Sequence[Objective]) -> None:
    """Refuse a rule that cannot serve a study with these objectives.

    Raises:
        SpecError: an unknown name or option, a bad value, or a `metric` that is no objective.
    """
    metrics = [objective.metric for objective in objectives]
    named = chosen.options.get("metric")
    if named == ALL and chosen.name not in COMPARING:
        raise SpecError(
            f"{chosen.name} cannot look at all objectives: it does not compare trials with each other.",
            f"Name one of {', '.join(metrics)}, or use {', '.join(COMPARING)}.",
        )
    if named not in (None, ALL, *metrics):
        raise SpecError(
            f"{chosen.name}: metric={named!r} is no objective of the study.{nearest(str(named), metrics)}",
            f"Use one of: {', '.join(metrics)}, or {ALL!r}.",
        )
    make_rule(chosen, objectives[0])


def _settings(choice: RuleChoice) -> dict[str, Any]:
    """The options by which the rule itself is made."""
    return _without_metric(asdict(choice))


def _without_metric(options: Mapping[str, Json]) -> dict[str, Json]:
    """Which objective is looked at is the study's business (`StudySpec.watched`)."""
    return {name: value for name, value in options.items() if name != "metric"}
