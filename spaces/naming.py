"""Names of parameters and options: which are allowed, and which one was meant."""

import difflib
from collections.abc import Iterable

from ..errors import SpaceError
from .values import shown

RESERVED = frozenset(
    {"choice", "flat", "get", "items", "key", "keys", "option_configuration", "rules", "space", "to_json", "values"}
)
"""Names that a configuration uses itself, so that `config.NAME` never means two things."""


def checked_name(name: str, what: str) -> str:
    """`name`, if it can be an attribute of a configuration.

    Raises:
        SpaceError: it is not an identifier, starts with "_", or is taken.
    """
    if not name.isidentifier():
        raise SpaceError(
            f"{what} {name!r} is not a Python identifier.",
            f"Use letters, digits and '_', for example {_identifier(name)!r}.",
        )
    if name.startswith("_"):
        raise SpaceError(f"{what} {name!r} starts with '_'.", f"Call it {_identifier(name)!r}.")
    if name in RESERVED:
        raise SpaceError(f"{what} {name!r} is a name that configurations use themselves.", f"Call it '{name}_'.")
    return name


def did_you_mean(name: object, known: Iterable[object]) -> str:
    """`" Did you mean 'x'?"`, or nothing when no known name is close."""
    close = difflib.get_close_matches(str(name), [str(candidate) for candidate in known], n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def listing(values: Iterable[object], limit: int = 12) -> str:
    """The values, comma-separated, the tail left out when there are many."""
    every = list(values)
    text = ", ".join(shown(value) for value in every[:limit])
    return text if len(every) <= limit else f"{text}, … ({len(every)} in all)"


def _identifier(name: str) -> str:
    cleaned = "".join(letter if letter.isalnum() and letter.isascii() else "_" for letter in name).strip("_")
    return cleaned if cleaned.isidentifier() else f"x{cleaned}"
