"""What stands for a plain value (numpy scalars, members of enumerations) becomes it; what does not is refused."""

from __future__ import annotations

import enum
import json
from typing import Any

import numpy as np
import pytest

from shoal.errors import SpaceError
from shoal.spaces import Categorical, Choice, Constant, Float, Int, Ordinal, Space
from shoal.spaces.values import encode_value, plain


class Name(enum.StrEnum):
    RELU = "relu"
    TANH = "tanh"


class Size(enum.IntEnum):
    SMALL = 1
    LARGE = 8


STANDS_FOR: list[tuple[Any, Any]] = [
    (np.str_("relu"), "relu"),
    (np.float32(0.5), 0.5),
    (np.float64(0.5), 0.5),
    (np.longdouble(0.5), 0.5),
    (np.float16("inf"), float("inf")),
    (np.int8(3), 3),
    (np.uint64(2**63), 2**63),
    (np.bool_(True), True),
    (Name.RELU, "relu"),
    (Size.LARGE, 8),
    ([np.str_("a"), {"b": np.longdouble(1.0)}, (np.int64(2), None)], ["a", {"b": 1.0}, (2, None)]),
]


@pytest.mark.parametrize(("given", "meant"), STANDS_FOR, ids=repr)
def test_it_becomes_the_plain_value(given: Any, meant: Any) -> None:
    assert plain(given) == meant and type(plain(given)) is type(meant)
    json.dumps(encode_value(given))


@pytest.mark.parametrize(
    "value",
    [
        np.complex128(1j),
        np.clongdouble(1j),
        np.bytes_(b"a"),
        np.datetime64("2026-01-01"),
        np.timedelta64(1, "s"),
        np.zeros(1, dtype=[("a", int)])[0],
        np.zeros(2),
        np.zeros(()),
        object(),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_stands_for_nothing_is_refused(value: Any) -> None:
    with pytest.raises(SpaceError, match="which a configuration cannot hold"):
        encode_value(value)
    assert not Categorical(["a", 1, None]).contains(value)
    assert not Float(0.0, 1.0).contains(value) and not Int(0, 1).contains(value)


def test_a_space_takes_them_and_gives_plain_values_back() -> None:
    space = Space(
        name=Categorical([np.str_("relu"), "tanh"]),
        size=Ordinal([1, 8]),
        op=Choice(conv=Space(k=Ordinal([np.int64(1), 3])), pool=None),
        fixed=Constant(np.str_("x")),
    )
    config = space.validate({"name": Name.TANH, "size": Size.LARGE, "op": {np.str_("conv"): {"k": np.int8(3)}}})
    assert config.flat() == {"name": "tanh", "size": 8, "op": "conv", "op.k": 3}
    assert {type(value) for value in config.flat().values()} == {str, int}
    assert config == space.validate({"name": np.str_("tanh"), "size": np.int32(8), "op": {"conv": {"k": 3}}})
    assert not space.nodes["name"].contains(np.str_("gelu"))  # type: ignore[attr-defined]
    with pytest.raises(SpaceError, match=r"'gelu'.* is not allowed; allowed: 'relu', 'tanh'"):
        space.validate({"name": np.str_("gelu"), "size": 1, "op": "pool"})
