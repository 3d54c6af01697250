"""What holds of every cut: each sample once an epoch, the same batches for any number of workers or processes."""

import random
from typing import Any

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.trial_runner.data_source import as_source
from shoal.trial_runner.group import SoloGroup
from shoal.trial_runner.progress import Progress
from shoal.trial_runner.seeding import seed_all
from shoal.trial_runner.sharded_loader import ShardedLoader
from shoal.trial_runner.shards import ShardPlan, logical_shards
from shoal.trial_runner.tree_sum import TreeSum, tree_sum

CPU = torch.device("cpu")


class OneOf(SoloGroup):
    """A worker of a group of k."""

    def __init__(self, rank: int, world_size: int) -> None:
        self.rank, self.world_size = rank, world_size


class Noisy:
    """Samples with augmentation from all three generators."""

    def __init__(self, length: int) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> tuple[int, float]:
        return index, random.random() + np.random.rand() + torch.rand(()).item()


def loader(data: Any, plan: ShardPlan, epoch: int = 0, group: Any = None, seed: int = 3, **more: Any) -> ShardedLoader:
    options: dict[str, Any] = {"shuffle": True, "drop_last": False, "workers": 0, "options": {}} | more
    return ShardedLoader(as_source(data), plan, Progress(seed, epoch=epoch), group or SoloGroup(), CPU, **options)


plans = st.builds(
    lambda batch_size, shards: ShardPlan(batch_size=batch_size, shards=logical_shards(shards, batch_size)),
    st.integers(1, 400), st.sampled_from([1, 2, 4, 8]),
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 900), plans, st.booleans(), st.integers(0, 5))
def test_every_sample_once_an_epoch_whatever_the_workers(
    samples: int, plan: ShardPlan, shuffle: bool, epoch: int
) -> None:
    """T58: for k = 1, 2, 4, 8 workers the same global batches, each index once, the last batch included."""
    data = torch.arange(samples)
    k = 1
    alone: list[list[list[int]]] | None = None
    while k <= plan.shards:
        workers = [list(loader(data, plan, epoch, OneOf(rank, k), shuffle=shuffle)) for rank in range(k)]
        steps = [[part.tolist() for batch in step for (part,) in batch] for step in zip(*workers, strict=True)]
        alone = alone or steps
        assert steps == alone
        k *= 2
    assert alone is not None
    assert sorted(index for step in alone for part in step for index in part) == list(range(samples))
    assert len(alone) == -(-samples // plan.batch_size)
    assert all(len(part) <= plan.micro_batch_size for step in alone for part in step)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 400), plans)
def test_small_batches_are_not_cut_into_crumbs(samples: int, plan: ShardPlan) -> None:
    """No micro-batch of one sample unless the batch has only one (batch norm refuses them)."""
    sizes = [high - low for low, high in plan.cut(min(samples, plan.batch_size))]
    assert sum(sizes) == min(samples, plan.batch_size)
    assert sum(sizes) == 1 or min(sizes) > 1
    assert len(sizes) <= plan.shards


@settings(max_examples=60, deadline=None)
@given(st.lists(st.none() | st.floats(-1e9, 1e9), min_size=8, max_size=8))
def test_the_tree_is_the_same_in_one_piece_and_in_subtrees(leaves: list[float | None]) -> None:
    def total(values: list[float | None]) -> float | None:
        tree: TreeSum[float] = TreeSum(lambda left, right: left + right)
        for value in values:
            tree.push(value)
        return tree.total()

    whole = total(leaves)
    for k in (2, 4, 8):
        each = 8 // k
        subtrees = [total(leaves[i * each : (i + 1) * each]) for i in range(k)]
        assert total(subtrees) == whole
        for known in range(k):  # one subtree was added up before, the other leaves come one by one
            tree: TreeSum[float] = TreeSum(lambda left, right: left + right)
            for i in range(k):
                if i == known:
                    tree.push(subtrees[i], level=each.bit_length() - 1)
                else:
                    for leaf in leaves[i * each : (i + 1) * each]:
                        tree.push(leaf)
            assert tree.total() == whole


@given(st.lists(st.integers(-1000, 1000), max_size=20))
def test_tree_sums_of_whole_numbers_are_sums(values: list[int]) -> None:
    assert tree_sum(map(float, values)) == sum(values)


def test_epochs_and_passes_are_shuffled_differently_and_repeatably() -> None:
    plan = ShardPlan(batch_size=64, shards=1)

    def one_pass(over: ShardedLoader) -> list[int]:
        return [index for batch in over for (part,) in batch for index in part.tolist()]

    def order(epoch: int, seed: int = 3) -> list[int]:
        return one_pass(loader(torch.arange(100), plan, epoch, seed=seed))

    twice = loader(torch.arange(100), plan)
    passes = [one_pass(twice), one_pass(twice)]
    orders = [order(0), order(1), order(0, seed=4), passes[1]]
    assert len({tuple(one) for one in orders}) == 4
    assert passes[0] == order(0)


def test_augmentation_does_not_depend_on_processes_or_on_the_generators_outside() -> None:
    """num_workers = 0 and 2 give the same noise, and neither leaves a trace in the caller's generators."""
    plan = ShardPlan(batch_size=64, shards=2)
    seen = []
    for workers, seed in ((0, 1), (2, 2)):
        seed_all(seed)
        expected = (random.random(), np.random.rand(), torch.rand(()).item())
        seed_all(seed)
        batches = [part for batch in loader(Noisy(150), plan, workers=workers) for part in batch]
        assert (random.random(), np.random.rand(), torch.rand(()).item()) == expected
        seen.append(batches)
    assert len(seen[0]) == len(seen[1]) == 5  # 64 and 64 in two shards each, 22 in one
    for (indices, noise), (indices_too, noise_too) in zip(*seen, strict=True):
        assert torch.equal(indices, indices_too) and torch.equal(noise, noise_too)
    assert len({value for _, noise in seen[0] for value in noise.tolist()}) == 150


def test_persistent_processes_see_new_epochs() -> None:
    plan = ShardPlan(batch_size=64, shards=1)
    progress = Progress(3)
    both = ShardedLoader(
        as_source(Noisy(100)), plan, progress, SoloGroup(), CPU, shuffle=True, drop_last=False, workers=1,
        options={"persistent_workers": True},
    )  # fmt: skip
    for epoch in range(2):
        progress.epoch = epoch
        got = [part for batch in both for part in batch]
        want = [part for batch in loader(Noisy(100), plan, epoch) for part in batch]
        for one, other in zip(got, want, strict=True):
            assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True))
