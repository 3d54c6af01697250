"""What the shards of a batch add up to, and the part of the sum that goes over workers.

Across workers everything travels flat, one buffer a data type. A worker whose subtree lacks a gradient sends -0.0 for
it, the one number that adds to any other without changing a bit of it; a count a parameter tells who had one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from ..errors import TrialError
from .group import Group


@dataclass(slots=True)
class Leaf:
    """What one shard, or a subtree of shards, adds up to; `loss` and `weight` are 0-d and in
    double precision, a gradient may be missing."""

    loss: torch.Tensor
    weight: torch.Tensor
    gradients: list[torch.Tensor | None]


def add(left: Leaf, right: Leaf) -> Leaf:
    """The sum, in the left one's memory."""
    left.loss = left.loss + right.loss
    left.weight = left.weight + right.weight
    for place, gradient in enumerate(right.gradients):
        mine = left.gradients[place]
        left.gradients[place] = gradient if mine is None else mine if gradient is None else mine.add_(gradient)
    return left


def exchange(
    group: Group, mine: Leaf | None, parameters: Sequence[torch.Tensor], *, call: bool
) -> list[torch.Tensor]:
    """The sum of every worker's subtree, on every worker, as flat tensors that `divided` takes apart.

    Args:
        mine: None where a small batch left this worker no shard.
        call: counted along; `calls` reads the count.

    Raises:
        TrialError: a gradient is sparse.
    """
    gradients = [None] * len(parameters) if mine is None else mine.gradients
    if any(gradient is not None and gradient.is_sparse for gradient in gradients):
        raise TrialError("sparse gradients cannot go over several workers.", "Use sparse=False, or workers=1.")
    device = parameters[0].device
    had = [gradient is not None for gradient in gradients]
    numbers = torch.tensor([-0.0, -0.0, call, *had], dtype=torch.float64, device=device)
    if mine is not None:
        numbers[0], numbers[1] = mine.loss, mine.weight
    buckets = [
        torch.cat([_flat(gradients[place], parameters[place]) for place in places]) for places in _places(parameters)
    ]
    group.tree_sum(numbers, *buckets)
    return [numbers, *buckets]


def calls(exchanged: Sequence[torch.Tensor]) -> float:
    """How many workers had `call` set."""
    return float(exchanged[0][2])


def weight_of(exchanged: Sequence[torch.Tensor]) -> torch.Tensor:
    """The total weight."""
    return exchanged[0][1]


def divided(exchanged: Sequence[torch.Tensor], parameters: Sequence[torch.Tensor], divisor: torch.Tensor) -> Leaf:
    """Loss, weight and gradients out of `exchanged`, which stays as it is; the gradients divided by `divisor`."""
    numbers, *buckets = exchanged
    counts = numbers.tolist()[3:]
    gradients: list[torch.Tensor | None] = [None] * len(parameters)
    for places, bucket in zip(_places(parameters), buckets, strict=False):
        sizes = [parameters[place].numel() for place in places]
        for place, piece in zip(places, torch.split(bucket / divisor, sizes), strict=True):
            if not counts[place]:
                continue
            like = parameters[place]
            whole = piece.view(like.shape)
            # in the parameter's own memory layout, as a backward pass leaves it: norms add up in memory order
            gradients[place] = whole if like.is_contiguous() else torch.empty_like(like).copy_(whole)
    return Leaf(numbers[0], numbers[1], gradients)


def _places(parameters: Sequence[torch.Tensor]) -> list[list[int]]:
    """The parameters that may have a gradient, a list a data type.

    One that has none anywhere travels too: to know of it beforehand would take another exchange, every step.
    """
    trained = [place for place, parameter in enumerate(parameters) if parameter.requires_grad]
    dtypes = dict.fromkeys(parameters[place].dtype for place in trained)
    return [[place for place in trained if parameters[place].dtype == dtype] for dtype in dtypes]


def _flat(gradient: torch.Tensor | None, parameter: torch.Tensor) -> torch.Tensor:
    if gradient is None:
        return torch.full((parameter.numel(),), -0.0, dtype=parameter.dtype, device=parameter.device)
    return gradient.reshape(-1)
