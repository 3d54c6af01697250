"""A configuration: one point of a space, immutable, with plain values."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NoReturn

from .naming import did_you_mean
from .paths import parsed_path
from .values import Json, Value

if TYPE_CHECKING:
    from .choice import Choice
    from .space import Space


class Record(Mapping[str, Value]):
    """Named values, as attributes, as items, and by path (`config["layers[2].width"]`). Immutable."""

    __slots__ = ("_values",)
    _values: dict[str, Value]

    def __getitem__(self, name: str) -> Value:
        if name in self._values:
            return self._values[name]
        value: Value = self
        for step in parsed_path(name):
            names: Value = value._values if isinstance(value, Record) else value
            try:
                value = names[step]
            except (KeyError, IndexError, TypeError):
                raise KeyError(name) from None
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __getattr__(self, name: str) -> Value:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self._values[name]
        except KeyError:
            raise AttributeError(
                f"no active parameter {name!r} here; there are: {', '.join(self._values) or 'none'}."
                f"{did_you_mean(name, self._values)}"
            ) from None

    def __setattr__(self, name: str, value: Value) -> NoReturn:
        raise AttributeError(f"a configuration is immutable; {name!r} cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a configuration is immutable; {name!r} cannot be deleted")

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._values})


class Configuration(Record):
    """A point of a space, as the training function sees it.

    Values are what the space was defined with: categories themselves, never their index; Python numbers, never
    numpy's. Lists and dicts are the configuration's own copies; treat them as read-only.
    """

    __slots__ = ("_key", "_space")
    _space: Space
    _key: str | None

    def __init__(self, space: Space, values: dict[str, Value]) -> None:
        object.__setattr__(self, "_space", space)
        object.__setattr__(self, "_values", values)
        object.__setattr__(self, "_key", None)

    @property
    def space(self) -> Space:
        """The space it is a point of."""
        return self._space

    def to_json(self) -> dict[str, Json]:
        """Nested JSON: a choice as `{"sgd": {"momentum": 0.9}}`, a repeated part as a list."""
        obj: dict[str, Json] = self._space.encode(self)
        return obj

    def flat(self) -> dict[str, Value]:
        """Every decision by path; a choice gives its tag, a repeated part its count; constants are left out."""
        return {decision.path: value for decision, value in self._space.decisions_of(self)}

    def key(self) -> str:
        """Canonical text: equal for equal configurations and only for them (types count)."""
        if self._key is None:
            text = json.dumps(self._space.canonical(self), sort_keys=True, separators=(",", ":"))
            object.__setattr__(self, "_key", text)
        assert self._key is not None
        return self._key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Configuration) and self.key() == other.key()

    def __hash__(self) -> int:
        return hash(self.key())

    def __repr__(self) -> str:
        return f"Configuration({_arguments(self)})"

    def __reduce__(self) -> tuple[type[Configuration], tuple[Space, dict[str, Value]]]:
        return Configuration, (self._space, self._values)


class Chosen(Record):
    """The value of a `Choice`: equal to its tag, with the option's parameters as attributes.

    `chosen == "adam"` compares the tag; `chosen.choice` is the tag.
    """

    __slots__ = ("_node", "choice")
    _node: Choice
    choice: str

    def __init__(self, node: Choice, tag: str, option: Configuration | None) -> None:
        object.__setattr__(self, "_node", node)
        object.__setattr__(self, "choice", tag)
        object.__setattr__(self, "_values", {} if option is None else option._values)

    def option_configuration(self) -> Configuration | None:
        """The parameters of the option as a configuration of its own space; None when it has none."""
        space = self._node.options[self.choice]
        return None if space is None else Configuration(space, self._values)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return self.choice == other
        if not isinstance(other, Chosen):
            return NotImplemented
        return self.choice == other.choice and self.option_configuration() == other.option_configuration()

    def __hash__(self) -> int:
        return hash(self.choice)  # the tag's own hash, because the tag is equal to it

    def __repr__(self) -> str:
        return f"{self.choice}({_arguments(self)})" if self._values else self.choice

    def __str__(self) -> str:
        return self.choice

    def __reduce__(self) -> tuple[type[Chosen], tuple[Choice, str, Configuration | None]]:
        return Chosen, (self._node, self.choice, self.option_configuration())


def _arguments(record: Record) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in record.items())
