"""What users may pass as data, behind one face: a length, and micro-batches by index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import torch

from ..errors import TrialError

MicroBatch = Any  # what the user's collate function returns; a tuple of tensors by default
Collate = Callable[[list[Any]], MicroBatch]


class DataSource(Protocol):
    """A finite, indexable data set."""

    in_memory: bool
    """Are its samples plain tensors, so that fetching runs no code of the user's?"""

    def __len__(self) -> int: ...

    def fetch(self, indices: torch.Tensor | slice) -> MicroBatch: ...


class TensorSource:
    """Tensors whose first dimension is the sample."""

    in_memory = True

    def __init__(self, tensors: tuple[torch.Tensor, ...]) -> None:
        self._tensors = tensors

    def __len__(self) -> int:
        return len(self._tensors[0])

    def fetch(self, indices: torch.Tensor | slice) -> tuple[torch.Tensor, ...]:
        return tuple(tensor[indices] for tensor in self._tensors)


class DatasetSource:
    """A map-style data set: `__len__` and `__getitem__`, with augmentation or not."""

    in_memory = False

    def __init__(self, dataset: Any, collate: Collate) -> None:
        self._dataset = dataset
        self._collate = collate

    def __len__(self) -> int:
        return len(self._dataset)

    def fetch(self, indices: torch.Tensor | slice) -> MicroBatch:
        places = list(range(*indices.indices(len(self)))) if isinstance(indices, slice) else indices.tolist()
        if hasattr(self._dataset, "__getitems__"):
            return self._collate(self._dataset.__getitems__(places))
        return self._collate([self._dataset[place] for place in places])


def as_source(data: Any, collate_fn: Collate | None = None) -> DataSource:
    """Tensors, arrays, tuples of them, or a map-style data set, as a `DataSource`.

    Raises:
        TrialError: it is something else, empty, or its parts differ in length.
    """
    if isinstance(data, torch.utils.data.DataLoader):
        raise TrialError("data is a DataLoader.", "Pass its data set: prepare cuts and shuffles the batches itself.")
    if isinstance(data, torch.utils.data.IterableDataset) or (
        hasattr(data, "__iter__") and not hasattr(data, "__getitem__")
    ):
        raise TrialError(
            f"data is a {type(data).__name__}, which can only be iterated: its samples have no index.",
            "Give it __len__ and __getitem__ (a map-style data set), or loop over it yourself without trial.prepare.",
        )
    source = _source(data, collate_fn)
    if len(source) == 0:
        raise TrialError("data is empty.", "Pass at least one sample.")
    return source


def to_device(batch: MicroBatch, device: torch.device) -> MicroBatch:
    """`batch` with every tensor in it on `device`."""
    if device.type == "cpu":
        return batch
    if isinstance(batch, torch.Tensor):
        return batch.to(device, non_blocking=True)
    if isinstance(batch, dict):
        return {key: to_device(value, device) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(to_device(value, device) for value in batch))
    if isinstance(batch, list | tuple):
        return type(batch)(to_device(value, device) for value in batch)
    return batch


def call_with(function: Callable[..., Any], batch: MicroBatch) -> Any:
    """`function(*batch)` for tuples and lists, `function(batch)` for anything else."""
    return function(*batch) if isinstance(batch, list | tuple) else function(batch)


def _source(data: Any, collate_fn: Collate | None) -> DataSource:
    if collate_fn is None:
        if isinstance(data, torch.utils.data.TensorDataset):
            return TensorSource(tuple(data.tensors))
        parts = data if isinstance(data, tuple | list) else (data,)
        if parts and all(isinstance(part, torch.Tensor | np.ndarray) for part in parts):
            return TensorSource(_same_length([_tensor(part) for part in parts]))
    if not (hasattr(data, "__len__") and hasattr(data, "__getitem__")):
        raise TrialError(
            f"data is a {type(data).__name__}.",
            "Pass tensors, arrays, a tuple of them, or a data set with __len__ and __getitem__.",
        )
    return DatasetSource(data, collate_fn or torch.utils.data.default_collate)


def _tensor(part: torch.Tensor | np.ndarray[Any, Any]) -> torch.Tensor:
    return part if isinstance(part, torch.Tensor) else torch.as_tensor(np.ascontiguousarray(part))


def _same_length(tensors: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    lengths = [len(tensor) if tensor.dim() else 0 for tensor in tensors]
    if len(set(lengths)) > 1:
        raise TrialError(f"the parts of data have different lengths: {lengths}.", "Give every part one entry a sample.")
    return tuple(tensors)
