"""Numbers in JSON: RFC 8259 has no NaN and no infinities, so they travel as the strings "nan", "inf", "-inf".

>>> encode_number(float("-inf")), encode_number(0.5)
('-inf', 0.5)
>>> decode_number("inf"), decode_number(3), decode_number("high") is None
(inf, 3.0, True)
"""

from __future__ import annotations

import math

from .spec import Json

NON_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def encode_number(value: float | None) -> Json:
    """The JSON form of `value`; None stays None."""
    if value is None or math.isfinite(value):
        return value
    if math.isnan(value):
        return "nan"
    return "inf" if value > 0 else "-inf"


def decode_number(body: Json) -> float | None:
    """The number that `body` stands for, or None where it is no number (a Boolean is none)."""
    if type(body) is float:
        return body
    if isinstance(body, bool):
        return None
    if isinstance(body, int | float):
        try:
            return float(body)
        except OverflowError:  # an integer beyond 1.8e308
            return math.inf if body > 0 else -math.inf
    if isinstance(body, str):
        return NON_FINITE.get(body)
    return None
