"""Global batches, cut the same way however many workers share them.

Which samples a step sees depends on (seed, epoch, step) alone, and which of them a shard sees on the shard's place in
the batch. Random augmentation is seeded a micro-batch from (seed, epoch, step, shard), in whatever process it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import torch

from ..errors import TrialError
from .data_source import DataSource, MicroBatch, to_device
from .group import Group
from .progress import Progress
from .seeding import derive_seed, preserved_rng, seed_all
from .shards import ShardPlan


class Share(NamedTuple):
    """One worker's part of a batch: which shards it owns, and their micro-batches."""

    owned: range
    micro_batches: list[MicroBatch]


@dataclass(slots=True)
class GlobalBatch:
    """One step's batch: of its micro-batches, those that this worker owns.

    `len(batch)` is the number of samples of the whole batch, on every worker; iterating gives the micro-batches. They
    are fetched when they are needed, and again when the worker has come to own others.
    `shards` is V; `seed` belongs to the step; `backwards` counts the backward passes made over this batch (closures,
    several optimizers).
    """

    seed: int
    samples: int
    shards: int
    fetch: Callable[[Share | None], Share]
    backwards: int = 0
    fetched: Share | None = None

    def __len__(self) -> int:
        return self.samples

    def __iter__(self) -> Iterator[MicroBatch]:
        return iter(self.share().micro_batches)

    def share(self) -> Share:
        """This worker's part, as the group is now."""
        self.fetched = self.fetch(self.fetched)
        return self.fetched


class Cut(NamedTuple):
    """One micro-batch that is to be fetched."""

    step_seed: int
    shard: int
    indices: torch.Tensor | slice


@dataclass(slots=True)
class _Pass:
    """One pass over the data: its name, the order of its samples, and how far the DataLoader's processes are."""

    name: tuple[int, int]
    order: torch.Tensor | None
    feed: Iterator[MicroBatch] | None = None
    fed_for: range = range(0)
    fed_step: int = 0


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
        self._ahead: Iterator[Cut] = iter(())  # what the DataLoader's processes are to fetch
        if len(self) == 0:
            raise TrialError(
                f"drop_last=True leaves no batch: {len(source)} samples, batch_size={plan.batch_size}.",
                "Use a smaller batch_size or drop_last=False.",
            )
        self._processes: torch.utils.data.DataLoader[MicroBatch] | None = None
        if workers > 0 and not source.in_memory:
            self._processes = torch.utils.data.DataLoader(
                _SeededCuts(source),  # type: ignore[arg-type]  # indexed by cuts instead of numbers
                sampler=_CutsAhead(self),
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
        return self._batches(_Pass(self._pass, self._order(self._pass)))

    def cuts(self) -> Iterator[Cut]:
        """What the DataLoader's processes are to fetch, in order."""
        return self._ahead

    def _batches(self, pass_: _Pass) -> Iterator[GlobalBatch]:
        for step in range(len(self)):
            self._progress.step += 1
            samples = min(self._plan.batch_size, len(self._source) - step * self._plan.batch_size)
            fetch = partial(self._share, pass_, step)
            yield GlobalBatch(self._step_seed(pass_, step), samples, self._plan.shards, fetch)

    def _share(self, pass_: _Pass, step: int, known: Share | None) -> Share:
        owned = self._plan.owned(self._group.rank, self._group.world_size)
        if known is not None and known.owned == owned:
            return known
        cuts = self._cuts(pass_, step, owned)
        fetched = map(self._fetch, cuts) if self._processes is None else self._from_processes(pass_, step, owned, cuts)
        return Share(owned, [to_device(micro_batch, self._device) for micro_batch in fetched])

    def _from_processes(self, pass_: _Pass, step: int, owned: range, cuts: list[Cut]) -> list[MicroBatch]:
        """The micro-batches of a step; the processes go on with the following steps meanwhile."""
        assert self._processes is not None
        if pass_.feed is None or pass_.fed_for != owned or pass_.fed_step > step:
            rest = range(step, len(self))
            self._ahead = (cut for later in rest for cut in self._cuts(pass_, later, owned))
            pass_.feed, pass_.fed_for, pass_.fed_step = iter(self._processes), owned, step
        for passed_over in range(pass_.fed_step, step):
            for _ in self._cuts(pass_, passed_over, owned):
                next(pass_.feed)
        pass_.fed_step = step + 1
        return [next(pass_.feed) for _ in cuts]

    def _cuts(self, pass_: _Pass, step: int, owned: range) -> list[Cut]:
        """The cuts of the shards that are `owned`, at one step of a pass."""
        first = step * self._plan.batch_size
        samples = min(self._plan.batch_size, len(self._source) - first)
        cuts = []
        for shard, low, high in self._plan.parts(samples, owned):
            part = slice(first + low, first + high)
            indices = part if pass_.order is None else pass_.order[part]
            cuts.append(Cut(self._step_seed(pass_, step), shard, indices))
        return cuts

    def _order(self, name: tuple[int, int]) -> torch.Tensor | None:
        if not self._shuffle:
            return None
        shuffler = torch.Generator().manual_seed(derive_seed(self._progress.seed, "shuffle", *name))
        return torch.randperm(len(self._source), generator=shuffler)

    def _step_seed(self, pass_: _Pass, step: int) -> int:
        return derive_seed(self._progress.seed, *pass_.name, step)

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


class _CutsAhead:
    """Hands the DataLoader the cuts that come next."""

    def __init__(self, loader: ShardedLoader) -> None:
        self._loader = loader

    def __iter__(self) -> Iterator[Cut]:
        return self._loader.cuts()
