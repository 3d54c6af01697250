"""A curve in one line of block characters."""

from __future__ import annotations

import math
from collections.abc import Sequence

BARS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float], width: int = 40) -> str:
    """`values` from left to right, lowest to highest; values that are not finite are left out.

    More values than `width` are thinned by taking the last of each equal stretch, so that the newest is always drawn.

    >>> sparkline([0.1, 0.5, 0.5, 0.9])
    '▁▅▅█'
    >>> sparkline([0.3, 0.3]), sparkline([]), sparkline([float("nan"), float("inf")])
    ('▄▄', '', '')
    """
    finite = [v for v in values if math.isfinite(v)]
    if not finite:
        return ""
    if len(finite) > width:
        finite = [finite[(i + 1) * len(finite) // width - 1] for i in range(width)]
    low, high = min(finite), max(finite)
    if low == high:
        return BARS[3] * len(finite)
    # halves first: high - low of two large finite numbers may overflow
    span = high / 2 - low / 2
    return "".join(BARS[min(7, int((v / 2 - low / 2) / span * 8))] for v in finite)
