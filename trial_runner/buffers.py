"""Buffers (batch-norm statistics and the like) over the shards of one batch: they follow shard 0, as in DDP.

Every shard sees the buffers as they were before the batch; what shard 0 makes of them is kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import nn

Snapshot = list[tuple[torch.Tensor | None, torch.Tensor | None]]  # (the buffer itself, a copy of its values)


class Buffers:
    """The buffers of some modules, found by name at every use: modules may replace them as well as write into them."""

    def __init__(self, modules: Iterable[nn.Module]) -> None:
        parts = {id(part): part for module in modules for part in module.modules()}
        self._places = [(part._buffers, name) for part in parts.values() for name in part._buffers]

    def __bool__(self) -> bool:
        return bool(self._places)

    @torch.no_grad()
    def snapshot(self) -> Snapshot:
        buffers = [owner.get(name) for owner, name in self._places]
        return [(buffer, None if buffer is None else buffer.detach().clone()) for buffer in buffers]

    @torch.no_grad()
    def restore(self, snapshot: Snapshot) -> None:
        for (owner, name), (buffer, values) in zip(self._places, snapshot, strict=True):
            if buffer is not None and values is not None:
                buffer.copy_(values)
            owner[name] = buffer

    def tensors(self) -> list[torch.Tensor]:
        """The buffers as they are now."""
        return [buffer for owner, name in self._places if (buffer := owner.get(name)) is not None]
