"""A group of CPU workers over gloo.

Sums run in one order for every size of group, neighbours first: worker r adds what r ^ 1 has, then what r ^ 2 has, and
so on. Large buffers go by recursive halving and an all-gather (Thakur, Rabenseifner and Gropp 2005: each worker sends
and receives 2 (k - 1) / k of the buffer), with the distance between partners doubling instead of halving, because the
tree must pair neighbours first. Small ones are exchanged whole: fewer messages, the same additions, the same bits.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.distributed_c10d import PrefixStore, Store

Json = Any  # a JSON value: the one named boundary where the type is open

WHOLE_EXCHANGE_ELEMENTS = 4096
"""Below this a buffer is exchanged whole: a message over loopback costs about what 16 KiB cost to move."""

TIMEOUT = datetime.timedelta(minutes=30)
"""Longer than any evaluation or compilation on one worker; silent workers are found by the agent's heartbeat."""


class GlooGroup:
    """This process's membership in a group of k workers, k a power of two.

    Args:
        store: where the workers find each other, kept by the node's agent.
        generation: a number of its own for every group that the trial ever forms.
    """

    def __init__(self, *, rank: int, world_size: int, store: Store, generation: int) -> None:
        assert world_size & (world_size - 1) == 0, f"{world_size} workers are no power of two"
        self.rank = rank
        self.world_size = world_size
        dist.init_process_group(
            "gloo",
            store=PrefixStore(f"g{generation}", store),
            rank=rank,
            world_size=world_size,
            timeout=TIMEOUT,
        )

    def tree_sum(self, flat: torch.Tensor) -> None:
        """Replace `flat` on every worker by the sum over workers, neighbours first."""
        if len(flat) < WHOLE_EXCHANGE_ELEMENTS:
            for distance in self._distances():
                self._add(flat, self._exchange(flat, torch.empty_like(flat), distance), distance)
            return
        low, high = 0, len(flat)
        kept: list[tuple[int, int, int]] = []  # (low, high, distance) before each halving
        for distance in self._distances():
            kept.append((low, high, distance))
            middle = (low + high) // 2
            mine, theirs = (low, middle), (middle, high)
            if self.rank & distance:
                mine, theirs = theirs, mine
            low, high = mine
            received = self._exchange(flat[theirs[0] : theirs[1]], torch.empty_like(flat[low:high]), distance)
            self._add(flat[low:high], received, distance)
        for before_low, before_high, distance in reversed(kept):
            theirs = (before_low, low) if low > before_low else (high, before_high)
            self._exchange(flat[low:high], flat[theirs[0] : theirs[1]], distance)
            low, high = before_low, before_high

    def broadcast(self, tensors: Sequence[torch.Tensor]) -> None:
        """Overwrite the tensors everywhere with rank 0's, one message a data type."""
        for dtype in dict.fromkeys(tensor.dtype for tensor in tensors):
            alike = [tensor for tensor in tensors if tensor.dtype == dtype]
            bucket = torch.cat([tensor.detach().reshape(-1) for tensor in alike])
            dist.broadcast(bucket, 0)
            with torch.no_grad():
                for tensor, piece in zip(alike, torch.split(bucket, [t.numel() for t in alike]), strict=True):
                    tensor.copy_(piece.view_as(tensor))

    def agree(self, value: Json) -> Json:
        """Rank 0's value, on every worker."""
        body = json.dumps(value).encode() if self.rank == 0 else b""
        size = torch.tensor(len(body))
        dist.broadcast(size, 0)
        text = torch.zeros(int(size), dtype=torch.uint8)
        if self.rank == 0:
            text.copy_(torch.frombuffer(bytearray(body), dtype=torch.uint8))
        dist.broadcast(text, 0)
        return json.loads(bytes(text.tolist()))

    def leave(self) -> None:
        """End this membership; the process may join another group."""
        dist.destroy_process_group()

    def _distances(self) -> list[int]:
        return [1 << level for level in range(self.world_size.bit_length() - 1)]

    def _exchange(self, sent: torch.Tensor, received: torch.Tensor, distance: int) -> torch.Tensor:
        """Send to the partner and receive from it; `received`, filled."""
        partner = self.rank ^ distance
        waiting = [dist.irecv(received, partner), dist.isend(sent, partner)]
        for work in waiting:
            assert work is not None, "this process is in the group"
            work.wait()
        return received

    def _add(self, mine: torch.Tensor, theirs: torch.Tensor, distance: int) -> None:
        """`mine` becomes the sum, the lower rank's part first (it decides the bits of a NaN)."""
        torch.add(theirs, mine, out=mine) if self.rank & distance else mine.add_(theirs)
