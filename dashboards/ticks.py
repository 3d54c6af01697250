"""Ticks on a logarithmic axis that people can read: powers of ten, with 3 or 2 and 5 in between where those are few."""

from __future__ import annotations

import math

FEWEST, MOST = 3, 5


def log_ticks(low: float, high: float) -> list[float]:
    """Round numbers within [low, high], ascending; the two ends where no round number fits.

    Args:
        low, high: the ends of the axis, both positive.

    >>> log_ticks(1e-4, 0.1), log_ticks(1.2e-4, 0.09), log_ticks(16, 256), log_ticks(0.9, 1.0)
    ([0.0001, 0.001, 0.01, 0.1], [0.0003, 0.001, 0.003, 0.01, 0.03], [20.0, 50.0, 100.0, 200.0], [0.9, 1.0])
    >>> log_ticks(1e-9, 1.0)
    [1e-09, 1e-07, 1e-05, 0.001, 0.1]
    """
    first, last = math.floor(math.log10(low)), math.floor(math.log10(high) + 1e-9)
    for digits in ((1,), (1, 3), (1, 2, 5)):
        steps = [float(f"{digit}e{exponent}") for exponent in range(first, last + 1) for digit in digits]
        inside = [step for step in steps if low * (1 - 1e-9) <= step <= high * (1 + 1e-9)]
        if len(inside) >= FEWEST:
            return inside[:: -(-len(inside) // MOST)]
    return [low, high]
