"""One of several named sub-spaces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from ..errors import SpaceError
from .beliefs import strength
from .configuration import Chosen
from .listed_domains import Categorical
from .naming import checked_name, did_you_mean, listing
from .node import Node
from .reads import Reads
from .sites import ChoiceSite
from .symbols import ChoiceSymbol, Symbol
from .values import Json, Value, shown

if TYPE_CHECKING:
    from .expressions import Variable
    from .rules import Rule
    from .space import Space, Spacelike


class Choice(Node, Reads[Value]):
    """One of several options; the tag decides which parameters are active.

    Args:
        classes: subclasses of `Space`, whose names are the tags.
        named: tag → the `Space` of that option, or None when it has no parameters; and two that are no options:
            default="sgd": the tag to try first (or that option's class), and prior="low", "medium" or "high": how good
            it is believed to be; draws and models prefer it. An option may be called so too, as text is no option.

    >>> from shoal.spaces import Float, Space
    >>> Choice(sgd=Space(momentum=Float(0, 0.99)), adagrad=None, default="adagrad").tags.initial()
    'adagrad'

    Raises:
        SpaceError: no options, an option that is not a `Space`, a tag that is not an identifier, a default that is no
            option, or a prior without one.
    """

    __slots__ = ("_shared", "has_rules", "options", "tags")

    def __init__(self, *classes: type[Space] | Space, **named: Spacelike | str | None) -> None:
        from .space import as_space

        beliefs = _beliefs(named, classes)
        options: dict[str, object] = {_class_name(option): option for option in classes}
        twice = next((name for name in beliefs if name in options), None)
        if twice is not None:
            raise SpaceError(f"Choice: {twice!r} is the name of an option, too.", "Give that option another name.")
        options |= {tag: option for tag, option in named.items() if tag not in beliefs}
        if not options:
            raise SpaceError("Choice(): no options.", "Name at least one: Choice(sgd=Space(...), adam=Space(...)).")
        self.options: dict[str, Space | None] = {}
        for tag, option in options.items():
            checked_name(tag, "option")
            try:
                self.options[tag] = None if option is None else as_space(option)
            except SpaceError:
                remedy = _BELIEFS.get(tag, f"Write {tag}=Space(...), or use Categorical([...]) for plain values.")
                raise SpaceError(f"Choice: option {tag!r} is {shown(option)}, not a Space or None.", remedy) from None
        self.tags = _tags(list(options), beliefs.get("default"), beliefs.get("prior"))
        self._shared = {name: _all_equal(nodes) for name, nodes in self._by_name().items()}
        self.has_rules = any(option is not None and option.has_rules for option in self.options.values())

    def shared(self, name: str) -> bool:
        """Whether all options that have a parameter `name` define it in the same way."""
        return self._shared[name]

    def everywhere(self, name: str) -> bool:
        """Whether every option has a parameter `name`, defined in the same way."""
        return self.shared(name) and all(
            option is not None and name in option.nodes for option in self.options.values()
        )

    def site(self, path: str, *, optional: bool) -> ChoiceSite:
        return ChoiceSite(path, self, optional=optional)

    def parse(self, obj: Value, path: str) -> Chosen:
        """Takes `{"tag": {...}}`, the bare tag of an option without parameters, or a `Chosen`."""
        if isinstance(obj, Chosen):
            tag, body = obj.choice, dict(obj)
        elif isinstance(obj, str):
            tag, body = obj, {}
        elif isinstance(obj, Mapping) and len(obj) == 1:
            ((tag, body),) = obj.items()
        else:
            raise SpaceError(
                f"{path} = {shown(obj)} is not a choice.",
                f'Write {{"TAG": {{parameters}}}} with one of: {listing(self.options)}.',
            )
        if tag not in self.options:
            raise SpaceError(
                f"{path} = {shown(tag)} is not an option; allowed: {listing(self.options)}."
                f"{did_you_mean(tag, self.options)}",
                "Choose an option that the space has.",
            )
        tag = self.tags.coerce(tag)
        option = self.options[tag]
        if option is not None:
            return Chosen(self, tag, option.parse({} if body is None else body, path))
        if body:
            raise SpaceError(f"{path}: option {tag!r} has no parameters, got {shown(body)}.", "Leave them out.")
        return Chosen(self, tag, None)

    def encode(self, value: Value) -> Json:
        option = self.options[value.choice]
        return {value.choice: {} if option is None else option.encode(value)}

    def canonical(self, value: Value) -> Json:
        option = self.options[value.choice]
        return {value.choice: {} if option is None else option.canonical(value)}

    def size(self) -> int | None:
        sizes = [1 if option is None else option.size() for option in self.options.values()]
        return None if None in sizes else sum(size for size in sizes if size is not None)

    def to_json(self) -> dict[str, Json]:
        options = {tag: None if option is None else option.to_json() for tag, option in self.options.items()}
        return {"type": "choice", "options": options, **self._believed()}

    def symbol(self, variable: Variable, scopes: Iterator[int]) -> Symbol:
        return ChoiceSymbol(variable, self.tags, self._by_name(), scopes)

    def holds(self, value: Value) -> bool:
        option = self.options[value.choice]
        return option is None or not option.has_rules or option.holds(value)

    def shortfalls(self, value: Value, path: str) -> Iterator[tuple[str, Rule, float]]:
        option = self.options[value.choice]
        return iter(()) if option is None else option.shortfalls(value, path)

    def has_defaults(self) -> bool:
        inside = any(option is not None and option.has_defaults() for option in self.options.values())
        return inside or self.tags.has_defaults()

    def __repr__(self) -> str:
        given = {**self.options, **self._believed()}
        return f"Choice({', '.join(f'{name}={value!r}' for name, value in given.items())})"

    def _believed(self) -> dict[str, str]:
        """The default tag and how good it is believed to be, as far as they were given."""
        default = {"default": self.tags.initial()} if self.tags.has_defaults() else {}
        return default if self.tags.prior is None else {**default, "prior": self.tags.prior}

    def _by_name(self) -> dict[str, list[Node]]:
        found: dict[str, list[Node]] = {}
        for option in self.options.values():
            for name, node in option.nodes.items() if option is not None else ():
                found.setdefault(name, []).append(node)
        return found


_BELIEFS = {
    "default": "Give the tag to try first, default='sgd', or a Space for an option of this name.",
    "prior": "Give prior='low', 'medium' or 'high', or a Space for an option of this name.",
}
"""The remedies for arguments that are options only when they are spaces."""


def _beliefs(named: Mapping[str, object], classes: Iterable[object]) -> dict[str, str]:
    """Which of the named arguments are no options: a `default`, as its tag, and a `prior`."""
    found = {name: given for name in ("default", "prior") if isinstance(given := named.get(name), str)}
    for option in classes:
        if option is named.get("default"):
            found["default"] = _class_name(option)
    return found


def _tags(tags: list[str], default: str | None, prior: str | None) -> Categorical:
    """The domain of the tag.

    Raises:
        SpaceError: a default that is no option, or a prior without one.
    """
    if default is not None and default not in tags:
        raise SpaceError(
            f"Choice: the default {default!r} is not an option; allowed: {listing(tags)}.{did_you_mean(default, tags)}",
            "Choose an option that the choice has.",
        )
    believed = None if prior is None else strength("Choice", prior, has_default=default is not None)
    return Categorical(tags) if default is None else Categorical(tags, default=default, prior=believed)


def _class_name(option: object) -> str:
    cls = option if isinstance(option, type) else type(option)
    return cls.__name__


def _all_equal(nodes: list[Node]) -> bool:
    return all(node == nodes[0] for node in nodes[1:])
