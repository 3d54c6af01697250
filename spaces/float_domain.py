"""Real numbers between two bounds."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np

from ..errors import SpaceError
from .beliefs import believed
from .domain import Domain, Points
from .reads import Reads
from .scales import Bins, Scale, Strength
from .values import Json, Value, is_real, shown

_STEP_TOLERANCE = 1e-8  # how far (high - low) / step may be from an integer: float literals carry ~1e-16


class Float(Domain, Reads[float]):
    """A real number in [low, high], both ends included.

    Args:
        low: lower bound, finite.
        high: upper bound, finite, >= low.
        log: uniform in the logarithm; needs low > 0 and no step.
        step: only low, low + step, ..., high; (high - low) must be a multiple of it.
        default: the value to try first.
        prior: how good the default is believed to be, "low", "medium" or "high", or else a value believed good; draws
            and models concentrate around it (see `Scale`).

    >>> [Float(0.8, 1.0, step=0.1).from_unit(u) for u in (0.0, 0.5, 1.0)]
    [0.8, 0.9, 1.0]
    >>> Float(1e-4, 1.0, log=True).from_unit(0.5)
    0.01

    Raises:
        SpaceError: a bound, step, default or prior that cannot be.
    """

    __slots__ = ("_bins", "_scale", "default", "high", "log", "low", "prior", "step")

    def __init__(
        self,
        low: float,
        high: float,
        *,
        log: bool = False,
        step: float | None = None,
        default: float | None = None,
        prior: float | Strength | None = None,
    ) -> None:
        self.low = _finite("low", low)
        self.high = _finite("high", high)
        self.log = bool(log)
        self.step = None if step is None else _finite("step", step)
        if self.low > self.high:
            raise SpaceError(f"Float(low={self.low!r}, high={self.high!r}): low is above high.", "Swap the bounds.")
        if self.log and self.step is not None:
            raise SpaceError(
                f"Float({self.low!r}, {self.high!r}, log=True, step={self.step!r}): log and step exclude each other.",
                "Drop one of them, or list the values: Ordinal([1e-4, 1e-3, 1e-2]).",
            )
        if self.log and self.low <= 0.0:
            raise SpaceError(
                f"Float(low={self.low!r}, log=True): a log scale needs low > 0.",
                "Raise low, or let zero be a choice of its own: "
                f"Choice(zero=None, positive=Space(value=Float(1e-6, {self.high!r}, log=True))).",
            )
        self._bins = None if self.step is None else Bins(self._step_count(self.step))
        self.default = None if default is None else self._inside("default", default)
        name = f"Float({self.low!r}, {self.high!r})"
        peak, strength = believed(name, prior, self.default, self._inside)
        self.prior = prior if isinstance(prior, str) else peak
        if self._bins is None:
            self._scale = Scale(self.low, self.high, log=self.log, prior=peak, strength=strength)
        else:
            place = None if peak is None else float(self._nearest(peak))
            self._scale = Scale(-0.5, self._bins.count - 0.5, log=False, prior=place, strength=strength)

    def from_unit(self, u: float) -> float:
        if self._bins is None:
            value = self._scale.value(u)
            return self._rounded(value) if self.log else value
        if self.prior is None:
            return self._at(self._bins.index(u))
        return self._at(min(max(math.floor(self._scale.value(u) + 0.5), 0), self._bins.count - 1))

    def to_unit(self, value: Value) -> float:
        if self._bins is None:
            return self._scale.unit(value)
        index = self._nearest(value)
        return self._bins.unit(index) if self.prior is None else self._scale.unit(index)

    def unbent(self) -> Float:
        return self if self.prior is None else Float(self.low, self.high, log=self.log, step=self.step)

    def log_prior(self, places: np.ndarray) -> np.ndarray:
        return self._scale.log_prior(places)

    def coerce(self, value: Value) -> float:
        if not is_real(value):
            raise ValueError
        number = float(value) + 0.0  # -0.0 becomes 0.0, so that equal values have equal keys
        if not self.low <= number <= self.high:
            raise ValueError
        if self.step is None:
            return number
        clean = self._at(self._nearest(number))
        if abs(clean - number) > _STEP_TOLERANCE * self.step:
            raise ValueError
        return clean

    def points(self, count: int) -> Points:
        if self._bins is not None:
            return Points(self._bins.count, self._at)
        if self.low == self.high:
            return Points(1, lambda index: self.low)
        if count == 1:
            return Points(1, lambda index: self.from_unit(0.5))
        return Points(count, lambda index: self.from_unit(index / (count - 1)))

    def place(self, value: Value) -> int:
        return 0 if self._bins is None else self._nearest(value)

    def size(self) -> int | None:
        if self._bins is not None:
            return self._bins.count
        return 1 if self.low == self.high else None

    def initial(self) -> float:
        return self.from_unit(0.5) if self.default is None else self.default

    def has_defaults(self) -> bool:
        return self.default is not None

    def allowed(self) -> str:
        step = "" if self.step is None else f" in steps of {self.step!r}"
        return f"a number from {self.low!r} to {self.high!r}{step}"

    def to_json(self) -> dict[str, Json]:
        options = {"log": self.log or None, "step": self.step, "default": self.default, "prior": self.prior}
        given = {name: value for name, value in options.items() if value is not None}
        return {"type": "float", "low": self.low, "high": self.high, **given}

    def __repr__(self) -> str:
        options = {"log": self.log or None, "step": self.step, "default": self.default, "prior": self.prior}
        given = "".join(f", {name}={value!r}" for name, value in options.items() if value is not None)
        return f"Float({self.low!r}, {self.high!r}{given})"

    def _rounded(self, value: float) -> float:
        # exp(log(x)) is off in the last digits: 15 significant ones are what a double carries cleanly
        return min(max(float(f"{value:.15g}"), self.low), self.high)

    def _at(self, index: int) -> float:
        """The clean value of a step: decimal arithmetic, because 0.1 + 2 * 0.1 is not 0.3 in binary."""
        assert self._bins is not None
        if index == self._bins.count - 1:
            return self.high
        return float(Decimal(repr(self.low)) + index * Decimal(repr(self.step)))

    def _nearest(self, value: float) -> int:
        assert self._bins is not None and self.step is not None
        return min(max(round((value - self.low) / self.step), 0), self._bins.count - 1)

    def _step_count(self, step: float) -> int:
        if step <= 0.0:
            raise SpaceError(f"Float(step={step!r}): a step is positive.", "Give step > 0, or leave it out.")
        ratio = (Decimal(repr(self.high)) - Decimal(repr(self.low))) / Decimal(repr(step))
        steps = round(ratio)
        if abs(ratio - steps) > _STEP_TOLERANCE:
            reachable = float(Decimal(repr(self.low)) + int(ratio) * Decimal(repr(step)))
            raise SpaceError(
                f"Float({self.low!r}, {self.high!r}, step={step!r}): high is not low plus a whole number of steps.",
                f"Use high={reachable!r} or high={float(Decimal(repr(reachable)) + Decimal(repr(step)))!r}.",
            )
        return int(steps) + 1

    def _inside(self, name: str, value: float) -> float:
        try:
            return self.coerce(value)
        except ValueError:
            raise SpaceError(
                f"Float({self.low!r}, {self.high!r}): {name}={shown(value)} is not {self.allowed()}.",
                f"Move {name} inside, or widen the bounds.",
            ) from None


def _finite(name: str, value: Value) -> float:
    if not is_real(value):
        raise SpaceError(f"Float({name}={shown(value)}): {name} is not a number.", "Give a finite number.")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise SpaceError(f"Float({name}={shown(value)}): {name} is not finite.", "Give a finite number.")
    return number + 0.0
