"""The symbolic space that the function of a rule receives: it records what the function does with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NoReturn

from ..errors import SpaceError
from .expressions import Expression, Literal, Operation, Over, Variable, text
from .naming import did_you_mean, listing
from .paths import parsed_path, path_text
from .values import Value, plain, shown

if TYPE_CHECKING:
    from .family import Family
    from .node import Node


class Symbol:
    """Stands for a value that is not known yet. It has no truth: `and`, `or`, `not`, `if` and `a < b < c` cannot
    be recorded, so they are refused."""

    __slots__ = ("expression",)

    def __init__(self, expression: Expression) -> None:
        self.expression = expression

    def __bool__(self) -> NoReturn:
        raise SpaceError(
            f"A rule took the truth of `{text(self.expression)}`, which is symbolic.",
            "Write & | ~ instead of and, or, not; (a < b) & (b < c) instead of a < b < c; "
            "minimum/maximum instead of min/max.",
        )

    __hash__ = None  # type: ignore[assignment]  # == builds an expression, so a symbol can be no key

    def __repr__(self) -> str:
        return text(self.expression)


class Term(Symbol):
    """A number, a category or a condition."""

    __slots__ = ("_domain",)

    def __init__(self, expression: Expression, domain: Node | None = None) -> None:
        super().__init__(expression)
        self._domain = domain

    def isin(self, values: Iterable[Value]) -> Term:
        """True when the value is one of `values`, types included."""
        listed = tuple(plain(value) for value in values)
        for value in listed:
            self._check_listed(value)
        return Term(Operation("isin", (self.expression, Literal(listed))))

    def __eq__(self, other: object) -> Term:  # type: ignore[override]
        if self._known() is not None and not isinstance(other, Symbol):
            return self.isin([other])
        return Term(Operation("==", (self.expression, operand(other))))

    def __ne__(self, other: object) -> Term:  # type: ignore[override]
        return ~(self == other)

    def __lt__(self, other: object) -> Term:
        return self._compared("<", other)

    def __le__(self, other: object) -> Term:
        return self._compared("<=", other)

    def __gt__(self, other: object) -> Term:
        return self._compared(">", other)

    def __ge__(self, other: object) -> Term:
        return self._compared(">=", other)

    def __and__(self, other: object) -> Term:
        return Term(Operation("and", (self.expression, condition(other))))

    def __rand__(self, other: object) -> Term:
        return Term(Operation("and", (condition(other), self.expression)))

    def __or__(self, other: object) -> Term:
        return Term(Operation("or", (self.expression, condition(other))))

    def __ror__(self, other: object) -> Term:
        return Term(Operation("or", (condition(other), self.expression)))

    def __invert__(self) -> Term:
        return Term(Operation("not", (self.expression,)))

    def __add__(self, other: object) -> Term:
        return self._computed("+", other)

    def __radd__(self, other: object) -> Term:
        return self._computed("+", other, swapped=True)

    def __sub__(self, other: object) -> Term:
        return self._computed("-", other)

    def __rsub__(self, other: object) -> Term:
        return self._computed("-", other, swapped=True)

    def __mul__(self, other: object) -> Term:
        return self._computed("*", other)

    def __rmul__(self, other: object) -> Term:
        return self._computed("*", other, swapped=True)

    def __truediv__(self, other: object) -> Term:
        return self._computed("/", other)

    def __rtruediv__(self, other: object) -> Term:
        return self._computed("/", other, swapped=True)

    def __floordiv__(self, other: object) -> Term:
        return self._computed("//", other)

    def __rfloordiv__(self, other: object) -> Term:
        return self._computed("//", other, swapped=True)

    def __mod__(self, other: object) -> Term:
        return self._computed("%", other)

    def __rmod__(self, other: object) -> Term:
        return self._computed("%", other, swapped=True)

    def __pow__(self, other: object) -> Term:
        return self._computed("**", other)

    def __rpow__(self, other: object) -> Term:
        return self._computed("**", other, swapped=True)

    def __abs__(self) -> Term:
        return Term(Operation("abs", (self._as_number(),)))

    def __neg__(self) -> Term:
        return Term(Operation("neg", (self._as_number(),)))

    def _computed(self, op: str, other: object, *, swapped: bool = False) -> Term:
        mine, theirs = self._as_number(), other._as_number() if isinstance(other, Term) else operand(other)
        return Term(Operation(op, (theirs, mine) if swapped else (mine, theirs)))

    def _compared(self, op: str, other: object) -> Term:
        values = self._known()
        if values is None or all(_is_number(value) for value in values):
            theirs = other._as_number() if isinstance(other, Term) else operand(other)
            return Term(Operation(op, (self._as_number(), theirs)))
        if getattr(self._domain, "kind", None) != "ordinal":
            raise SpaceError(
                f"A rule compares {text(self.expression)} by size, but its categories have no order.",
                "Use == or .isin([...]), or make it Ordinal([...]).",
            )
        mine = Operation("rank", (self.expression, Literal(values)))
        if isinstance(other, Term):
            return Term(Operation(op, (mine, Operation("rank", (other.expression, Literal(values))))))
        self._check_listed(other)
        return Term(Operation(op, (mine, Operation("rank", (operand(other), Literal(values))))))

    def _as_number(self) -> Expression:
        values = self._known()
        if values is not None and not all(_is_number(value) for value in values):
            raise SpaceError(
                f"A rule computes with {text(self.expression)}, whose values are not all numbers: {listing(values)}.",
                "Use == or .isin([...]).",
            )
        return self.expression

    def _known(self) -> tuple[Value, ...] | None:
        return getattr(self._domain, "values", None)

    def _check_listed(self, value: Value) -> None:
        values = self._known()
        if values is not None and self._domain is not None:
            try:
                self._domain.parse(value, text(self.expression))
            except SpaceError:
                raise SpaceError(
                    f"A rule compares {text(self.expression)} with {shown(value)} ({type(value).__name__}), "
                    f"which is not one of its values: {listing(values)}.{did_you_mean(value, values)}",
                    "Compare with a listed value.",
                ) from None


class ChoiceSymbol(Term):
    """A `Choice`: compared with tags, its attributes are the parameters of whichever option is active."""

    __slots__ = ("_nodes", "_scopes")

    def __init__(self, variable: Variable, tags: Node, nodes: Mapping[str, list[Node]], scopes: Iterator[int]) -> None:
        super().__init__(variable, tags)
        self._nodes = nodes
        self._scopes = scopes

    def __getattr__(self, name: str) -> Symbol:
        return self[name]

    def __getitem__(self, name: str) -> Symbol:
        variable = _child(self.expression, name, self._nodes)
        nodes = self._nodes[name]
        if all(node == nodes[0] for node in nodes[1:]):
            return nodes[0].symbol(variable, self._scopes)
        return Term(variable)  # what it may be compared with depends on the option


class RecordSymbol(Symbol):
    """A `Space`: its attributes (or items) are its parameters."""

    __slots__ = ("_nodes", "_scopes", "architecture")

    def __init__(
        self, variable: Variable, nodes: Mapping[str, Node], scopes: Iterator[int], architecture: Family | None
    ) -> None:
        super().__init__(variable)
        self.architecture = architecture
        self._nodes = nodes
        self._scopes = scopes

    def __getattr__(self, name: str) -> Symbol:
        return self[name]

    def __getitem__(self, name: str) -> Symbol:
        variable = _child(self.expression, name, self._nodes)
        return self._nodes[name].symbol(variable, self._scopes)


class RepeatSymbol(Symbol):
    """A `Repeat`: elements by index, and questions about all of them.

    Where a method takes `of`, it is the path of a parameter inside an element ("width", "op.width"), a function of
    the element, or left out when the elements are plain values. Elements without that parameter take no part.
    """

    __slots__ = ("_node", "_scopes")

    def __init__(self, variable: Variable, node: Node, scopes: Iterator[int]) -> None:
        super().__init__(variable)
        self._node = node
        self._scopes = scopes

    @property
    def count(self) -> Term:
        """How many elements."""
        return Term(Operation("count", (self.expression,)))

    def __len__(self) -> NoReturn:
        raise SpaceError(f"len({self!r}) is symbolic.", f"Write count({self!r}) or {self!r}.count.")

    def __iter__(self) -> NoReturn:
        raise SpaceError(
            f"A rule loops over {self!r}, whose length is not known yet.",
            "Use .all(...), .any(...), .sum(...), or index single elements.",
        )

    def __getitem__(self, index: int) -> Symbol:
        return self._node.symbol(self._variable.child(index), self._scopes)

    def sum(self, of: Of = "") -> Term:
        """Sum over the elements; 0 when none has the parameter."""
        return Term(self._over("sum_of", of, operand))

    def min(self, of: Of = "") -> Term:
        """Smallest over the elements; the rule does not apply when none has the parameter."""
        return Term(self._over("min_of", of, operand))

    def max(self, of: Of = "") -> Term:
        """Largest over the elements; the rule does not apply when none has the parameter."""
        return Term(self._over("max_of", of, operand))

    def all(self, of: Of) -> Term:
        """True when the condition holds for every element."""
        return Term(self._over("all", of, condition))

    def any(self, of: Of) -> Term:
        """True when the condition holds for at least one element."""
        return Term(self._over("any", of, condition))

    def nondecreasing(self, of: Of = "") -> Term:
        """True when no element is smaller than the one before."""
        return Term(self._over("nondecreasing", of, operand))

    def nonincreasing(self, of: Of = "") -> Term:
        """True when no element is larger than the one before."""
        return Term(self._over("nonincreasing", of, operand))

    def strictly_increasing(self, of: Of = "") -> Term:
        """True when every element is larger than the one before."""
        return Term(self._over("strictly_increasing", of, operand))

    def strictly_decreasing(self, of: Of = "") -> Term:
        """True when every element is smaller than the one before."""
        return Term(self._over("strictly_decreasing", of, operand))

    @property
    def _variable(self) -> Variable:
        assert isinstance(self.expression, Variable)
        return self.expression

    def _over(self, op: str, of: Of, reader: Callable[[object], Expression]) -> Over:
        scope = next(self._scopes)
        element = self._node.symbol(Variable((), scope), self._scopes)
        if callable(of):
            body = of(element)
        else:
            body = element
            for step in parsed_path(of):
                body = body[step]  # type: ignore[index]  # a wrong step is refused by the symbol itself
        return Over(op, self._variable, scope, reader(body))


if TYPE_CHECKING:
    Of = str | Callable[[Symbol], object]


def minimum(left: object, right: object) -> Term:
    """The smaller of two numbers, in a rule."""
    return Term(Operation("minimum", (operand(left), operand(right))))


def maximum(left: object, right: object) -> Term:
    """The larger of two numbers, in a rule."""
    return Term(Operation("maximum", (operand(left), operand(right))))


def count(repeated: RepeatSymbol) -> Term:
    """How many elements a repeated part has, in a rule."""
    return repeated.count


def operand(value: object) -> Expression:
    """The expression of a symbol, or of a value written in the rule."""
    if isinstance(value, Term):
        return value.expression
    if isinstance(value, Symbol):
        raise SpaceError(f"A rule computes with {value!r}, which is not a single value.", "Name one parameter of it.")
    return Literal(plain(value))


def condition(value: object) -> Expression:
    """The expression of something that is true or false.

    Raises:
        SpaceError: it is neither a symbol nor a bool.
    """
    if isinstance(value, Term):
        return value.expression
    if isinstance(value, bool):
        return Literal(value)
    raise SpaceError(
        f"A rule uses {shown(value)} as a condition; it is not a comparison.",
        "Put comparisons in parentheses when combining them: (s.a > 1) & (s.b < 2).",
    )


def _child(expression: Expression, name: str, nodes: Mapping[str, object]) -> Variable:
    assert isinstance(expression, Variable)
    if name.startswith("__"):
        raise AttributeError(name)
    if name not in nodes:
        where = path_text(expression.steps) or "the space"
        raise SpaceError(
            f"A rule names {name!r}, which is not a parameter of {where}; there are: {listing(nodes)}."
            f"{did_you_mean(name, nodes)}",
            "Name a parameter that exists.",
        )
    return expression.child(name)


def _is_number(value: Value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
