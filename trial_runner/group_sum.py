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
    """What one shard, or a subtree of shards, adds up to; `loss` and `weight` are 0-d, a gradient may be missing."""

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


def sum_over_workers(
    group: Group, mine: Leaf | None, parameters: Sequence[torch.Tensor], loss_dtype: torch.dtype
) -> Leaf:
    """The sum of every worker's subtree, on every worker; `mine` is None where a small batch left it no shard.

    Raises:
        TrialError: a gradient is sparse.
    """
    gradients = [None] * len(parameters) if mine is None else mine.gradients
    if any(gradient is not None and gradient.is_sparse for gradient in gradients):
        raise TrialError("sparse gradients cannot go over several workers.", "Use sparse=False, or workers=1.")
    device = parameters[0].device
    absent = torch.full((1,), -0.0, dtype=torch.float64, device=device)
    loss = absent.to(loss_dtype) if mine is None else mine.loss.reshape(1)
    weight = absent.clone() if mine is None else mine.weight.reshape(1)
    counts = torch.tensor([gradient is not None for gradient in gradients], dtype=torch.float32, device=device)
    for flat in (loss, weight, counts):
        group.tree_sum(flat)
    present = [count > 0 for count in counts.tolist()]
    summed: list[torch.Tensor | None] = [None] * len(parameters)
    for dtype in dict.fromkeys(parameter.dtype for parameter in parameters):
        places = [i for i, p in enumerate(parameters) if p.dtype == dtype and present[i]]
        if not places:
            continue
        pieces = [_flat(gradients[place], parameters[place]) for place in places]
        bucket = torch.cat(pieces)
        group.tree_sum(bucket)
        for place, piece in zip(places, torch.split(bucket, [len(piece) for piece in pieces]), strict=True):
            like = parameters[place]
            whole = piece.view(like.shape)
            # in the parameter's own memory layout, as a backward pass leaves it: norms add up in memory order
            summed[place] = whole if like.is_contiguous() else torch.empty_like(like).copy_(whole)
    return Leaf(loss.reshape(()), weight.reshape(()), summed)


def _flat(gradient: torch.Tensor | None, parameter: torch.Tensor) -> torch.Tensor:
    if gradient is None:
        return torch.full((parameter.numel(),), -0.0, dtype=parameter.dtype, device=parameter.device)
    return gradient.reshape(-1)
