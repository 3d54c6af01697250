"""Rules: which combinations of values are not to be tried."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Literal, TypeAlias

from ..errors import SpaceError
from .evaluation import rule_measure
from .expressions import Expression, Variable, from_json, text, to_json
from .expressions import variables as variables_of
from .paths import path_text
from .symbols import Symbol, condition
from .values import Json, Value, shown

if TYPE_CHECKING:
    from .space import Space

Kind: TypeAlias = Literal["forbid", "require"]
_ENTRY_POINT = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule as data: what must not hold, or must.

    Prints as it was written:

    >>> from shoal.spaces import Float, Space, forbid
    >>> Space(lr=Float(0, 1), wd=Float(0, 1), rules=[forbid(lambda s: (s.lr > 0.5) & (s.wd > 0.1))]).rules[0]
    forbid((lr > 0.5) & (wd > 0.1))
    """

    kind: Kind
    expression: Expression
    _measure: Callable[[Value], float] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_measure", rule_measure(self.expression, wanted=self.kind == "require"))

    def shortfall(self, configuration: Value) -> float:
        """How far the rule is from holding: 0.0 if and only if it holds."""
        return self._measure(configuration)

    def variables(self) -> frozenset[str]:
        """Paths of the parameters it speaks of."""
        return frozenset(path_text(variable.steps) for variable in variables_of(self.expression))

    def to_json(self) -> dict[str, Json]:
        """The rule as JSON."""
        return {"kind": self.kind, "expression": to_json(self.expression)}

    @classmethod
    def from_json(cls, obj: dict[str, Json]) -> Rule:
        """The rule that `to_json` wrote."""
        return cls(obj["kind"], from_json(obj["expression"]))

    def __repr__(self) -> str:
        return f"{self.kind}({text(self.expression)})"

    def __reduce__(self) -> tuple[type[Rule], tuple[Kind, Expression]]:
        return Rule, (self.kind, self.expression)


@dataclass(frozen=True, slots=True)
class Constraint:
    """A rule that only running code can check: `module:function`, called in workers, never here."""

    entry_point: str

    def to_json(self) -> dict[str, Json]:
        """The constraint as JSON."""
        return {"kind": "constraint", "entry_point": self.entry_point}

    def __repr__(self) -> str:
        return f"constraint({self.entry_point!r})"


@dataclass(frozen=True, slots=True)
class Unbound:
    """A rule whose function has not met its space yet; `Space` binds it."""

    kind: Kind
    function: Callable[..., object]

    def bind(self, space: Space) -> Rule:
        """Run the function once, on the symbolic space.

        Raises:
            SpaceError: it names what the space has not, or does not return a condition.
        """
        outcome = self.function(space.symbol(Variable(()), count(1)))
        if not isinstance(outcome, Symbol):
            raise SpaceError(
                f"{self.kind}: the rule returned {shown(outcome)}, not a condition on the space.",
                "Return a comparison of parameters, for example lambda s: s.lr > 0.03.",
            )
        return Rule(self.kind, condition(outcome))


def forbid(function: Callable[..., object]) -> Unbound:
    """A rule: configurations for which the condition holds are not tried.

    Args:
        function: takes the symbolic space, returns a condition. Run once, when the space is defined; what it did is
            stored, not the function. A condition that reads an inactive parameter does not apply.
    """
    return Unbound("forbid", function)


def require(function: Callable[..., object]) -> Unbound:
    """A rule: only configurations for which the condition holds are tried. See `forbid`."""
    return Unbound("require", function)


def constraint(entry_point: str) -> Constraint:
    """A rule that cannot be written as an expression: a function of the configuration, run in workers only.

    Args:
        entry_point: "module:function"; the function takes the configuration and returns True if it may be tried.

    Raises:
        SpaceError: not of that form.
    """
    if not isinstance(entry_point, str) or not _ENTRY_POINT.fullmatch(entry_point):
        raise SpaceError(
            f"constraint({shown(entry_point)}) is not 'module:function'.",
            "Name an importable function, for example constraint('checks:fits_in_memory').",
        )
    return Constraint(entry_point)
