"""What may change when a study goes on under a new spec."""

from __future__ import annotations

from ..errors import SpecError
from .spec import StudySpec


def edit(before: StudySpec, after: StudySpec) -> StudySpec:
    """The spec that the study `before` goes on with when it is run again as `after`.

    Budget, code, strategy, early stopping, resources, priority and the space may change; trials of a former version of
    the space stay. What decides how trials are compared or repeated may not.

    Raises:
        SpecError: `after` changes what may not change; the message says which, and from what to what.
    """
    fixed = {
        "name": (before.name, after.name),
        "objective": (_objectives(before), _objectives(after)),
        "subject_to": (_constraints(before), _constraints(after)),
        "seed": (before.seed, after.seed),
        "value": (before.value_from, after.value_from),
        "shards": (before.max_shards, after.max_shards),
        "reproducible": (before.reproducible, after.reproducible),
    }
    for what, (old, new) in fixed.items():
        if old != new:
            raise SpecError(
                f"study {before.name!r} has {what} {old} and is opened with {new}: that cannot change.",
                "Open it as it was, or give the study another name.",
            )
    if (before.space is None) != (after.space is None):
        raise SpecError(
            f"study {before.name!r} cannot change between a declared space and define by run.",
            "Give the study another name.",
        )
    return after


def _constraints(spec: StudySpec) -> str:
    return ", ".join(map(str, spec.constraints)) or "nothing"


def _objectives(spec: StudySpec) -> str:
    return ", ".join(f"{objective.direction} {objective.metric}" for objective in spec.objectives)
