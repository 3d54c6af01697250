"""Evaluating expressions: numbers, and how far a condition is from holding.

A condition gives a *shortfall*: 0.0 if and only if it is as wanted, else a positive number that shrinks as the
configuration comes closer. One evaluator then serves validation (is it zero?) and repair (make it smaller).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import TypeAlias

from ..errors import SpaceError
from .configuration import Chosen, Record
from .expressions import ORDERS, Expression, Literal, Operation, Over, Predicted, Variable
from .values import Value, identity

Scopes: TypeAlias = dict[int, Value]
Reader: TypeAlias = Callable[[Scopes], Value]
Measure: TypeAlias = Callable[[Scopes], float]

_MISSING = object()
_TIE = 1e-9  # added to every numeric shortfall: a strict comparison that fails by nothing still fails

_NUMBERS: dict[str, Callable[..., Value]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "abs": abs, "neg": operator.neg, "minimum": min, "maximum": max,
}  # fmt: skip
_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
_TESTS: dict[str, Callable[[Value, Value], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
_STEP_TEST = dict(zip(ORDERS, ("<=", ">=", "<", ">"), strict=True))


class Inactive(Exception):
    """The expression read a parameter that this configuration does not have."""


def rule_measure(expression: Expression, *, wanted: bool) -> Callable[[Value], float]:
    """The shortfall of a whole rule on a configuration.

    A rule that reads an inactive parameter does not apply: 0.0. One whose expression has no value (a division by
    zero, a complex power, the cost of a network that cannot be built) is broken: what cannot be checked is not let
    through.
    """
    measure = _condition(expression, wanted)

    def of(configuration: Value) -> float:
        try:
            return measure({0: configuration})
        except Inactive:
            return 0.0
        except (ArithmeticError, TypeError, SpaceError):
            return 1.0

    return of


def _number(expression: Expression) -> Reader:
    match expression:
        case Literal(value):
            return lambda scopes: value
        case Variable():
            return _variable(expression)
        case Predicted(part, quantity):
            configuration = _variable(part)
            return lambda scopes: _predicted(configuration(scopes), quantity)
        case Operation("count", (repeat,)):
            elements = _number(repeat)
            return lambda scopes: len(elements(scopes))
        case Operation("rank", (inner, Literal(values))):
            place = {identity(value): index for index, value in enumerate(values)}
            read = _number(inner)
            return lambda scopes: place[identity(read(scopes))]
        case Operation(op, (single,)):
            function, read = _NUMBERS[op], _number(single)
            return lambda scopes: function(read(scopes))
        case Operation(op, (left, right)):
            function, first, second = _NUMBERS[op], _number(left), _number(right)
            return lambda scopes: function(first(scopes), second(scopes))
        case Over(op, repeat, scope, body):
            each = _each(repeat, scope, _number(body))
            if op == "sum_of":
                return lambda scopes: sum(each(scopes))
            best = min if op == "min_of" else max

            def extreme(scopes: Scopes) -> Value:
                found = list(each(scopes))
                if not found:
                    raise Inactive
                return best(found)

            return extreme
    raise AssertionError(expression)


def _condition(expression: Expression, wanted: bool) -> Measure:
    match expression:
        case Operation("not", (inner,)):
            return _condition(inner, not wanted)
        case Operation("and" | "or" as op, (left, right)):
            first, second = _condition(left, wanted), _condition(right, wanted)
            if (op == "and") == wanted:
                return lambda scopes: first(scopes) + second(scopes)
            # both sides are read before the smaller is taken: whether a rule applies does not depend on order
            return lambda scopes: min(first(scopes), second(scopes))
        case Operation("isin", (inner, Literal(values))):
            read, listed = _number(inner), frozenset(identity(_plain_tag(value)) for value in values)
            return lambda scopes: float((identity(_plain_tag(read(scopes))) in listed) != wanted)
        case Operation(op, (left, right)) if op in _TESTS:
            return _comparison(op if wanted else _OPPOSITE[op], _number(left), _number(right))
        case Over("all" | "any" as op, repeat, scope, body):
            each = _each(repeat, scope, _condition(body, wanted))
            if (op == "all") == wanted:
                return lambda scopes: math.fsum(each(scopes))
            return lambda scopes: min(each(scopes), default=1.0)
        case Over(op, repeat, scope, body) if op in _STEP_TEST:
            return _order(_STEP_TEST[op], _each(repeat, scope, _number(body)), wanted)
    read = _number(expression)
    return lambda scopes: float(bool(read(scopes)) != wanted)


def _comparison(op: str, left: Reader, right: Reader) -> Measure:
    test = _TESTS[op]

    def measure(scopes: Scopes) -> float:
        first, second = left(scopes), right(scopes)
        return 0.0 if test(first, second) else _gap(first, second)

    return measure


def _order(op: str, each: Callable[[Scopes], Iterator[Value]], wanted: bool) -> Measure:
    test = _TESTS[op]

    def measure(scopes: Scopes) -> float:
        found = list(each(scopes))
        gaps = [_gap(a, b) for a, b in pairwise(found) if not test(a, b)]
        return math.fsum(gaps) if wanted else float(not gaps)

    return measure


def _gap(first: Value, second: Value) -> float:
    if isinstance(first, (int, float)) and isinstance(second, (int, float)):
        distance = abs(first - second)
        if distance < math.inf:
            return float((distance + _TIE) / (1.0 + distance)) if distance < 1e300 else 1.0
    return 1.0


def _each(repeat: Variable, scope: int, body: Reader) -> Callable[[Scopes], Iterator[Value]]:
    elements = _variable(repeat)

    def each(scopes: Scopes) -> Iterator[Value]:
        for element in elements(scopes):
            try:
                value = body({**scopes, scope: element})
            except Inactive:
                continue  # an element without that parameter takes no part
            yield value

    return each


def _variable(variable: Variable) -> Reader:
    scope = variable.scope
    if len(variable.steps) == 1 and isinstance(variable.steps[0], str):
        (name,) = variable.steps

        def direct(scopes: Scopes) -> Value:
            value = scopes[scope]._values.get(name, _MISSING)
            if value is _MISSING:
                raise Inactive
            return value

        return direct

    def follow(scopes: Scopes) -> Value:
        value = scopes[scope]
        for step in variable.steps:
            if isinstance(step, int):
                if not -len(value) <= step < len(value):
                    raise Inactive
                value = value[step]
            else:
                value = value._values.get(step, _MISSING) if isinstance(value, Record) else _MISSING
                if value is _MISSING:
                    raise Inactive
        return value

    return follow


def _predicted(configuration: Value, quantity: str) -> Value:
    from .architecture import is_importable_here
    from .cost.terms import predicted

    part = configuration.option_configuration() if isinstance(configuration, Chosen) else configuration
    if part is None or not is_importable_here(part.space):
        raise Inactive  # no architecture, or one that only a worker may load
    return predicted(part, quantity)


def _plain_tag(value: Value) -> Value:
    return value.choice if isinstance(value, Chosen) else value
