"""What a study is after: from the arguments of `Study` to objectives, outcome constraints and a stopping rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import SpecError
from ..search.spec import Chosen, Direction, Objective, OutcomeConstraint

if TYPE_CHECKING:
    from ..search.early_stopping.choices import RuleChoice

Metrics = str | Sequence[str] | None
"""One metric's name, or several."""


def objectives_of(maximize: Metrics, minimize: Metrics) -> tuple[Objective, ...]:
    """The objectives: first what is maximised, then what is minimised, each in the order given.

    Raises:
        SpecError: none, or something that is no metric's name.
    """
    found = [*_objectives(maximize, "maximize"), *_objectives(minimize, "minimize")]
    if not found:
        raise SpecError("the study has no objective.", "Set maximize='val_accuracy', minimize='loss', or both.")
    return tuple(found)


def constraints_of(subject_to: Mapping[str, str | Sequence[str]] | None) -> tuple[OutcomeConstraint, ...]:
    """The outcome constraints of `subject_to={"latency_ms": "<= 5"}`; several of one metric as a list.

    Raises:
        SpecError: no mapping, or something that is no bound.
    """
    if subject_to is None:
        return ()
    if not isinstance(subject_to, Mapping):
        raise SpecError(f"subject_to={subject_to!r} is not a mapping.", "Use e.g. subject_to={'latency_ms': '<= 5'}.")
    found = []
    for metric, bounds in subject_to.items():
        for bound in [bounds] if isinstance(bounds, str) or not isinstance(bounds, Sequence) else bounds:
            found.append(OutcomeConstraint.parse(metric, bound))
    return tuple(found)


def stopping_of(rule: RuleChoice | Chosen | str | None, objectives: Sequence[Objective]) -> Chosen:
    """The stopping rule as plain data.

    Raises:
        SpecError: an unknown rule, a wrong option, or a `metric` that is no objective.
    """
    from ..search.early_stopping import check_rule, to_chosen

    chosen = to_chosen(rule)
    check_rule(chosen, objectives)
    return chosen


def _objectives(metrics: Any, direction: Direction) -> list[Objective]:
    if metrics is None:
        return []
    listed = list(metrics) if isinstance(metrics, Sequence) and not isinstance(metrics, str) else [metrics]
    for metric in listed:
        if not isinstance(metric, str):
            raise SpecError(f"objective {metric!r} is not a metric's name.", f"Use e.g. {direction}='val_accuracy'.")
    return [Objective(metric=metric, direction=direction) for metric in listed]
