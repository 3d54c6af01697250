"""Operations that an edge of a cell may be: what they are, not how they run (torch comes in `architectures`)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import ClassVar, TypeAlias

from ..errors import SpaceError
from .naming import did_you_mean
from .values import Json


@dataclass(frozen=True, slots=True)
class Zero:
    """No connection."""

    kind: ClassVar[str] = "zero"


@dataclass(frozen=True, slots=True)
class Identity:
    """The input itself."""

    kind: ClassVar[str] = "identity"


@dataclass(frozen=True, slots=True)
class ConvBN:
    """ReLU, convolution, batch norm."""

    kernel: int
    kind: ClassVar[str] = "conv_bn"


@dataclass(frozen=True, slots=True)
class SeparableConvBN:
    """ReLU, depthwise and pointwise convolution, batch norm."""

    kernel: int
    kind: ClassVar[str] = "separable_conv_bn"


@dataclass(frozen=True, slots=True)
class AvgPool:
    """Average pooling at stride 1, padding not counted."""

    kernel: int
    kind: ClassVar[str] = "avg_pool"


@dataclass(frozen=True, slots=True)
class MaxPool:
    """Max pooling at stride 1."""

    kernel: int
    kind: ClassVar[str] = "max_pool"


EdgeOperation: TypeAlias = Zero | Identity | ConvBN | SeparableConvBN | AvgPool | MaxPool
_BY_KIND: dict[str, type[EdgeOperation]] = {
    cls.kind: cls for cls in (Zero, Identity, ConvBN, SeparableConvBN, AvgPool, MaxPool)
}


def operation_to_json(operation: EdgeOperation) -> dict[str, Json]:
    """The operation as JSON."""
    return {"kind": operation.kind, **asdict(operation)}


def operation_from_json(obj: dict[str, Json]) -> EdgeOperation:
    """The operation that `operation_to_json` wrote.

    Raises:
        SpaceError: no such operation.
    """
    kind = obj["kind"]
    if kind not in _BY_KIND:
        raise SpaceError(
            f"{kind!r} is not an operation of a cell.{did_you_mean(kind, _BY_KIND)}",
            "The space was written by a newer version, or is damaged.",
        )
    return _BY_KIND[kind](**{name: value for name, value in obj.items() if name != "kind"})
