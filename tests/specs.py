"""Spaces and specs of studies that nobody runs."""

from typing import Any

from shoal.search.spec import Budget, Chosen, EntryPoint, Objective, StudySpec
from shoal.spaces import Categorical, Choice, Float, Int, Ordinal, Space

BELIEVED = Space(
    lr=Float(1e-4, 1.0, log=True, default=1e-3, prior="high"),
    kind=Categorical(["a", "b", "c", "d"], default="c", prior="high"),
    size=Ordinal([1, 2, 4, 8, 16], default=16, prior="medium"),
    n=Int(0, 100, default=5, prior="low"),
    opt=Choice(sgd=Space(momentum=Float(0.0, 1.0, default=0.9, prior="high")), adam=None),
)
"""With a default, and how much a person believes in it, for every kind of parameter."""


def plain_spec(space: Space, *, name: str = "s", trials: int = 3, **changes: Any) -> StudySpec:
    """A study of an objective to be maximized, at random, without early stopping; `changes` are fields of the spec."""
    fields: dict[str, Any] = {
        "objectives": (Objective(metric="score", direction="maximize"),),
        "entry": EntryPoint(kind="objective", module="m", function="f"),
        "strategy": Chosen(name="random"),
        "early_stopping": Chosen(name="none"),
        "budget": Budget(trials=trials),
        **changes,
    }
    return StudySpec(name=name, space=space.to_json(), **fields)
