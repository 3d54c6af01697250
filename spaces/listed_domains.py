"""Domains that list their values: ordered, unordered, and the single constant."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Self

import numpy as np

from ..errors import SpaceError
from .beliefs import strength
from .domain import Domain, Points
from .naming import did_you_mean, listing
from .node import Node
from .reads import Reads
from .scales import PRIOR_SHARES, Bins, Scale, SharedOut, Strength
from .sites import FixedSite
from .symbols import Symbol, Term
from .values import Json, Value, decode_value, encode_value, identity, plain, shown

if TYPE_CHECKING:
    from .expressions import Variable

_NO_DEFAULT = object()  # None is a value that may be listed


class Listed(Domain, Reads[Value]):
    """Values one by one. Two values are the same only if their types are: True, 1 and 1.0 are three.

    Args:
        values: what may be chosen.
        default: the value to try first.
        prior: how good the default is believed to be, "low", "medium" or "high"; draws and models prefer it.

    Raises:
        SpaceError: no values, a value twice, a value that JSON cannot carry, a default that is not listed, or a prior
            without one.
    """

    __slots__ = ("_bins", "_default", "_index_of", "_mutable", "_tag_floats", "prior", "values")

    kind: str

    def __init__(
        self, values: Iterable[Value], *, default: Value = _NO_DEFAULT, prior: Strength | None = None
    ) -> None:
        name = type(self).__name__
        if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
            raise SpaceError(f"{name}({shown(values)}): not a list of values.", f"Write {name}([...]).")
        self.values: tuple[Value, ...] = tuple(plain(value) for value in values)
        if not self.values:
            raise SpaceError(f"{name}([]): no values.", "List at least one.")
        self._index_of = {identity(value): index for index, value in enumerate(self.values)}
        if len(self._index_of) < len(self.values):
            twice = next(v for i, v in enumerate(self.values) if self._index_of[identity(v)] != i)
            raise SpaceError(f"{name}: the value {shown(twice)} is listed twice.", "List every value once.")
        self._mutable = any(isinstance(value, (list, dict, tuple)) for value in self.values)
        # a browser reads 1.0 as 1: where both are listed, the float is written with its tag
        self._tag_floats = any(
            type(v) is float and v.is_integer() and (int, int(v)) in self._index_of for v in self.values
        )
        self._default = default
        if default is not _NO_DEFAULT:
            try:
                self._default = self.coerce(default)
            except ValueError:
                raise SpaceError(
                    f"{name}: the default {shown(default)} ({type(default).__name__}) is not listed; "
                    f"allowed: {listing(self.values)}.{did_you_mean(default, self.values)}",
                    "Choose a listed value.",
                ) from None
        self.prior = None if prior is None else strength(name, prior, has_default=self.has_defaults())
        self._bins = Bins(len(self.values)) if self.prior is None else self._shared_out(self.prior)

    @classmethod
    def from_json(cls, obj: dict[str, Json]) -> Self:
        """The domain that `to_json` wrote."""
        values = [decode_value(value) for value in obj["values"]]
        if "default" not in obj:
            return cls(values)
        return cls(values, default=decode_value(obj["default"]), prior=obj.get("prior"))

    def index(self, value: Value) -> int:
        """The place of a listed value, from 0.

        Raises:
            ValueError: it is not listed.
        """
        return self._index_of[identity(self.coerce(value))]

    def from_unit(self, u: float) -> Value:
        value = self.values[self._bins.index(u)]
        return copy.deepcopy(value) if self._mutable else value

    def to_unit(self, value: Value) -> float:
        return self._bins.unit(self.index(value))

    def coerce(self, value: Value) -> Value:
        try:
            found = self._index_of.get(identity(value))
        except SpaceError:
            raise ValueError from None
        if found is None and isinstance(value, dict):
            found = self._index_of.get(identity(decode_value(value)))
        if found is None and type(value) in (int, float) and not self._tag_floats:
            other = float(value) if type(value) is int else int(value) if float(value).is_integer() else None
            found = self._index_of.get(identity(other)) if other is not None else None
        if found is None:
            bare = plain(value)
            if type(bare) is not type(value):  # a numpy scalar, an enumeration's member
                return self.coerce(bare)
            raise ValueError
        return self._at(found)

    def encode(self, value: Value) -> Json:
        if self._tag_floats and type(value) is float and value.is_integer():
            return {"$float": repr(value)}
        return encode_value(value)

    def points(self, count: int) -> Points:
        return Points(len(self.values), self._at)

    def place(self, value: Value) -> int:
        return self.index(value)

    def size(self) -> int:
        return len(self.values)

    def has_defaults(self) -> bool:
        return self._default is not _NO_DEFAULT

    def allowed(self) -> str:
        return listing(self.values)

    def to_json(self) -> dict[str, Json]:
        values = [encode_value(value) for value in self.values]
        default = {"default": encode_value(self._default)} if self.has_defaults() else {}
        prior = {} if self.prior is None else {"prior": self.prior}
        return {"type": self.kind, "values": values, **default, **prior}

    def __repr__(self) -> str:
        default = f", default={self._default!r}" if self.has_defaults() else ""
        prior = "" if self.prior is None else f", prior={self.prior!r}"
        return f"{type(self).__name__}([{listing(self.values)}]{default}{prior})"

    @abstractmethod
    def _shared_out(self, prior: Strength) -> SharedOut:
        """The bins under a prior of this strength around the default."""

    def unbent(self) -> Self:
        return self if self.prior is None else type(self)(self.values)

    def log_prior(self, places: np.ndarray) -> np.ndarray:
        if not isinstance(self._bins, SharedOut):
            return super().log_prior(places)
        count = self._bins.count
        shares = np.log([self._bins.share(index) for index in range(count)])
        return np.asarray((shares - shares.max())[np.minimum((places * count).astype(int), count - 1)])

    def _at(self, index: int) -> Value:
        value = self.values[index]
        return copy.deepcopy(value) if self._mutable else value

    def __reduce__(self) -> tuple[object, tuple[dict[str, Json]]]:
        return type(self).from_json, (self.to_json(),)  # the sentinel of "no default" is compared by identity


class Ordinal(Listed):
    """Values in a meaningful order: neighbours are close. Numbers, or names such as "small", "large".

    >>> Ordinal([32, 64, 128, 256]).to_unit(64)
    0.375
    """

    __slots__ = ()
    kind = "ordinal"

    def _shared_out(self, prior: Strength) -> SharedOut:
        count = len(self.values)
        scale = Scale(-0.5, count - 0.5, log=False, prior=float(self.index(self._default)), strength=prior)
        return SharedOut([scale.unit(index + 0.5) - scale.unit(index - 0.5) for index in range(count)])

    def initial(self) -> Value:
        return self._default if self.has_defaults() else self._at((len(self.values) - 1) // 2)


class Categorical(Listed):
    """Values without an order.

    >>> Categorical([True, 1, 1.0]).contains("1")
    False
    """

    __slots__ = ()
    kind = "categorical"

    def _shared_out(self, prior: Strength) -> SharedOut:
        count, extra = len(self.values), PRIOR_SHARES[prior]
        shares = [(1.0 - extra) / count] * count
        shares[self.index(self._default)] += extra
        return SharedOut(shares)

    def initial(self) -> Value:
        return self._default if self.has_defaults() else self._at(0)


class Constant(Node):
    """One value, in every configuration; nothing to decide.

    >>> Constant("relu").size()
    1
    """

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = plain(value)

    def sample(self, rng: object) -> Value:
        """The value; `rng` is not used."""
        return self.value

    def contains(self, value: Value) -> bool:
        """Whether `value` is the constant, its type included."""
        try:
            return identity(value) == identity(self.value)
        except SpaceError:
            return False

    def from_unit(self, u: float) -> Value:
        """The value, whatever `u`."""
        return self.value

    def to_unit(self, value: Value) -> float:
        """Always 0.5."""
        return 0.5

    def site(self, path: str, *, optional: bool) -> FixedSite:
        return FixedSite(self.value)

    def parse(self, obj: Value, path: str) -> Value:
        if self.contains(obj) or self.contains(decode_value(obj)):
            return self.value
        raise SpaceError(f"{path} = {shown(obj)} is not allowed; it is always {self.value!r}.", "Leave it out.")

    def encode(self, value: Value) -> Json:
        return encode_value(value)

    def size(self) -> int:
        return 1

    def to_json(self) -> dict[str, Json]:
        return {"type": "constant", "value": encode_value(self.value)}

    def symbol(self, variable: Variable, scopes: Iterator[int]) -> Symbol:
        return Term(variable, None)

    def __repr__(self) -> str:
        return f"Constant({self.value!r})"
