"""How long a study will still take, with an interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

Z_90 = 1.64
"""Half-width of a 90 % interval in standard deviations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """Remaining time in seconds: the estimate and the ends of its 90 % interval."""

    remaining_s: float
    low_s: float
    high_s: float


def outlook(*, total: int | None, settled: int, running: int, run_s: float) -> Outlook | None:
    """Estimate from the mean time a settled trial took.

    A trial is settled when it has ended or waits paused at a rung. With n settled trials of `run_s` seconds together
    and r running side by side, one more settles every `run_s / n / r` seconds; those running count as half done.
    Times between two settling trials are taken as exponential (variance = mean²), which early stopping makes about
    right: most trials are short, a few are long. Promotions of paused trials are not foreseen.

    Args:
        total: the budget of trials; None: no end is known, so there is no estimate.
        settled: trials that ended or wait.
        running: trials that run now.
        run_s: wall seconds that settled trials have run, summed.

    >>> outlook(total=30, settled=10, running=2, run_s=100.0)
    Outlook(remaining_s=95.0, low_s=34.13..., high_s=155.86...)
    >>> outlook(total=30, settled=2, running=2, run_s=9.0) is None
    True
    """
    if total is None or settled < 3 or running < 1 or run_s <= 0:
        return None
    gap_s = run_s / settled / running
    left = max(0.0, total - settled - running / 2)
    spread = Z_90 * math.sqrt(left + left * left / settled)
    return Outlook(
        remaining_s=gap_s * left, low_s=gap_s * max(0.0, left - spread), high_s=gap_s * (left + spread)
    )
