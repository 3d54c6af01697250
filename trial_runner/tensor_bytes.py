"""Tensors as raw bytes and back: no pickle, no archive, about the speed of copying."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

Described = list[Any]  # [name of the data type, shape]: a JSON value


def describe(tensors: Sequence[torch.Tensor]) -> list[Described]:
    """What `from_bytes` needs to know beside the bytes."""
    return [[str(tensor.dtype).removeprefix("torch."), list(tensor.shape)] for tensor in tensors]


def to_bytes(tensor: torch.Tensor) -> memoryview:
    """The values in row-major order; a view of the tensor's own memory where that is on the CPU."""
    import torch

    return tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data


def from_bytes(described: Sequence[Described], body: bytes) -> list[torch.Tensor]:
    """The tensors that lie one after the other in `body`, each in memory of its own."""
    if not described:
        return []
    import torch

    whole = torch.frombuffer(bytearray(body), dtype=torch.uint8) if body else torch.empty(0, dtype=torch.uint8)
    tensors, start = [], 0
    for dtype_name, shape in described:
        dtype = getattr(torch, dtype_name)
        end = start + torch.Size(shape).numel() * dtype.itemsize
        tensors.append(whole[start:end].clone().view(dtype).reshape(shape))
        start = end
    return tensors
