"""A group of CPU workers.

Sums run in one order for every size of group, neighbours first: worker r adds what r ^ 1 has, then what r ^ 2 has, and
so on. Buffers that are large for their group go by recursive halving and an all-gather (Thakur, Rabenseifner and Gropp
2005: each worker sends and receives 2 (k - 1) / k of the buffer), with the distance between partners doubling instead
of halving, because the tree must pair neighbours first. Small ones are exchanged whole: fewer messages, the same
additions, the same bits.

Who waits for a worker that has died finds its socket closed. Silent ones are found by the agent's heartbeat, and the
agent tells those that wait: a node that is cut off closes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import torch

from .flats import Flats
from .mesh import Interrupt, Peers, close_all, exchange

Json = Any  # a JSON value: the one named boundary where the type is open

MESSAGE_BYTES = 256 * 1024
"""What is moved in the time that a message costs whatever its size: 0.1 ms, at 2 GB/s."""


NOTHING = memoryview(b"")


class SocketGroup:
    """This process's membership in a group of k workers, k a power of two.

    Every method raises `PeerLost` when another worker has gone; the group is of no use then.

    Args:
        peers: connections with all others (`mesh.connect_all`).
        interrupt: looked at while others are waited for.
    """

    def __init__(self, rank: int, peers: Peers, interrupt: Interrupt | None = None) -> None:
        self.rank = rank
        self.world_size = len(peers) + 1
        assert self.world_size & (self.world_size - 1) == 0, f"{self.world_size} workers are no power of two"
        self._peers = peers
        self._interrupt = interrupt
        self._inbox = torch.empty(0, dtype=torch.uint8)
        self._theirs: Flats | None = None

    def tree_sum(self, flats: Flats) -> None:
        """Replace the tensors on every worker by their sums over workers, neighbours first."""
        if self._goes_whole(len(flats.whole)):
            self._sum_whole(flats)
            return
        for part in flats.parts:
            if self._goes_whole(part.nbytes):
                self._sum_whole(Flats.of(part))
            else:
                self._sum_by_halves(part)

    def _sum_whole(self, flats: Flats) -> None:
        theirs = self._flats_like(flats)
        for distance in self._distances():
            self._exchange(flats.whole, theirs.whole, distance)
            for part, their_part in zip(flats.parts, theirs.parts, strict=True):
                self._add(part, their_part, distance)

    def _sum_by_halves(self, flat: torch.Tensor) -> None:
        low, high = 0, len(flat)
        room = self._room(flat.nbytes).view(flat.dtype)
        kept: list[tuple[int, int, int]] = []  # (low, high, distance) before each halving
        for distance in self._distances():
            kept.append((low, high, distance))
            middle = (low + high) // 2
            mine, theirs = (low, middle), (middle, high)
            if self.rank & distance:
                mine, theirs = theirs, mine
            low, high = mine
            received = room[low:high]
            self._exchange(flat[theirs[0] : theirs[1]], received, distance)
            self._add(flat[low:high], received, distance)
        for before_low, before_high, distance in reversed(kept):
            theirs = (before_low, low) if low > before_low else (high, before_high)
            self._exchange(flat[low:high], flat[theirs[0] : theirs[1]], distance)
            low, high = before_low, before_high

    def agree(self, value: Json) -> Json:
        """Rank 0's value, on every worker; nobody has it before all have asked for it."""
        body = json.dumps(value).encode() if self.rank == 0 else b""
        size = torch.tensor([len(body)])
        self.tree_sum(Flats.of(size))
        text = torch.zeros(int(size), dtype=torch.uint8)
        if self.rank == 0:
            text.copy_(torch.frombuffer(bytearray(body), dtype=torch.uint8))
        self.tree_sum(Flats.of(text))  # one worker's text plus zeros
        return json.loads(bytes(text.tolist()))

    def torch_group(self) -> Any:
        """torch's default group, which somebody has formed of the same workers."""
        return torch.distributed.group.WORLD

    def together(self, work: Callable[[], list[torch.Tensor]]) -> list[torch.Tensor]:
        """One attempt: forming another group after a loss is the caller's business."""
        return work()

    def send(self, tensors: Sequence[torch.Tensor], to: int) -> None:
        """Send 1-d tensors to one worker that awaits as many, of the same sizes and types."""
        for tensor in tensors:
            exchange(self._peers[to], _bytes(tensor), self._peers[to], NOTHING, self._interrupt)

    def receive(self, tensors: Sequence[torch.Tensor], source: int) -> None:
        """Fill 1-d tensors with what one worker sends."""
        for tensor in tensors:
            exchange(self._peers[source], NOTHING, self._peers[source], _bytes(tensor), self._interrupt)

    def leave(self) -> None:
        """End this membership, which those who wait for this worker notice; it may join another group."""
        close_all(self._peers)

    def _goes_whole(self, size_bytes: int) -> bool:
        """Is it cheaper to exchange all at every distance than half, a quarter, ... and to gather it again?

        Of two workers always: as many bytes in half as many messages.
        """
        levels = len(self._distances())
        more = levels - 2 * (self.world_size - 1) / self.world_size  # times the size that is sent in excess
        return size_bytes * more < levels * MESSAGE_BYTES

    def _distances(self) -> list[int]:
        return [1 << level for level in range(self.world_size.bit_length() - 1)]

    def _room(self, size_bytes: int) -> torch.Tensor:
        """Memory for what others send, the same in every step."""
        if len(self._inbox) < size_bytes:
            self._inbox = torch.empty(size_bytes, dtype=torch.uint8)
        return self._inbox[:size_bytes]

    def _flats_like(self, flats: Flats) -> Flats:
        """Memory for another worker's; what it was in the step before, mostly."""
        room = self._room(len(flats.whole))
        known = self._theirs
        if known is None or known.layout != flats.layout or known.whole.data_ptr() != room.data_ptr():
            known = self._theirs = Flats(flats.layout, room)
        return known

    def _exchange(self, sent: torch.Tensor, received: torch.Tensor, distance: int) -> None:
        """Send to the partner and receive from it, at once."""
        partner = self._peers[self.rank ^ distance]
        exchange(partner, _bytes(sent), partner, _bytes(received), self._interrupt)

    def _add(self, mine: torch.Tensor, theirs: torch.Tensor, distance: int) -> None:
        """`mine` becomes the sum, the lower rank's part first (it decides the bits of a NaN)."""
        torch.add(theirs, mine, out=mine) if self.rank & distance else mine.add_(theirs)


def _bytes(tensor: torch.Tensor) -> memoryview:
    """A tensor's own memory (1-d, contiguous)."""
    return tensor.view(torch.uint8).numpy().data
