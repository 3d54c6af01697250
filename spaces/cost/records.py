"""What one forward pass leaves behind for the cost model: plain numbers, no tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from .operators import Cost

Gradient: TypeAlias = Literal["new", "shared", "view"]
"""How the backward of an operation makes the gradients of its inputs: new memory; the output's own gradient handed on
(a sum); a part or another shape of it (views, concatenation)."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of the forward pass, by the storages it touched.

    Attributes:
        inputs: storages of inputs that get a gradient and are not parameters.
        parameters: storages of parameters it read.
        outputs: storages it wrote.
        saved: storages kept for its backward, parameters aside.
        gradient: how its backward makes gradients.
        in_place: whether it overwrote its input.
        cost: work and depth.
    """

    inputs: tuple[int, ...]
    parameters: tuple[int, ...]
    outputs: tuple[int, ...]
    saved: tuple[int, ...]
    gradient: Gradient
    in_place: bool
    cost: Cost


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """A forward pass at one batch size.

    Attributes:
        batch: samples.
        parameters: how many numbers the parameters have.
        sizes: bytes of every storage.
        parameter_sizes: bytes of every parameter's storage.
        fixed_bytes: parameters and buffers.
        input_bytes: the batch itself.
        operations: in order.
        depth: the longest chain of steps through the graph.
    """

    batch: int
    parameters: int
    sizes: dict[int, int]
    parameter_sizes: dict[int, int]
    fixed_bytes: int
    input_bytes: int
    operations: tuple[Operation, ...]
    depth: int
