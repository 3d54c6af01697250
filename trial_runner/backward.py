"""One backward pass over a global batch, shard by shard, with the same bits however many workers share it.

Per owned shard: generators seeded from (seed, epoch, step, shard), buffers as before the batch, `loss_fn`, backward.
Loss, weight and gradients are summed over shards in a fixed binary tree (`tree_sum.py`; O(log V) gradients of memory),
first inside the worker, then over the group; then everything is divided by the total weight.

With one shard there is nothing to sum and only one worker can ever run the trial: the pass is the plain
`(loss_sum / weight).backward()`, generators and buffers flow on as in any torch loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from ..errors import TrialError
from .buffers import Buffers, Snapshot
from .data_source import MicroBatch, call_with
from .group import Group
from .group_sum import Leaf, SumOverWorkers, add
from .seeding import derive_seed, seed_all
from .sharded_loader import GlobalBatch
from .tree_sum import TreeSum

if TYPE_CHECKING:
    from torch import nn

    from .step_boundary import StepBoundary

LossFunction = Callable[..., Any]
Weight = Any  # a number or a 0-d tensor: never read back from the device

Mean = tuple[torch.Tensor, list[torch.Tensor | None]]
"""The mean loss of a batch, in double precision, and its gradients."""

_PAIR = 'Return both: cross_entropy(model(x), y, reduction="sum"), len(y).'


class Subtree(NamedTuple):
    """What a worker's shards add up to (None without any), and the buffers after the first of them."""

    owned: range
    leaf: Leaf | None
    buffers: Snapshot | None


class Backward:
    """The backward pass of one trial.

    Args:
        modules: whose buffers the pass looks after.
        parameters: whose gradients.
        boundary: called, and told who called it, along with the exchange of gradients.
    """

    def __init__(
        self,
        group: Group,
        modules: Iterable[nn.Module],
        parameters: Sequence[torch.Tensor],
        boundary: StepBoundary,
    ) -> None:
        self._group = group
        self._boundary = boundary
        self._parameters = parameters
        self._buffers = Buffers(modules)
        self._sum = SumOverWorkers(parameters)
        double = any(parameter.dtype == torch.float64 for parameter in self._parameters)
        self._loss_dtype = torch.float64 if double else torch.float32
        for parameter in self._parameters:
            if getattr(parameter, "_post_accumulate_grad_hooks", None):
                raise TrialError(
                    "a parameter has a post-accumulate-grad hook, which would run once a shard instead of once a step.",
                    "Do its work after trial.backward(...), where p.grad is that of the whole batch.",
                )

    def __call__(self, loss_fn: LossFunction, batch: GlobalBatch, scaler: Any = None) -> torch.Tensor:
        """Add the batch's gradients to `p.grad` (None stays None where no shard had one); return its mean loss.

        Raises:
            TrialError: `loss_fn` returned something else than a pair, or a loss without a gradient.
        """
        batch.backwards += 1
        if batch.shards == 1:
            return self._plain(loss_fn, batch.share().micro_batches[0], scaler)
        return self._sharded(loss_fn, batch, scaler)

    def check(self, batch: object) -> None:
        """Refuse what is no batch of the loader.

        Raises:
            TrialError: it is none.
        """
        if not isinstance(batch, GlobalBatch):
            raise TrialError(
                f"backward was given a {type(batch).__name__}, not a batch of the loader.",
                "Loop over what trial.prepare(...) returned.",
            )

    def again(self, loss: torch.Tensor, scaler: Any) -> torch.Tensor:
        """A pass that was made before: only its loss is repeated. Optimizers find no gradients and do nothing; one that
        is stepped by a scaler needs some, or the scaler complains."""
        if scaler is not None:
            scaler.scale(loss)
            for parameter in self._parameters:
                parameter.grad = torch.zeros_like(parameter)
        return loss

    def _plain(self, loss_fn: LossFunction, micro_batch: MicroBatch, scaler: Any) -> torch.Tensor:
        loss_sum, weight = loss_of(loss_fn, micro_batch)
        loss: torch.Tensor = loss_sum / divisor_of(weight)
        if _has_gradient(loss_sum, weight):
            (loss if scaler is None else scaler.scale(loss)).backward()
        return loss.detach()

    def _sharded(self, loss_fn: LossFunction, batch: GlobalBatch, scaler: Any) -> torch.Tensor:
        alone = self._group.world_size == 1
        loss, gradients = (
            self._alone(loss_fn, batch, scaler) if alone else self._with_others(loss_fn, batch, scaler)
        )
        for parameter, gradient in zip(self._parameters, gradients, strict=True):
            if gradient is not None:
                parameter.grad = gradient if parameter.grad is None else parameter.grad.add_(gradient)
        seed_all(derive_seed(batch.seed, "after", batch.backwards))
        return loss.to(self._loss_dtype)

    def _alone(self, loss_fn: LossFunction, batch: GlobalBatch, scaler: Any) -> Mean:
        """All shards being this worker's."""
        total = self._own_shards(loss_fn, batch, scaler, self._buffers.snapshot(), None).leaf
        assert total is not None, "a batch has at least one sample"
        divisor = divisor_of(total.weight)
        for gradient in total.gradients:
            if gradient is not None:
                gradient.div_(divisor)
        return total.loss / divisor, total.gradients

    def _with_others(self, loss_fn: LossFunction, batch: GlobalBatch, scaler: Any) -> Mean:
        """Over all workers, whoever is lost on the way."""
        before = self._buffers.snapshot()
        mine: Subtree | None = None

        def work() -> list[torch.Tensor]:
            nonlocal mine
            self._buffers.restore(before)
            mine = self._own_shards(loss_fn, batch, scaler, before, mine)
            call = self._boundary.is_called()
            return [self._sum.add_up(self._group, mine.leaf, self._buffers.tensors(), call=call)]

        self._sum.begin()
        (whole,) = self._group.together(work)
        assert mine is not None, "it has tried"
        total = self._sum.read(whole, mine.leaf)
        with torch.no_grad():
            for buffer, values in zip(self._buffers.tensors(), total.buffers, strict=True):
                buffer.copy_(values.view_as(buffer))
        self._boundary.count(total.calls)
        return total.loss, total.gradients

    def _own_shards(
        self, loss_fn: LossFunction, batch: GlobalBatch, scaler: Any, before: Snapshot, known: Subtree | None
    ) -> Subtree:
        """The sum over this worker's shards; buffers are left as its first shard made them.

        Args:
            before: the buffers before the batch, which they are now.
            known: summed up before other workers were lost; not computed again.
        """
        owned, micro_batches = batch.share()
        if known is not None and (not known.owned or known.owned.start not in owned):
            known = None
        earlier = [parameter.grad for parameter in self._parameters]  # accumulated by passes before this one
        after = None
        tree: TreeSum[Leaf] = TreeSum(add)
        try:
            for shard, micro_batch in zip(owned, micro_batches, strict=False):
                if known is not None and shard in known.owned:
                    if shard == known.owned.start:
                        tree.push(known.leaf, level=len(known.owned).bit_length() - 1)
                        after = known.buffers if after is None else after
                    continue
                if after is not None or shard > 0:
                    self._buffers.restore(before)
                seed_all(derive_seed(batch.seed, "backward", batch.backwards, shard))
                tree.push(self._leaf(loss_fn, micro_batch, scaler))
                if after is None:
                    after = self._buffers.snapshot()
        finally:
            for parameter, gradient in zip(self._parameters, earlier, strict=True):
                parameter.grad = gradient
        if after is not None:
            self._buffers.restore(after)
        return Subtree(owned, tree.total(), after)

    def _leaf(self, loss_fn: LossFunction, micro_batch: MicroBatch, scaler: Any) -> Leaf:
        for parameter in self._parameters:
            parameter.grad = None
        loss_sum, weight = loss_of(loss_fn, micro_batch)
        if _has_gradient(loss_sum, weight):
            (loss_sum if scaler is None else scaler.scale(loss_sum)).backward()
        # always a tensor of double precision: devices divide by numbers and by tensors with different bits
        if isinstance(weight, torch.Tensor):
            weight = weight.detach().double()
        else:
            weight = torch.full((), weight, dtype=torch.float64, device=loss_sum.device)
        return Leaf(loss_sum.detach().double(), weight, [p.grad for p in self._parameters])


