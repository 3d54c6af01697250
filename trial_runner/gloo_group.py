"""A group of CPU workers over gloo.

Sums run in one order for every size of group, neighbours first: worker r adds what r ^ 1 has, then what r ^ 2 has, and
so on. Buffers that are large for their group go by recursive halving and an all-gather (Thakur, Rabenseifner and Gropp
2005: each worker sends and receives 2 (k - 1) / k of the buffer), with the distance between partners doubling instead
of halving, because the tree must pair neighbours first. Small ones are exchanged whole: fewer messages, the same
additions, the same bits.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.distributed_c10d import PrefixStore, Store

from .group import PeerLost

Json = Any  # a JSON value: the one named boundary where the type is open

MESSAGE_ELEMENTS = 4096
"""A message over loopback costs about what 16 KiB cost to move."""

TIMEOUT = datetime.timedelta(minutes=30)
"""Longer than any evaluation or compilation on one worker; silent workers are found by the agent's heartbeat."""


class GlooGroup:
    """This process's membership in a group of k workers, k a power of two.

    Every method raises `PeerLost` when another worker has gone; the group is of no use then.

    Args:
        store: where the workers find each other, kept by the node's agent.
        generation: a number of its own for every group that the trial ever forms.
    """

    def __init__(self, *, rank: int, world_size: int, store: Store, generation: int) -> None:
        assert world_size & (world_size - 1) == 0, f"{world_size} workers are no power of two"
        self.rank = rank
        self.world_size = world_size
        with _peers():
            dist.init_process_group(
                "gloo",
                store=PrefixStore(f"g{generation}", store),
                rank=rank,
                world_size=world_size,
                timeout=TIMEOUT,
            )

    def tree_sum(self, *flats: torch.Tensor) -> None:
        """Replace each tensor on every worker by its sum over workers, neighbours first."""
        whole = [flat for flat in flats if self._goes_whole(len(flat))]
        for distance in self._distances():
            received = [torch.empty_like(flat) for flat in whole]
            self._exchange(whole, received, distance)
            for flat, theirs in zip(whole, received, strict=True):
                self._add(flat, theirs, distance)
        for flat in flats:
            if not self._goes_whole(len(flat)):
                self._sum_by_halves(flat)

    def _sum_by_halves(self, flat: torch.Tensor) -> None:
        low, high = 0, len(flat)
        kept: list[tuple[int, int, int]] = []  # (low, high, distance) before each halving
        for distance in self._distances():
            kept.append((low, high, distance))
            middle = (low + high) // 2
            mine, theirs = (low, middle), (middle, high)
            if self.rank & distance:
                mine, theirs = theirs, mine
            low, high = mine
            received = torch.empty_like(flat[low:high])
            self._exchange([flat[theirs[0] : theirs[1]]], [received], distance)
            self._add(flat[low:high], received, distance)
        for before_low, before_high, distance in reversed(kept):
            theirs = (before_low, low) if low > before_low else (high, before_high)
            self._exchange([flat[low:high]], [flat[theirs[0] : theirs[1]]], distance)
            low, high = before_low, before_high

    def broadcast(self, tensors: Sequence[torch.Tensor]) -> None:
        """Overwrite the tensors everywhere with rank 0's, one message a data type."""
        for dtype in dict.fromkeys(tensor.dtype for tensor in tensors):
            alike = [tensor for tensor in tensors if tensor.dtype == dtype]
            bucket = torch.cat([tensor.detach().reshape(-1) for tensor in alike])
            self._spread(bucket)
            with torch.no_grad():
                for tensor, piece in zip(alike, torch.split(bucket, [t.numel() for t in alike]), strict=True):
                    tensor.copy_(piece.view_as(tensor))

    def agree(self, value: Json) -> Json:
        """Rank 0's value, on every worker; nobody has it before all have asked for it."""
        self.tree_sum(torch.zeros(1))
        body = json.dumps(value).encode() if self.rank == 0 else b""
        size = torch.tensor(len(body))
        self._spread(size)
        text = torch.zeros(int(size), dtype=torch.uint8)
        if self.rank == 0:
            text.copy_(torch.frombuffer(bytearray(body), dtype=torch.uint8))
        self._spread(text)
        return json.loads(bytes(text.tolist()))

    def together(self, work: Callable[[], list[torch.Tensor]]) -> list[torch.Tensor]:
        """One attempt: forming another group after a loss is the caller's business."""
        return work()

    def send(self, tensors: Sequence[torch.Tensor], to: int) -> None:
        """Send 1-d tensors to one worker that awaits as many, of the same sizes and types."""
        with _peers():
            for tensor in tensors:
                if len(tensor):
                    dist.send(tensor, to)

    def receive(self, tensors: Sequence[torch.Tensor], source: int) -> None:
        """Fill 1-d tensors with what one worker sends."""
        with _peers():
            for tensor in tensors:
                if len(tensor):
                    dist.recv(tensor, source)

    def leave(self) -> None:
        """End this membership, which those who wait for this worker notice; it may join another group."""
        dist.destroy_process_group()

    def _goes_whole(self, elements: int) -> bool:
        """Is it cheaper to exchange all at every distance than half, a quarter, ... and to gather it again?

        Of two workers always: as many bytes in half as many messages.
        """
        levels = len(self._distances())
        more = levels - 2 * (self.world_size - 1) / self.world_size  # times `elements` that are sent in excess
        return elements * more < levels * MESSAGE_ELEMENTS

    def _distances(self) -> list[int]:
        return [1 << level for level in range(self.world_size.bit_length() - 1)]

    def _spread(self, tensor: torch.Tensor) -> None:
        with _peers():
            dist.broadcast(tensor, 0)

    def _exchange(self, sent: Sequence[torch.Tensor], received: Sequence[torch.Tensor], distance: int) -> None:
        """Send to the partner and receive from it, all at once."""
        partner = self.rank ^ distance
        with _peers():
            waiting = [dist.irecv(tensor, partner, tag=tag) for tag, tensor in enumerate(received)]
            waiting += [dist.isend(tensor, partner, tag=tag) for tag, tensor in enumerate(sent)]
            for work in waiting:
                assert work is not None, "this process is in the group"
                work.wait()

    def _add(self, mine: torch.Tensor, theirs: torch.Tensor, distance: int) -> None:
        """`mine` becomes the sum, the lower rank's part first (it decides the bits of a NaN)."""
        torch.add(theirs, mine, out=mine) if self.rank & distance else mine.add_(theirs)


@contextmanager
def _peers() -> Iterator[None]:
    """Whatever gloo raises inside means that a peer is gone: it has no other errors for calls that are well formed."""
    try:
        yield
    except RuntimeError as error:
        text = str(error)
    else:
        return
    raise PeerLost(text)  # outside of `except`: the error's traceback would keep the dead group's sockets open
