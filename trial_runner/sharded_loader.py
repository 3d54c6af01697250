"""Global batches, cut the same way however many workers share them.

Which samples a step sees depends on (seed, epoch, step) alone, and which of them a shard sees on the shard's place in
the batch. Random augmentation is seeded a micro-batch from (seed, epoch, step, shard), in whatever process it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from ..errors import TrialError
from .data_source import DataSource, MicroBatch, to_device
from .group import Group
from .progress import Progress
from .seeding import derive_seed, preserved_rng, seed_all
from .shards import ShardPlan


@dataclass(slots=True)
class GlobalBatch:
    """One step's batch: of its micro-batches, those that this worker owns.

    `len(batch)` is the number of samples of the whole batch, on every worker; iterating gives the micro-batches.
    `shards` is V; `seed` belongs to the step; `backwards` counts the backward passes made over this batch (closures,
    several optimizers).
    """

    seed: int
    samples: int
    shards: int
    owned: range
    micro_batches: list[MicroBatch]
    backwards: int = 0

    def __len__(self) -> int:
        return self.samples

    def __iter__(self) -> Iterator[MicroBatch]:
        return iter(self.micro_batches)


class Cut(NamedTuple):
    """One micro-batch that is to be fetched."""

    step_seed: int
    shard: int
    indices: torch.Tensor | slice


class ShardedLoader:
    """What `trial.prepare` returns; each `for` over it is one pass. `len` is the number of global steps.

    Args:
        workers: DataLoader processes for a map-style data set; the batches do not depend on it. Tensors in memory are
            indexed in this process.
        options: passed on to `torch.utils.data.DataLoader` (prefetch_factor, persistent_workers, ...).
    """

    def __init__(
        self,
        source: DataSource,
        plan: ShardPlan,
        progress: Progress,
        group: Group,
        device: torch.device,
        *,
        shuffle: bool,
        drop_last: bool,
        workers: int,
        options: dict[str, Any],
    ) -> None:
        self._source = source
        self._plan = plan
        self._progress = progress
        self._group = group
        self._device = device
        self._shuffle = shuffle
        self._drop_last = drop_last
        self._pass = (-1, -1)  # (epoch, which pass over the data within it)
        if len(self) == 0:
            raise TrialError(
                f"drop_last=True leaves no batch: {len(source)} samples, batch_size={plan.batch_size}.",
                "Use a smaller batch_size or drop_last=False.",
            )
        self._processes: torch.utils.data.DataLoader[MicroBatch] | None = None
        if workers > 0 and not source.in_memory:
            self._processes = torch.utils.data.DataLoader(
                _SeededCuts(source),  # type: ignore[arg-type]  # indexed by cuts instead of numbers
                sampler=_CutSampler(self),
                batch_size=None,
                num_workers=workers,
                generator=torch.Generator(),  # its own, or every pass would draw from the user's
                **{"pin_memory": device.type == "cuda", **options},
            )

    @property
    def plan(self) -> ShardPlan:
        return self._plan

    def __len__(self) -> int:
        whole, rest = divmod(len(self._source), self._plan.batch_size)
        return whole if self._drop_last or rest == 0 else whole + 1

    def __iter__(self) -> Iterator[GlobalBatch]:
        epoch, number = self._pass
        self._pass = (self._progress.epoch, number + 1 if epoch == self._progress.epoch else 0)
        if self._processes is None:
            return self._batches(self._pass, self._fetch)
        fetched = iter(self._processes)
        return self._batches(self._pass, lambda cut: next(fetched))

    def cuts(self) -> Iterator[Cut]:
        """The cuts of the current pass, in order."""
        return (cut for _, _, cuts in self._steps(self._pass) for cut in cuts)

    def _batches(self, pass_: tuple[int, int], fetch: Callable[[Cut], MicroBatch]) -> Iterator[GlobalBatch]:
        for seed, samples, cuts in self._steps(pass_):
            micro_batches = [to_device(fetch(cut), self._device) for cut in cuts]
            yield GlobalBatch(seed, samples, self._plan.shards, self._owned, micro_batches)

    def _steps(self, pass_: tuple[int, int]) -> Iterator[tuple[int, int, list[Cut]]]:
        """For every step of a pass: its seed, the size of its batch, and the cuts of the shards owned here."""
        seed, total = self._progress.seed, len(self._source)
        order = None
        if self._shuffle:
            shuffler = torch.Generator().manual_seed(derive_seed(seed, "shuffle", *pass_))
            order = torch.randperm(total, generator=shuffler)
        for step in range(len(self)):
            first = step * self._plan.batch_size
            samples = min(self._plan.batch_size, total - first)
            step_seed = derive_seed(seed, *pass_, step)
            cuts = []
            for shard, (low, high) in enumerate(self._plan.cut(samples)):
                if shard in self._owned:
                    part = slice(first + low, first + high)
                    cuts.append(Cut(step_seed, shard, part if order is None else order[part]))
            yield step_seed, samples, cuts

    @property
    def _owned(self) -> range:
        return self._plan.owned(self._group.rank, self._group.world_size)

    def _fetch(self, cut: Cut) -> MicroBatch:
        if self._source.in_memory:
            return self._source.fetch(cut.indices)
        with preserved_rng():
            return _seeded_fetch(self._source, cut)


def _seeded_fetch(source: DataSource, cut: Cut) -> MicroBatch:
    seed_all(derive_seed(cut.step_seed, "data", cut.shard))
    return source.fetch(cut.indices)


class _SeededCuts:
    """Fetches one cut in a DataLoader process, whose generators are its own."""

    def __init__(self, source: DataSource) -> None:
        self._source = source

    def __getitem__(self, cut: Cut) -> MicroBatch:
        return _seeded_fetch(self._source, cut)


class _CutSampler:
    """Hands the current pass's cuts to the DataLoader."""

    def __init__(self, loader: ShardedLoader) -> None:
        self._loader = loader

    def __iter__(self) -> Iterator[Cut]:
        return self._loader.cuts()
