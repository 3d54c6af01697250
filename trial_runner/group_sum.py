"""What the shards of a batch add up to, and the part of the sum that goes over workers.

Across workers everything travels in one piece of memory (`flats.py`): loss, weight and counts, gradients by data type,
rank 0's buffers. A worker whose subtree lacks a gradient sends -0.0 for it, the one number that adds to any other
without changing a bit of it; a count a parameter tells who had one. Buffers are bytes, to which the others add zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from ..errors import TrialError
from .flats import Flats, size_bytes
from .group import Group

Layout = list[tuple[torch.dtype, int]]


@dataclass(slots=True)
class Leaf:
    """What one shard, or a subtree of shards, adds up to; `loss` and `weight` are 0-d and in
    double precision, a gradient may be missing."""

    loss: torch.Tensor
    weight: torch.Tensor
    gradients: list[torch.Tensor | None]


@dataclass(frozen=True, slots=True)
class Total:
    """Mean loss (0-d, double precision) and mean gradients over all shards; rank 0's buffers, flat; `calls`: how many
    workers had something to say."""

    loss: torch.Tensor
    gradients: list[torch.Tensor | None]
    buffers: list[torch.Tensor]
    calls: float


def add(left: Leaf, right: Leaf) -> Leaf:
    """The sum, in the left one's memory."""
    left.loss = left.loss + right.loss
    left.weight = left.weight + right.weight
    for place, gradient in enumerate(right.gradients):
        mine = left.gradients[place]
        left.gradients[place] = gradient if mine is None else mine if gradient is None else mine.add_(gradient)
    return left


class SumOverWorkers:
    """The sum of every worker's subtree, step after step.

    Two pieces of memory take turns: the last step's sum stays as it was until this step's is finished, for a worker
    that missed it. They are the host's: gradients of a GPU come here to be added.

    Args:
        parameters: the gradients are theirs.
    """

    def __init__(self, parameters: Sequence[torch.Tensor]) -> None:
        self._parameters = parameters
        self._device = parameters[0].device if parameters else torch.device("cpu")
        self._now: Flats | None = None
        self._before: Flats | None = None
        self._trained: list[list[int]] = []
        self._buffer_layout: Layout = []

    def begin(self) -> None:
        """Another step; until the next call, `add_up` may be repeated."""
        self._now, self._before = self._before, self._now

    def add_up(self, group: Group, mine: Leaf | None, buffers: Sequence[torch.Tensor], *, call: bool) -> torch.Tensor:
        """What `read` takes apart, the same on every worker.

        Args:
            mine: None where a small batch left this worker no shard.
            buffers: rank 0's are everybody's afterwards.
            call: counted along.

        Raises:
            TrialError: a gradient is sparse.
        """
        gradients = [None] * len(self._parameters) if mine is None else mine.gradients
        if any(gradient is not None and gradient.is_sparse for gradient in gradients):
            raise TrialError("sparse gradients cannot go over several workers.", "Use sparse=False, or workers=1.")
        places = self._trained = self._places()
        self._buffer_layout = [(buffer.dtype, buffer.numel()) for buffer in buffers]
        self._now = flats = self._memory(places)
        numbers, *buckets, bytes_of_buffers = flats.parts
        had = [gradient is not None for gradient in gradients]
        numbers.copy_(torch.tensor([-0.0, -0.0, call, *had], dtype=torch.float64))
        if mine is not None:
            numbers[0], numbers[1] = mine.loss, mine.weight
        for bucket, alike in zip(buckets, places, strict=True):
            pieces = [_flat(gradients[place], self._parameters[place]) for place in alike]
            bucket.copy_(torch.cat(pieces)) if self._device.type != "cpu" else torch.cat(pieces, out=bucket)
        bytes_of_buffers.zero_()
        if group.rank == 0:
            for part, buffer in zip(self._buffers(bytes_of_buffers), buffers, strict=True):
                part.copy_(buffer.detach().reshape(-1))
        group.tree_sum(flats)
        return flats.whole

    def read(self, whole: torch.Tensor, mine: Leaf | None) -> Total:
        """What `add_up` returned, here or on another worker; `whole` stays as it is.

        Args:
            mine: its gradients' memory is used again.
        """
        places = self._trained
        assert self._now is not None, "something was added up"
        own = whole is self._now.whole
        numbers, *buckets, bytes_of_buffers = self._now.parts if own else Flats(self._now.layout, whole).parts
        _, _, calls, *counts = numbers.tolist()
        divisor = torch.where(numbers[1] == 0, torch.ones_like(numbers[1]), numbers[1]).to(self._device)
        gradients: list[torch.Tensor | None] = [None] * len(self._parameters)
        for bucket, alike in zip(buckets, places, strict=True):
            pieces = torch.split(bucket.to(self._device), [self._parameters[place].numel() for place in alike])
            for place, piece in zip(alike, pieces, strict=True):
                if not counts[place]:
                    continue
                like = self._parameters[place]
                used = None if mine is None else mine.gradients[place]
                # in the parameter's own memory layout, as a backward pass leaves it: norms add up in memory order
                gradient = torch.empty_like(like) if used is None else used
                gradients[place] = torch.div(piece.view(like.shape), divisor, out=gradient)
        return Total((numbers[0] / divisor.cpu()).to(self._device), gradients, self._buffers(bytes_of_buffers), calls)

    def _memory(self, places: Sequence[Sequence[int]]) -> Flats:
        """This step's, which only changes when parameters thaw or buffers change their shapes."""
        layout = self._layout(places)
        if self._now is not None and list(self._now.layout) == layout:
            return self._now
        return Flats(layout)

    def _layout(self, places: Sequence[Sequence[int]]) -> Layout:
        buckets = [
            (self._parameters[alike[0]].dtype, sum(self._parameters[place].numel() for place in alike))
            for alike in places
        ]
        numbers = (torch.float64, 3 + len(self._parameters))
        return [numbers, *buckets, (torch.uint8, size_bytes(self._buffer_layout))]

    def _buffers(self, whole: torch.Tensor) -> list[torch.Tensor]:
        return Flats(self._buffer_layout, whole).parts

    def _places(self) -> list[list[int]]:
        """The parameters that may have a gradient, a list a data type.

        One that has none anywhere travels too: to know of it beforehand would take another exchange, every step.
        """
        trained = [place for place, parameter in enumerate(self._parameters) if parameter.requires_grad]
        dtypes = dict.fromkeys(self._parameters[place].dtype for place in trained)
        return [[place for place in trained if self._parameters[place].dtype == dtype] for dtype in dtypes]


def _flat(gradient: torch.Tensor | None, parameter: torch.Tensor) -> torch.Tensor:
    if gradient is None:
        return torch.full((parameter.numel(),), -0.0, dtype=parameter.dtype, device=parameter.device)
    return gradient.reshape(-1)
