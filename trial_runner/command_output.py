"""Metrics out of what a program prints.

A line counts when it is a JSON object with numbers in it, or holds `name=value` pairs; everything else is only logged.
Values are read as they are written: `-7.5e-05`, `888.33`, `1.2e+32`, `nan`, `-inf`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

NUMBER = r"[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|nan|inf(?:inity)?)"
PAIR = re.compile(rf"(?<![\w.])([A-Za-z_]\w*)\s*=\s*({NUMBER})(?![\w.+%-]*[\w%])", re.IGNORECASE)

STEP_NAMES = ("step", "epoch")


def metrics_in(line: str) -> dict[str, float]:
    """The numbers that a line names; none: no metrics.

    >>> metrics_in("Score=-7.5e-05, metric=888.33")
    {'Score': -7.5e-05, 'metric': 888.33}
    >>> metrics_in('{"epoch": 3, "val_loss": 0.25, "note": "fine"}')
    {'epoch': 3.0, 'val_loss': 0.25}
    >>> metrics_in("version=1.2.3 host=10x")
    {}
    """
    text = line.strip()
    if text.startswith("{"):
        try:
            found = json.loads(text)
        except ValueError:
            found = None
        if isinstance(found, dict):
            return {name: float(value) for name, value in found.items() if _is_number(value)}
    return {name: float(value) for name, value in PAIR.findall(text)}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


class Steps:
    """Numbers a program's reports 1, 2, 3, ...: by its own `step` or `epoch` where it prints one, else by counting.

    A program that counts from 0 is one behind, which its first number shows.

    >>> steps = Steps()
    >>> [steps.of({"epoch": 0.0}), steps.of({"epoch": 1.0}), steps.of({})]
    [1, 2, 3]
    """

    def __init__(self) -> None:
        self._last = 0
        self._offset: int | None = None

    def of(self, metrics: Mapping[str, float]) -> int:
        """The step of a report with these metrics."""
        named = [metrics[name] for name in STEP_NAMES if metrics.get(name, 0.5).is_integer()]
        if not named:
            self._last += 1
            return self._last
        if self._offset is None:
            self._offset = 1 if named[0] == 0 else 0
        self._last = int(named[0]) + self._offset
        return self._last
