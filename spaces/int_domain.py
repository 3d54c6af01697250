"""Integers between two bounds, exact at any size."""

from __future__ import annotations

import math

import numpy as np

from ..errors import SpaceError
from .beliefs import believed
from .domain import Domain, Points
from .reads import Reads
from .scales import Bins, Scale, Strength
from .values import Json, Value, is_whole, shown

_LOG_LIMIT = 2**40
"""Largest bound with `log` or `prior`: those go through doubles, which tell neighbouring integers apart on a log
scale up to about 2**44; a factor of 16 is kept in hand."""


class Int(Domain, Reads[int]):
    """An integer in [low, high], both ends included.

    Args:
        low: lower bound.
        high: upper bound, >= low; any size.
        log: every integer's share is its width on a log scale (from v - 0.5 to v + 0.5); needs low >= 1.
        step: only low, low + step, ..., high; (high - low) must be a multiple of it.
        default: the value to try first.
        prior: how good the default is believed to be, "low", "medium" or "high", or else a value believed good; draws
            and models concentrate around it (see `Scale`).

    >>> Int(1, 10).from_unit(0.999), Int(16, 256, log=True).from_unit(0.5)
    (10, 63)

    Raises:
        SpaceError: a bound, step, default or prior that cannot be.
    """

    __slots__ = ("_bins", "_scale", "default", "high", "log", "low", "prior", "step")

    def __init__(
        self,
        low: int,
        high: int,
        *,
        log: bool = False,
        step: int | None = None,
        default: int | None = None,
        prior: int | Strength | None = None,
    ) -> None:
        self.low = _integer("low", low)
        self.high = _integer("high", high)
        self.log = bool(log)
        self.step = None if step is None else _integer("step", step)
        if self.low > self.high:
            raise SpaceError(f"Int(low={self.low}, high={self.high}): low is above high.", "Swap the bounds.")
        if self.log and self.step is not None:
            raise SpaceError(
                f"Int({self.low}, {self.high}, log=True, step={self.step}): log and step exclude each other.",
                "Drop one of them, or list the values: Ordinal([16, 32, 64, 128]).",
            )
        if self.log and self.low < 1:
            raise SpaceError(
                f"Int(low={self.low}, log=True): a log scale needs low >= 1.",
                "Raise low, or let zero be a choice of its own: "
                f"Choice(zero=None, positive=Space(value=Int(1, {self.high}, log=True))).",
            )
        if (self.log or prior is not None) and max(abs(self.low), abs(self.high)) > _LOG_LIMIT:
            raise SpaceError(
                f"Int({shown(self.low)}, {shown(self.high)}): log and prior are exact only up to {_LOG_LIMIT}.",
                "Use Float(..., log=True), search the exponent, or leave log and prior out.",
            )
        stride = 1 if self.step is None else self.step
        if stride < 1:
            raise SpaceError(f"Int(step={self.step}): a step is positive.", "Give step >= 1, or leave it out.")
        if (self.high - self.low) % stride:
            reachable = self.high - (self.high - self.low) % stride
            raise SpaceError(
                f"Int({self.low}, {self.high}, step={stride}): high is not low plus a whole number of steps.",
                f"Use high={reachable} or high={reachable + stride}.",
            )
        self._bins = Bins((self.high - self.low) // stride + 1)
        self.default = None if default is None else self._inside("default", default)
        name = f"Int({self.low}, {self.high})"
        peak, strength = believed(name, prior, self.default, self._inside)
        self.prior = prior if isinstance(prior, str) else peak
        self._scale = self._continuous(peak, strength)

    def from_unit(self, u: float) -> int:
        if self._scale is None:
            return self._at(self._bins.index(u))
        nearest = math.floor(self._scale.value(u) + 0.5)
        if self.step is not None:
            return self._at(min(max(nearest, 0), self._bins.count - 1))
        return self.low if nearest < self.low else self.high if nearest > self.high else nearest

    def to_unit(self, value: Value) -> float:
        if self._scale is None:
            return self._bins.unit(self._index(value))
        place = value if self.step is None else self._index(value)
        if self._bins.count == 1:
            return 0.5
        return (self._scale.unit(place - 0.5) + self._scale.unit(place + 0.5)) / 2

    def sample(self, rng: np.random.Generator) -> int:
        return self._at(self._bins.draw(rng)) if self._scale is None else self.from_unit(rng.random())

    def unbent(self) -> Int:
        return self if self.prior is None else Int(self.low, self.high, log=self.log, step=self.step)

    def log_prior(self, places: np.ndarray) -> np.ndarray:
        return super().log_prior(places) if self._scale is None else self._scale.log_prior(places)

    def coerce(self, value: Value) -> int:
        if not is_whole(value):
            raise ValueError
        number = int(value)
        if not self.low <= number <= self.high or (self.step is not None and (number - self.low) % self.step):
            raise ValueError
        return number

    def points(self, count: int) -> Points:
        return Points(self._bins.count, self._at)

    def place(self, value: Value) -> int:
        return self._index(value)

    def size(self) -> int:
        return self._bins.count

    def initial(self) -> int:
        return self.from_unit(0.5) if self.default is None else self.default

    def has_defaults(self) -> bool:
        return self.default is not None

    def allowed(self) -> str:
        step = "" if self.step is None else f" in steps of {self.step}"
        return f"an integer from {shown(self.low)} to {shown(self.high)}{step}"

    def to_json(self) -> dict[str, Json]:
        options = {"log": self.log or None, "step": self.step, "default": self.default, "prior": self.prior}
        given = {name: value for name, value in options.items() if value is not None}
        return {"type": "int", "low": self.low, "high": self.high, **given}

    def __repr__(self) -> str:
        options = {"log": self.log or None, "step": self.step, "default": self.default, "prior": self.prior}
        given = "".join(f", {name}={value!r}" for name, value in options.items() if value is not None)
        return f"Int({self.low!r}, {self.high!r}{given})"

    def _continuous(self, peak: int | None, strength: Strength) -> Scale | None:
        if not self.log and peak is None:
            return None
        if self.step is None:
            return Scale(self.low - 0.5, self.high + 0.5, log=self.log, prior=peak, strength=strength)
        place = None if peak is None else float(self._index(peak))
        return Scale(-0.5, self._bins.count - 0.5, log=False, prior=place, strength=strength)

    def _at(self, index: int) -> int:
        return self.low + index * (1 if self.step is None else self.step)

    def _index(self, value: int) -> int:
        return (value - self.low) // (1 if self.step is None else self.step)

    def _inside(self, name: str, value: int) -> int:
        try:
            return self.coerce(value)
        except ValueError:
            raise SpaceError(
                f"Int({self.low}, {self.high}): {name}={shown(value)} is not {self.allowed()}.",
                f"Move {name} inside, or widen the bounds.",
            ) from None


def _integer(name: str, value: Value) -> int:
    if not is_whole(value):
        raise SpaceError(
            f"Int({name}={shown(value)}): {name} is a {type(value).__name__}, not an integer.",
            "Give an int, or use Float.",
        )
    return int(value)
