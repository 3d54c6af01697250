"""Logical shards: how a global batch is cut, whatever the number of workers.

V, the number of shards, is a property of the trial's configuration, never of the pool. k workers (k a power of two ≤ V)
own V/k consecutive shards each.
"""

from __future__ import annotations

from dataclasses import dataclass

MIN_SAMPLES_PER_SHARD = 32
"""A batch-normalised network on digits fell from .988 to .587 accuracy at 2 samples a shard and lost nothing at 32."""


def logical_shards(max_shards: int, batch_size: int, split: int = 1) -> int:
    """V: the largest power of two ≤ min(max_shards, batch_size // 32), at least 1.

    Args:
        split: a power of two: so many times as many, as far as each shard has two samples.

    >>> [logical_shards(8, batch_size) for batch_size in (16, 64, 200, 1024)]
    [1, 2, 4, 8]
    >>> logical_shards(8, 64, split=2), logical_shards(1, 6, split=8)
    (4, 2)
    """
    most = max(1, min(max_shards, batch_size // MIN_SAMPLES_PER_SHARD))
    shards = 1 << (most.bit_length() - 1)
    while split > 1 and can_split(batch_size, shards):
        split, shards = split // 2, 2 * shards
    return shards


MOST_SPLIT = 8
"""How many times V may become after running out of memory. Three doublings free seven eighths of the activations; what
does not fit then is rarely these."""


def can_split(batch_size: int, shards: int) -> bool:
    """Would twice as many shards still have two samples each, which batch norm needs?

    >>> can_split(64, 8), can_split(64, 32)
    (True, False)
    """
    return 4 * shards <= batch_size


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardPlan:
    """The cut of batches of `batch_size` into `shards` micro-batches of at most `micro_batch_size` samples.

    `merged`: a worker's shards are one micro-batch (approximate trials).
    """

    batch_size: int
    shards: int
    merged: bool = False

    @property
    def micro_batch_size(self) -> int:
        return -(-self.batch_size // self.shards)

    def describe(self, split: int = 1) -> str:
        """For the trial's log.

        >>> ShardPlan(batch_size=128, shards=4).describe()
        'batches of 128 in V=4 shards of 32 samples'
        """
        if self.merged:
            return f"batches of {self.batch_size}, shared by the workers that there are (exact=False)"
        again = f" (x {split}: it ran out of memory before)" if split > 1 else ""
        shards = "shard" if self.shards == 1 else "shards"
        return f"batches of {self.batch_size} in V={self.shards} {shards} of {self.micro_batch_size} samples{again}"

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

    def parts(self, samples: int, owned: range) -> list[tuple[int, int, int]]:
        """(shard, low, high) of the micro-batches in a batch of `samples` that belong to the shards `owned`.

        Of a merged batch too small for two samples a shard, every worker takes all.

        >>> ShardPlan(batch_size=128, shards=4).parts(128, range(2, 4))
        [(2, 64, 96), (3, 96, 128)]
        >>> ShardPlan(batch_size=128, shards=4, merged=True).parts(128, range(2, 4))
        [(2, 64, 128)]
        """
        if not self.merged:
            return [(shard, low, high) for shard, (low, high) in enumerate(self.cut(samples)) if shard in owned]
        if samples < 2 * self.shards:
            return [(owned.start, 0, samples)]
        return [(owned.start, owned.start * samples // self.shards, owned.stop * samples // self.shards)]

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


def plan_of(batch_size: int, max_shards: int, split: int = 1, *, exact: bool = True) -> ShardPlan:
    """How a trial cuts its batches.

    Args:
        exact: False: as many parts as there may ever be workers, of at least one sample.
    """
    if exact:
        return ShardPlan(batch_size=batch_size, shards=logical_shards(max_shards, batch_size, split))
    parts = 1 << (min(max_shards, batch_size).bit_length() - 1)
    return ShardPlan(batch_size=batch_size, shards=parts, merged=True)
