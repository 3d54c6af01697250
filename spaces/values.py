"""What a parameter may hold, and how it is written as JSON without losing its type.

JSON has no tuples, no infinities and only string keys. Those three are written with a tag
(`{"$tuple": [...]}`, `{"$float": "inf"}`, `{"$dict": [[key, value], ...]}`); everything else is itself.
"""

import json
import math
from typing import Any, TypeAlias

import numpy as np

from ..errors import SpaceError

Value: TypeAlias = Any
"""A parameter's value: None, bool, int, float, str, or lists, tuples and dicts of them. The user's, hence open."""

Json: TypeAlias = Any
"""Anything `json.dumps` takes."""


def encode_value(value: Value) -> Json:
    """The JSON form of a value; `decode_value` is its inverse, types included.

    >>> encode_value((1, 1.0, True, None))
    {'$tuple': [1, 1.0, True, None]}

    Raises:
        SpaceError: the value is of a type that cannot be written.
    """
    if isinstance(value, np.generic):
        value = _python_value(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)  # of a subclass, such as an enumeration's member, the text alone
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"$float": repr(float(value))}
    if isinstance(value, list):
        return [encode_value(item) for item in value]
    if isinstance(value, tuple):
        return {"$tuple": [encode_value(item) for item in value]}
    if isinstance(value, dict):
        if all(isinstance(key, str) and not key.startswith("$") for key in value):
            return {key: encode_value(item) for key, item in value.items()}
        pairs = [[encode_value(key), encode_value(item)] for key, item in value.items()]
        return {"$dict": sorted(pairs, key=lambda pair: json.dumps(pair[0], sort_keys=True))}
    raise SpaceError(
        f"{shown(value)} is a {type(value).__name__}, which a configuration cannot hold "
        "(allowed: None, bool, int, float, str, and lists, tuples and dicts of them).",
        "Give it a name here and look the object up by that name in your training code.",
    )


def decode_value(obj: Json) -> Value:
    """The value that `encode_value` wrote."""
    if isinstance(obj, list):
        return [decode_value(item) for item in obj]
    if isinstance(obj, dict):
        if len(obj) == 1:
            ((tag, body),) = obj.items()
            if tag == "$tuple":
                return tuple(decode_value(item) for item in body)
            if tag == "$float":
                return float(body)
            if tag == "$dict":
                return {decode_value(key): decode_value(item) for key, item in body}
        return {key: decode_value(item) for key, item in obj.items()}
    return obj


def plain(value: Value) -> Value:
    """A deep copy made of plain Python values: numpy scalars become the numbers or texts they stand for."""
    return decode_value(encode_value(value))


def identity(value: Value) -> tuple[type | None, Value]:
    """A hashable stand-in under which two values are equal only when their types are too.

    >>> len({identity(value) for value in (True, 1, 1.0, "1", [1], (1,))})
    6
    """
    if value is None or type(value) in (bool, int, float, str):
        return type(value), value
    return None, json.dumps(encode_value(value), sort_keys=True)


def shown(value: Value, limit: int = 60) -> str:
    """`repr` cut to `limit` characters, for messages."""
    text = repr(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def is_whole(value: Value) -> bool:
    """Whether `value` is an integer of Python or numpy; a Boolean or a duration is none."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.timedelta64))


def is_real(value: Value) -> bool:
    """Whether `value` is an integer or a float of Python or numpy."""
    return is_whole(value) or isinstance(value, (float, np.floating))


def _python_value(value: np.generic) -> Value:
    """The number or text that a numpy scalar stands for; of other kinds (dates, records) the scalar itself."""
    if isinstance(value, np.floating):
        return float(value)  # `item()` of an extended float is that float again
    return value.item() if is_whole(value) or isinstance(value, (np.bool_, np.str_)) else value