def loss_of(loss_fn: LossFunction, micro_batch: MicroBatch) -> tuple[torch.Tensor, Weight]:
    returned = call_with(loss_fn, micro_batch)
    if not isinstance(returned, tuple | list) or len(returned) != 2:
        what = f"{len(returned)} values" if isinstance(returned, tuple | list) else f"a {type(returned).__name__}"
        raise TrialError(f"loss_fn returned {what}, not a pair (loss_sum, weight).", _PAIR)
    loss_sum, weight = returned
    if not isinstance(loss_sum, torch.Tensor) or loss_sum.numel() != 1:
        shape = f" of shape {tuple(loss_sum.shape)}" if isinstance(loss_sum, torch.Tensor) else ""
        raise TrialError(
            f"loss_fn's loss_sum is a {type(loss_sum).__name__}{shape}, not a tensor of one number.", _PAIR
        )
    one_number = weight.numel() == 1 if isinstance(weight, torch.Tensor) else isinstance(weight, int | float)
    if not one_number:
        raise TrialError(f"loss_fn's weight is a {type(weight).__name__}, not one number.", _PAIR)
    return loss_sum.reshape(()), weight.reshape(()) if isinstance(weight, torch.Tensor) else weight


def _has_gradient(loss_sum: torch.Tensor, weight: Weight) -> bool:
    if loss_sum.requires_grad:
        return True
    if weight == 0:  # a shard with nothing to learn from may answer with constants
        return False
    raise TrialError(
        "loss_fn's loss_sum has no gradient: nothing that requires one went into it.",
        "Do not detach it or compute it under no_grad; check that some parameter has requires_grad=True.",
    )


def divisor_of(weight: Weight) -> Weight:
    """`weight`, or 1 where it is 0: a batch without weight then has the gradient of its sum, zero, instead of NaN."""
    if isinstance(weight, torch.Tensor):
        return torch.where(weight == 0, torch.ones_like(weight), weight)
    return weight or 1

