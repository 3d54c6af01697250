"""Flat tensors of several data types in one piece of memory, so that they travel as one message.

A message costs a worker a tenth of a millisecond, and fresh memory for 65 MB more than sending them does: so what is
exchanged in every step lies together, and stays where it is.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

ALIGNED_BYTES = 64
"""Every tensor starts at a multiple of it, as torch's own do."""


class Flats:
    """1-d tensors, `parts`, that lie in `whole` one after the other.

    Args:
        layout: data type and number of elements of each part.
        whole: the memory (1-d, uint8), of `size_bytes(layout)`; new where it is not given.
    """

    def __init__(
        self,
        layout: Sequence[tuple[torch.dtype, int]],
        whole: torch.Tensor | None = None,
    ) -> None:
        self.layout = tuple(layout)
        if whole is None:
            whole = torch.zeros(size_bytes(layout), dtype=torch.uint8)
        self.whole = whole
        self.parts: list[torch.Tensor] = []
        start = 0
        for dtype, elements in layout:
            self.parts.append(whole[start : start + elements * dtype.itemsize].view(dtype))
            start += _aligned(elements * dtype.itemsize)

    @classmethod
    def of(cls, tensor: torch.Tensor) -> Flats:
        """One tensor (1-d, contiguous), in the memory that it has."""
        return cls([(tensor.dtype, len(tensor))], tensor.view(torch.uint8))


def size_bytes(layout: Sequence[tuple[torch.dtype, int]]) -> int:
    """What parts of this layout need, the gaps between them included."""
    return sum(_aligned(elements * dtype.itemsize) for dtype, elements in layout)


def _aligned(size: int) -> int:
    return -(-size // ALIGNED_BYTES) * ALIGNED_BYTES
