"""The numbers a trial reports."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

from ..errors import TrialError
from .group import Group


def as_number(name: str, value: object) -> float:
    """A Python, numpy or one-element tensor number as a float; NaN and infinities pass.

    >>> as_number("loss", 3)
    3.0

    Raises:
        TrialError: it is none of these.
    """
    if isinstance(value, Real):  # bool, int, float, numpy scalars
        return float(value)
    size = getattr(value, "size", None)
    elements = value.numel() if hasattr(value, "numel") else size
    if elements == 1 and hasattr(value, "item"):
        number = value.item()
        if isinstance(number, Real):
            return float(number)
    text = repr(value)
    shown = text if len(text) <= 60 else text[:59] + "…"
    shape = f" of shape {tuple(value.shape)}" if hasattr(value, "shape") else ""
    raise TrialError(
        f"metric {name!r} is {shown} ({type(value).__name__}{shape}), not a number.",
        f"Report one number: trial.report({name}=float(...)).",
    )


class EpochMeans:
    """Means over an epoch, kept as sums by weight so that they add up across batches and workers."""

    def __init__(self) -> None:
        self._sums: dict[str, tuple[Any, Any]] = {}  # name → (sum of value * weight, sum of weight); numbers or tensors

    def add(self, name: str, value: Any, weight: Any) -> None:
        """Tensors stay where they are: nothing waits for a device here."""
        value = _detached(name, value)
        weight = _detached(name, weight)
        total, weights = self._sums.get(name, (0.0, 0.0))
        self._sums[name] = total + value * weight, weights + weight

    def set(self, name: str, total: float, weight: float) -> None:
        """Go on from these sums."""
        self._sums[name] = total, weight

    def names(self) -> list[str]:
        return list(self._sums)

    def sums(self) -> Mapping[str, tuple[float, float]]:
        return {name: (float(total), float(weights)) for name, (total, weights) in self._sums.items()}

    def over_workers(self, group: Group) -> dict[str, float]:
        """The means over all workers' sums, which are forgotten; NaN where the weights add up to 0."""
        sums = self.sums()
        self.clear()
        if group.world_size > 1 and sums:
            import torch

            from .flats import Flats

            def work() -> list[torch.Tensor]:
                flat = torch.tensor([part for pair in sums.values() for part in pair], dtype=torch.float64)
                group.tree_sum(Flats.of(flat))
                return [flat]

            parts = iter(group.together(work)[0].tolist())
            sums = {name: (next(parts), next(parts)) for name in sums}
        return {name: total / weight if weight else float("nan") for name, (total, weight) in sums.items()}

    def clear(self) -> None:
        self._sums.clear()


def _detached(name: str, value: Any) -> Any:
    """`value` in double precision, cut off from autograd."""
    if hasattr(value, "detach") and value.numel() == 1:
        return value.detach().reshape(()).double()
    return as_number(name, value)
