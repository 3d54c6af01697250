"""Numbers, times and configurations as people read them: four significant digits, short units."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ...search.spec import Json

NOTHING = "-"


def number(value: float | None) -> str:
    """A metric's value with four significant digits; a missing one is a dash.

    >>> number(0.9777777), number(123456.0), number(2.5e-7), number(3.0), number(None), number(float("nan"))
    ('0.9778', '1.235e+05', '2.5e-07', '3', '-', 'nan')
    """
    if value is None:
        return NOTHING
    return f"{value:.4g}"


def duration(seconds: float | None) -> str:
    """A span of time in its two largest units.

    >>> duration(0.25), duration(42), duration(125), duration(7380), duration(200000), duration(None)
    ('0.2 s', '42 s', '2 min 05 s', '2 h 03 min', '2 d 07 h', '-')
    """
    if seconds is None or not math.isfinite(seconds):
        return NOTHING
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 86400} d {whole % 86400 // 3600:02d} h"


def parameter(value: Json) -> str:
    """One parameter's value: floats shortened, everything else as Python writes it.

    >>> parameter(0.000123456), parameter("relu"), parameter(True), parameter([64, 64])
    ('0.0001235', 'relu', 'True', '[64, 64]')
    """
    if isinstance(value, float):
        return number(value)
    return value if isinstance(value, str) else repr(value)


def configuration(flat: Mapping[str, Json] | None) -> str:
    """A configuration on one line, in the space's order.

    >>> configuration({"lr": 0.0123456, "layers": 2, "layers[0].width": 64})
    'lr=0.01235 layers=2 layers[0].width=64'
    >>> configuration({}), configuration(None)
    ('(no parameters)', '(no parameters)')
    """
    return " ".join(f"{path}={parameter(value)}" for path, value in (flat or {}).items()) or "(no parameters)"


def shortened(text: str, width: int) -> str:
    """`text` cut to `width` characters, the cut marked.

    >>> shortened("a long study name", 8), shortened("short", 8)
    ('a long …', 'short')
    """
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"
