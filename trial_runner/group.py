"""The workers of one trial as one group, seen from one of them.

`Trial` and everything under it is written against this port; how many workers there are shows nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import torch

    from .flats import Flats

Json = Any  # a JSON value: the one named boundary where the type is open


class PeerLost(BaseException):
    """Another worker of the group no longer answers; raised by what exchanges something with it.

    Not an `Exception`: it is caught where the exchange began, and must pass through anything in between.
    """


class Group(Protocol):
    """k workers (k a power of two), rank 0 to k - 1. Every method is called by all of them, in the same order."""

    @property
    def rank(self) -> int: ...

    @property
    def world_size(self) -> int: ...

    def tree_sum(self, flats: Flats) -> None:
        """Replace each tensor on every worker by its sum over workers, neighbours first: ((0+1)+(2+3))+..."""
        ...

    def agree(self, value: Json) -> Json:
        """Rank 0's value, on every worker."""
        ...

    def torch_group(self) -> Any:
        """The same workers as a process group of torch's; None for a single one."""
        ...

    def together(self, work: Callable[[], list[torch.Tensor]]) -> list[torch.Tensor]:
        """What `work` returns, the same on every worker.

        `work` exchanges something first and last, and changes nothing that it cannot do again: when workers are lost
        on the way, those that are left repeat it, each for its new rank, or get its result from one that has it.
        """
        ...


class SoloGroup:
    """One worker: nothing to exchange."""

    rank = 0
    world_size = 1

    def tree_sum(self, flats: Flats) -> None:
        """The sum over one worker is what it has."""

    def agree(self, value: Json) -> Json:
        return value

    def torch_group(self) -> Any:
        return None

    def together(self, work: Callable[[], list[torch.Tensor]]) -> list[torch.Tensor]:
        return work()


def decide(group: Group, choose: Callable[[], Json]) -> Json:
    """What `choose` returns on rank 0, on every worker; a successor of a lost rank 0 chooses again."""
    if group.world_size == 1:
        return choose()
    import json

    import torch

    def work() -> list[torch.Tensor]:
        chosen = group.agree(choose() if group.rank == 0 else None)
        return [torch.frombuffer(bytearray(json.dumps(chosen).encode()), dtype=torch.uint8)]

    return json.loads(bytes(group.together(work)[0].tolist()))
