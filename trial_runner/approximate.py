"""The backward pass of trials that asked for speed instead of exactness: torch's DistributedDataParallel.

Each worker takes one consecutive part of a batch, and gradients are averaged by an all-reduce that overlaps with the
backward pass (Li et al. 2020, "PyTorch Distributed"), if asked with one of torch's communication hooks. What comes out
depends in its last bits on the number of workers, and with a hook in more than these; buffers follow rank 0.

Everything else is as in exact trials: the same loops, resizes between steps, losses. The mean over all samples, or
tokens, is exact in what it divides by: weights are added up before the backward pass.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from .backward import Backward, divisor_of, loss_of
from .buffers import Buffers
from .data_source import MicroBatch
from .flats import Flats
from .group import Group, PeerLost
from .seeding import derive_seed, seed_all

if TYPE_CHECKING:
    from torch.nn.parallel import DistributedDataParallel

    from .sharded_loader import GlobalBatch
    from .step_boundary import StepBoundary

POWERSGD_FROM_STEP = 10
"""Gradients go whole before: PowerSGD's paper warms up for epochs, but a group may change at any step, which begins it
anew."""


class ApproximateBackward(Backward):
    """The pass over workers is another; checking and repeating are those of `Backward`.

    Args:
        hook: one of `preparing.COMM_HOOKS`, or None.
    """

    def __init__(
        self,
        group: Group,
        modules: Iterable[nn.Module],
        parameters: Sequence[torch.Tensor],
        boundary: StepBoundary,
        hook: str | None,
    ) -> None:
        modules = list(modules)
        super().__init__(group, modules, parameters, boundary)
        self._modules = modules
        self._hook = hook
        self._replica: DistributedDataParallel | None = None
        self._replica_of: Any = None

    def __call__(self, loss_fn: Callable[..., Any], batch: GlobalBatch, scaler: Any = None) -> torch.Tensor:
        batch.backwards += 1
        owned, (micro_batch,) = batch.share()
        if self._group.world_size == 1:
            self._drop_replica()
            seed_all(derive_seed(batch.seed, "backward", batch.backwards, owned.start))
            return self._plain(loss_fn, micro_batch, scaler)
        return self._over_workers(loss_fn, batch, scaler)

    def _over_workers(self, loss_fn: Callable[..., Any], batch: GlobalBatch, scaler: Any) -> torch.Tensor:
        earlier = [None if p.grad is None else p.grad.clone() for p in self._parameters]
        buffers = Buffers(self._modules)
        before = buffers.snapshot()
        mine: list[torch.Tensor] = []

        def work() -> list[torch.Tensor]:
            nonlocal mine
            for parameter, gradient in zip(self._parameters, earlier, strict=True):
                parameter.grad = None if gradient is None else gradient.clone()
            buffers.restore(before)
            owned, (micro_batch,) = batch.share()
            seed_all(derive_seed(batch.seed, "backward", batch.backwards, owned.start))
            mine = self._attempt(loss_fn, micro_batch, scaler)
            return mine

        result = self._group.together(work)
        numbers, *gradients = result
        if result is not mine:  # finished by others while this worker missed one of them
            had = iter(gradients)
            for parameter, has in zip(self._parameters, numbers[3:].tolist(), strict=True):
                parameter.grad = next(had).view_as(parameter).to(parameter, copy=True) if has else None
        self._boundary.count(float(numbers[2]))
        seed_all(derive_seed(batch.seed, "after", batch.backwards))
        mean: torch.Tensor = numbers[0] / divisor_of(numbers[1])
        return mean.to(self._loss_dtype)

    def _attempt(self, loss_fn: Callable[..., Any], micro_batch: MicroBatch, scaler: Any) -> list[torch.Tensor]:
        """Loss, weight, calls, and which parameters have gradients; copies of these, for one that misses them."""
        group = self._group
        if group.world_size == 1:  # the others were lost meanwhile
            loss_sum, weight = loss_of(loss_fn, micro_batch)
        else:
            loss_sum, weight = self._with_replica(lambda replica: replica(loss_fn, micro_batch))
        numbers = torch.tensor([float(loss_sum.detach()), float(weight), self._boundary.is_called()]).double()
        group.tree_sum(Flats.of(numbers))
        mean = loss_sum * (group.world_size / divisor_of(numbers[1]).to(loss_sum))
        scaled = mean if scaler is None else scaler.scale(mean)
        self._with_replica(lambda _: scaled.backward())
        kept = [p.grad.detach().reshape(-1).clone() for p in self._parameters if p.grad is not None]
        has = torch.tensor([p.grad is not None for p in self._parameters], dtype=torch.float64)
        return [torch.cat([numbers, has]), *kept]

    def _with_replica(self, use: Callable[[Any], Any]) -> Any:
        """What `use` returns; what torch's groups raise when a peer has gone becomes `PeerLost`."""
        try:
            return use(self._current_replica())
        except RuntimeError as error:
            gone = str(error)
            if not any(mark in gone.lower() for mark in ("gloo", "nccl")):
                raise
        self._drop_replica()
        raise PeerLost(gone)  # outside of `except`: the error's traceback would keep the dead group's sockets open

    def _current_replica(self) -> DistributedDataParallel | None:
        """Made anew with every group, and when parameters freeze or thaw."""
        process_group = self._group.torch_group()
        key = (process_group, [p.requires_grad for p in self._parameters])
        if self._replica is None or self._replica_of != key:
            self._drop_replica()
            if process_group is not None:
                self._replica = _replica(self._modules, process_group, self._hook)
                self._replica_of = key
        return self._replica

    def _drop_replica(self) -> None:
        """It holds the group, whose end others may wait for."""
        if self._replica is not None:
            self._replica = self._replica_of = None
            gc.collect()


class _LossOf(nn.Module):
    """The user's loss as a module's forward pass, so that DistributedDataParallel sees where it begins and ends."""

    def __init__(self, modules: Sequence[nn.Module]) -> None:
        super().__init__()
        self.kept = nn.ModuleList(modules)

    def forward(self, loss_fn: Callable[..., Any], micro_batch: MicroBatch) -> Any:
        return loss_of(loss_fn, micro_batch)


def _replica(modules: Sequence[nn.Module], process_group: Any, hook: str | None) -> DistributedDataParallel:
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
    from torch.nn.parallel import DistributedDataParallel

    replica = DistributedDataParallel(
        _LossOf(modules), process_group=process_group, find_unused_parameters=True, init_sync=False
    )
    if hook == "fp16":
        replica.register_comm_hook(process_group, default_hooks.fp16_compress_hook)
    elif hook == "powersgd":
        state = powerSGD_hook.PowerSGDState(process_group, start_powerSGD_iter=POWERSGD_FROM_STEP)
        replica.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
    return replica
