"""Expressions over a configuration: plain trees that can be stored, printed and evaluated.

The names of operations are those of Python where it has one. Over the elements of a repeated part:
`count`, `sum_of`, `min_of`, `max_of`, `all`, `any`, and the four orders. An element binds a *scope*: scope 0 is
the configuration itself, every `all`, `sum_of`, ... opens another one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from .paths import parsed_path, path_text
from .values import Json, Value, decode_value, encode_value

ARITHMETIC = ("+", "-", "*", "/", "//", "%", "**")
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
ORDERS = ("nondecreasing", "nonincreasing", "strictly_increasing", "strictly_decreasing")
LOGIC = {"and": "&", "or": "|"}


@dataclass(frozen=True, slots=True)
class Literal:
    """A value written in the rule."""

    value: Value


@dataclass(frozen=True, slots=True)
class Variable:
    """A parameter, by its steps from the configuration (scope 0) or from an element (scope > 0)."""

    steps: tuple[str | int, ...]
    scope: int = 0

    def child(self, step: str | int) -> Variable:
        """One step further down."""
        return Variable((*self.steps, step), self.scope)


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation on expressions."""

    op: str
    args: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Over:
    """An operation on the elements of the repeated part `repeat`; `body` sees each as scope `scope`."""

    op: str
    repeat: Variable
    scope: int
    body: Expression


@dataclass(frozen=True, slots=True)
class Predicted:
    """A predicted cost of the architecture at `part`: `parameters`, `macs`, `work` or `depth`."""

    part: Variable
    quantity: str


Expression: TypeAlias = Literal | Variable | Operation | Over | Predicted


def to_json(expression: Expression) -> dict[str, Json]:
    """The expression as JSON."""
    match expression:
        case Literal(value):
            return {"value": encode_value(value)}
        case Variable(steps, scope):
            return {"path": path_text(steps)} | ({"scope": scope} if scope else {})
        case Operation(op, args):
            return {"op": op, "args": [to_json(arg) for arg in args]}
        case Over(op, repeat, scope, body):
            return {"over": op, "repeat": to_json(repeat), "as": scope, "body": to_json(body)}
        case Predicted(part, quantity):
            return {"cost": quantity, "part": to_json(part)}


def from_json(obj: dict[str, Json]) -> Expression:
    """The expression that `to_json` wrote."""
    if "path" in obj:
        return Variable(parsed_path(obj["path"]), obj.get("scope", 0))
    if "op" in obj:
        return Operation(obj["op"], tuple(from_json(arg) for arg in obj["args"]))
    if "over" in obj:
        repeat = from_json(obj["repeat"])
        assert isinstance(repeat, Variable)
        return Over(obj["over"], repeat, obj["as"], from_json(obj["body"]))
    if "cost" in obj:
        part = from_json(obj["part"])
        assert isinstance(part, Variable)
        return Predicted(part, obj["cost"])
    return Literal(decode_value(obj["value"]))


def text(expression: Expression) -> str:
    """The expression as it would be written in a rule."""
    match expression:
        case Literal(value):
            return repr(value)
        case Variable(steps, scope):
            place = path_text(steps)
            return place if not scope else f"e{scope}{'.' if place and place[0] != '[' else ''}{place}"
        case Operation("not", (inner,)):
            return f"~{_grouped(inner)}"
        case Operation("neg", (inner,)):
            return f"-{_grouped(inner)}"
        case Operation("count", (repeat,)):
            return f"count({text(repeat)})"
        case Operation("isin", (inner, Literal((single,)))):
            return f"{_grouped(inner)} == {single!r}"
        case Operation("isin", (inner, Literal(values))):
            return f"{text(inner)}.isin({list(values)!r})"
        case Operation("rank", (inner, _)):
            return text(inner)
        case Operation(op, (left, right)) if op in ARITHMETIC or op in COMPARISONS or op in LOGIC:
            return f"{_grouped(left)} {LOGIC.get(op, op)} {_grouped(right)}"
        case Operation(op, args):
            return f"{op}({', '.join(text(arg) for arg in args)})"
        case Over(op, repeat, scope, Variable(steps, inner_scope)) if inner_scope == scope:
            inside = repr(path_text(steps)) if steps else ""
            return f"{text(repeat)}.{op.removesuffix('_of')}({inside})"
        case Over(op, repeat, scope, body):
            return f"{text(repeat)}.{op.removesuffix('_of')}(e{scope}: {text(body)})"
        case Predicted(part, quantity):
            return f"cost({text(part) or 'self'}).{quantity}"
    raise AssertionError(expression)


def variables(expression: Expression) -> frozenset[Variable]:
    """The parameters of the configuration itself (scope 0) that the expression reads."""
    match expression:
        case Variable(_, scope):
            return frozenset() if scope else frozenset([expression])
        case Operation(_, args):
            return frozenset().union(*(variables(arg) for arg in args))
        case Over(_, repeat, _, body):
            return variables(repeat) | variables(body)
        case Predicted(part, _):
            return variables(part)
    return frozenset()


def reads_cost(expression: Expression) -> bool:
    """Whether evaluating it builds a network (on the meta device): milliseconds instead of microseconds."""
    match expression:
        case Predicted():
            return True
        case Operation(_, args):
            return any(reads_cost(arg) for arg in args)
        case Over(_, _, _, body):
            return reads_cost(body)
    return False


def _grouped(expression: Expression) -> str:
    written = text(expression)
    two_sided = isinstance(expression, Operation) and " " in written and not written.endswith(")")
    if isinstance(expression, Operation) and expression.op in (*ARITHMETIC, *COMPARISONS, *LOGIC, "isin"):
        two_sided = ".isin(" not in written or expression.op != "isin"
    return f"({written})" if two_sided else written
