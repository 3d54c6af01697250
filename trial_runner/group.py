"""The workers of one trial as one group, seen from one of them.

`Trial` and everything under it is written against this port; how many workers there are shows nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import torch

Json = Any  # a JSON value: the one named boundary where the type is open


class Group(Protocol):
    """k workers (k a power of two), rank 0 to k - 1. Every method is called by all of them, in the same order."""

    @property
    def rank(self) -> int: ...

    @property
    def world_size(self) -> int: ...

    def tree_sum(self, flat: torch.Tensor) -> None:
        """Replace `flat` (1-d) on every worker by the sum over workers, neighbours first: ((0+1)+(2+3))+..."""
        ...

    def broadcast(self, tensors: Sequence[torch.Tensor]) -> None:
        """Overwrite the tensors everywhere with rank 0's."""
        ...

    def agree(self, value: Json) -> Json:
        """Rank 0's value, on every worker."""
        ...


class SoloGroup:
    """One worker: nothing to exchange."""

    rank = 0
    world_size = 1

    def tree_sum(self, flat: torch.Tensor) -> None:
        """The sum over one worker is what it has."""

    def broadcast(self, tensors: Sequence[torch.Tensor]) -> None:
        """Rank 0 is the only one."""

    def agree(self, value: Json) -> Json:
        return value
