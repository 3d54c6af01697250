"""What `trial.prepare` is given, checked and kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import TrialError
from .trial_state import TrialState

if TYPE_CHECKING:
    import torch

COMM_HOOKS = ("fp16", "powersgd")
"""torch's communication hooks that work over gloo too."""


def keep(state: TrialState, role: str, given: Any) -> list[Any]:
    """Register one object or several, named by role and place; they as a list."""
    if isinstance(given, Mapping):
        named = {f"{role}.{key}": one for key, one in given.items()}
    elif isinstance(given, Sequence):
        named = {f"{role}[{place}]": one for place, one in enumerate(given)}
    else:
        named = {role: given}
    for name, one in named.items():
        if not state.holds(one):
            state.add(state.free_name(name), one)
    return list(named.values())


def require_modules(models: Sequence[object]) -> None:
    """Raises: TrialError: one of them is no torch module."""
    from torch import nn

    for model in models:
        if not isinstance(model, nn.Module):
            raise TrialError(
                f"prepare's model is a {type(model).__name__}, not a torch.nn.Module.",
                "The order is prepare(model, optimizer, data, batch_size=...).",
            )


def require_count(batch_size: object) -> None:
    """Raises: TrialError: it is no positive integer."""
    if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
        raise TrialError(f"batch_size={batch_size!r} is not a positive integer.", "Use e.g. batch_size=64.")


def require_hook(hook: str | None, *, exact: bool) -> None:
    """Raises: TrialError: there is no such hook, or an exact trial is given one."""
    if hook not in (None, *COMM_HOOKS):
        raise TrialError(
            f"comm_hook={hook!r} is none of {', '.join(COMM_HOOKS)}.", "Name one of these, or leave it out."
        )
    if hook is not None and exact:
        raise TrialError(f"comm_hook={hook!r} needs exact=False.", "Add exact=False, or leave the hook out.")


def data_device(state: TrialState) -> torch.device:
    """Where the prepared models are."""
    import torch

    parameters = (parameter for module in state.modules() for parameter in module.parameters())
    first = next(parameters, None)
    return torch.device("cpu") if first is None else first.device
