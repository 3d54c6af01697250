"""Means over a data set, without gradients, shared by the workers and summed in a fixed order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from ..errors import TrialError
from .buffers import Buffers
from .data_source import DataSource, call_with, to_device
from .flats import Flats
from .group import Group
from .seeding import derive_seed, preserved_rng, seed_all
from .tree_sum import tree_sum

if TYPE_CHECKING:
    from torch import nn


def evaluate(
    fn: Callable[..., Any],
    source: DataSource,
    modules: Sequence[nn.Module],
    group: Group,
    device: torch.device,
    *,
    batch_size: int,
    seed: int,
) -> float:
    """The mean of `fn` over the samples; NaN when the total weight is 0.

    `fn(*batch)` returns one value a sample, or a pair (sum, weight). Batches are consecutive and go round the workers;
    each finds generators and buffers as if it were the first, and all are left as they were.

    Raises:
        TrialError: `fn` returned something else.
    """
    starts = range(0, len(source), batch_size)

    def work() -> list[torch.Tensor]:
        entries = torch.zeros(2 * len(starts), dtype=torch.float64, device=device)
        with torch.no_grad(), _evaluating(modules) as begin_batch, preserved_rng():
            for place in range(group.rank, len(starts), group.world_size):
                begin_batch()
                seed_all(derive_seed(seed, "evaluate", place))
                samples = slice(starts[place], min(starts[place] + batch_size, len(source)))
                total, weight = _sum_and_weight(call_with(fn, to_device(source.fetch(samples), device)))
                entries[2 * place] = total
                entries[2 * place + 1] = weight
        entries = entries.cpu()
        group.tree_sum(Flats.of(entries))  # every entry is some worker's value plus zeros
        return [entries]

    values = group.together(work)[0].tolist()
    weight = tree_sum(values[1::2])
    return tree_sum(values[::2]) / weight if weight else float("nan")


@contextmanager
def _evaluating(modules: Sequence[nn.Module]) -> Iterator[Callable[[], None]]:
    """Evaluation mode inside; afterwards modes and buffers are what they were. Yields what puts the buffers back."""
    buffers = Buffers(modules)
    before = buffers.snapshot()
    parts = [part for module in modules for part in module.modules()]
    modes = [part.training for part in parts]
    try:
        for part in parts:
            part.training = False
        yield lambda: buffers.restore(before)
    finally:
        buffers.restore(before)
        for part, mode in zip(parts, modes, strict=True):
            part.training = mode


def _sum_and_weight(returned: Any) -> tuple[Any, Any]:
    if isinstance(returned, tuple | list) and len(returned) == 2:
        return returned[0], returned[1]
    if isinstance(returned, torch.Tensor) and returned.dim() >= 1:
        return returned.double().sum(), returned.numel()
    shape = f" of shape {tuple(returned.shape)}" if isinstance(returned, torch.Tensor) else ""
    raise TrialError(
        f"evaluate's function returned a {type(returned).__name__}{shape}.",
        "Return one value a sample, e.g. model(x).argmax(1) == y, or a pair (sum, weight).",
    )
