"""How fast a trial runs on k workers: what was measured, and a prior for what was not.

The global batch and its shard order are fixed by the configuration, so more workers mean smaller local batches
and a speed-up that bends away from k (strong scaling). A step on k workers takes

    t(k) = (C^gamma + Y^gamma)^(1/gamma),   C = alpha_c + beta_c B / k,   Y = alpha_r + beta_r max(k - 2, 0),

with Y = 0 on one worker (Qiao et al. 2021, "Pollux", section 3.2, but with B fixed). Fits of that form on one and
two workers miss at four and more by 5 to 50 %; every measured k overrides whatever was thought of it.

The prior of a trial is what its study offers (a cost model), else Amdahl's law with the fractions that the study has
measured (`serial_fraction`); once the trial was measured on several numbers of workers itself, with its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from .serial_fraction import SerialFractions, amdahl, serial_fraction

PRIOR_EPOCH_S = 60.0
"""An epoch on one worker before the study has finished any; only ratios to resize costs depend on it."""

SMOOTHING = 0.5
"""Weight of the newest measurement at the same k: epoch times jitter by some per cent, and data loading drifts."""


class SpeedModel:
    """Epoch times of one trial on 1, 2, 4, ... workers.

    Args:
        k_max: the most workers it may have, a power of two.
        epoch_s: an epoch on one worker, if known beforehand.
        speedups: of 1, 2, 4, ... workers, if known beforehand.
        serial: the study's serial fractions, used beyond what is known.
    """

    __slots__ = (
        "_assumed_epoch_s",
        "_gains",
        "_measured_s",
        "_offered",
        "_offered_epoch_s",
        "_serial",
        "_table",
        "_version",
        "k_max",
        "known",
    )

    def __init__(
        self, *, k_max: int, epoch_s: float | None, speedups: Sequence[float], serial: SerialFractions
    ) -> None:
        self.k_max = k_max
        self.known = epoch_s is not None
        self._assumed_epoch_s = epoch_s if epoch_s is not None else PRIOR_EPOCH_S
        self._offered_epoch_s = epoch_s
        self._offered = tuple(speedups)
        self._serial = serial
        self._measured_s: dict[int, float] = {}
        self._version = -1
        self._table: tuple[float, ...] | None = None
        self._gains: tuple[float, ...] = ()

    def observe(self, k: int, epoch_s: float) -> None:
        """An epoch on `k` workers took `epoch_s` seconds."""
        if epoch_s <= 0:
            return
        before = self._measured_s.get(k)
        self._measured_s[k] = epoch_s if before is None else before + SMOOTHING * (epoch_s - before)
        if before is None and k > 1 and len(self._measured_s) > 1:
            self._serial.observe(k, self._own_fraction(k))
        self.known = True
        self._table = None

    def is_measured(self, k: int) -> bool:
        return k in self._measured_s

    def assume(self, epoch_s: float) -> None:
        """What an epoch takes on one worker, from others of the study, until one was measured."""
        if not self.known:
            self._assumed_epoch_s = epoch_s

    def epoch_s(self, k: int) -> float:
        """Seconds of an epoch on `k` workers."""
        measured = self._measured_s.get(k)
        return measured if measured is not None else self._one_worker_s() / self.speedup(k)

    def offered_epoch_s(self, k: int) -> float:
        """What was known of an epoch on `k` workers before any was measured; without anything, from 1 s on one."""
        return (self._offered_epoch_s or 1.0) / self._prior(k)

    def speedup(self, k: int) -> float:
        """How many times faster than on one worker; at most twice that of half the workers."""
        return self._current()[k.bit_length() - 1]

    def gain(self, k: int) -> float:
        """What each worker adds when `k` become 2k: (s(2k) - s(k)) / k; 0 at the most workers."""
        self._current()
        i = k.bit_length() - 1
        return self._gains[i] if i < len(self._gains) else 0.0

    def worth(self, k_min: int, threshold: float) -> int:
        """The most workers of which every doubling adds at least `threshold` a worker."""
        self._current()
        i = k_min.bit_length() - 1
        k = k_min
        while i < len(self._gains) and self._gains[i] >= threshold:
            i += 1
            k *= 2
        return k

    def _one_worker_s(self) -> float:
        if 1 in self._measured_s:
            return self._measured_s[1]
        if self._measured_s:
            k, epoch_s = min(self._measured_s.items())
            return epoch_s * self._prior(k)
        return self._assumed_epoch_s

    def _prior(self, k: int) -> float:
        """The speed-up on `k` workers before this trial was measured."""
        index = k.bit_length() - 1
        if index < len(self._offered):
            return self._offered[index]
        expected = amdahl(k, self._serial.at(k))
        if not self._offered:
            return expected
        last = len(self._offered) - 1
        return self._offered[last] * expected / amdahl(1 << last, self._serial.at(1 << last))

    def _current(self) -> tuple[float, ...]:
        if self._table is None or self._version != self._serial.version:
            self._version = self._serial.version
            self._table = self._offered_table() if self._offered else self._learned_table()
            self._gains = tuple((b - a) / (1 << i) for i, (a, b) in enumerate(pairwise(self._table)))
        return self._table

    def _offered_table(self) -> tuple[float, ...]:
        """Measured speed-ups where there are any; between and beyond them the shape of those that were offered."""
        one = self._one_worker_s()
        table: list[float] = []
        scale = 1.0
        k = 1
        while k <= self.k_max:
            if k in self._measured_s:
                speedup = one / self._measured_s[k]
                scale = speedup / self._prior(k)
            else:
                speedup = self._prior(k) * scale
            table.append(min(speedup, 2 * table[-1]) if table else speedup)
            k *= 2
        return tuple(table)

    def _learned_table(self) -> tuple[float, ...]:
        """Measured speed-ups where there are any; beyond them the trial's own fraction, else the study's."""
        one = self._one_worker_s()
        few = 0
        table: list[float] = []
        k = 1
        while k <= self.k_max:
            if k in self._measured_s:
                speedup = one / self._measured_s[k]
                few = k if len(self._measured_s) > 1 else 0
            elif few > 1:
                speedup = amdahl(k, self._serial.carried(self._own_fraction(few), few, k))
            else:
                speedup = amdahl(k, self._serial.at(k))
            table.append(min(speedup, 2 * table[-1]) if table else speedup)
            k *= 2
        return tuple(table)

    def _own_fraction(self, k: int) -> float:
        """The serial fraction that this trial showed on `k` workers."""
        return serial_fraction(k, self._one_worker_s() / self._measured_s[k])
