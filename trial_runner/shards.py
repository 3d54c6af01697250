"""Logical shards: how a global batch is cut, whatever the number of workers.

V, the number of shards, is a property of the trial's configuration, never of the pool. k workers (k a power of two ≤ V)
own V/k consecutive shards each.
"""

from __future__ import annotations

from dataclasses import dataclass

MIN_SAMPLES_PER_SHARD = 32
"""A batch-normalised network on digits fell from .988 to .587 accuracy at 2 samples a shard and lost nothing at 32."""


def logical_shards(max_shards: int, batch_size: int) -> int:
    """V: the largest power of two ≤ min(max_shards, batch_size // 32), at least 1.

    >>> [logical_shards(8, batch_size) for batch_size in (16, 64, 200, 1024)]
    [1, 2, 4, 8]
    """
    most = max(1, min(max_shards, batch_size // MIN_SAMPLES_PER_SHARD))
    return 1 << (most.bit_length() - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardPlan:
    """The cut of batches of `batch_size` into `shards` micro-batches of at most `micro_batch_size` samples."""

    batch_size: int
    shards: int

    @property
    def micro_batch_size(self) -> int:
        return -(-self.batch_size // self.shards)

    def cut(self, samples: int) -> list[tuple[int, int]]:
        """The half-open ranges of a batch of `samples`, one a shard; shards beyond the last range are empty.

        A batch smaller than the rest is spread evenly over as few shards as its size needs: micro-batches of one
        sample, which batch norm refuses, then come only from batches of one sample.

        >>> ShardPlan(batch_size=128, shards=4).cut(128)
        [(0, 32), (32, 64), (64, 96), (96, 128)]
        >>> ShardPlan(batch_size=128, shards=4).cut(33)
        [(0, 16), (16, 33)]
        """
        filled = -(-samples // self.micro_batch_size)
        return [(i * samples // filled, (i + 1) * samples // filled) for i in range(filled)]

    def owned(self, rank: int, world_size: int) -> range:
        """The shards of one worker.

        Of more workers than shards, the first have one each; a single shard belongs to all of them, and each does the
        whole work.

        >>> ShardPlan(batch_size=256, shards=8).owned(1, 4)
        range(2, 4)
        >>> [ShardPlan(batch_size=64, shards=2).owned(rank, 4) for rank in range(4)]
        [range(0, 1), range(1, 2), range(2, 2), range(2, 2)]
        >>> ShardPlan(batch_size=16, shards=1).owned(3, 4)
        range(0, 1)
        """
        if self.shards == 1:
            return range(1)
        if world_size > self.shards:
            return range(min(rank, self.shards), min(rank + 1, self.shards))
        each = self.shards // world_size
        return range(rank * each, (rank + 1) * each)
