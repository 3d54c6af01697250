"""The objects whose state a trial keeps across pauses: models, optimizers, schedulers, and what else was registered."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

from ..errors import TrialError
from .inheriting import keeping_settings
from .plain_state import State, to_plain

if TYPE_CHECKING:
    import torch
    from torch import nn


class Stateful(Protocol):
    """Anything with torch's pair of state methods."""

    def state_dict(self) -> Any: ...

    def load_state_dict(self, state_dict: Any, /) -> Any: ...


class TrialState:
    """Named objects, captured and restored together, in the order of their names' first use."""

    def __init__(self) -> None:
        self._objects: dict[str, Stateful] = {}

    def __len__(self) -> int:
        return len(self._objects)

    def add(self, name: str, obj: Stateful) -> None:
        """Keep the state of `obj` under `name`.

        Raises:
            TrialError: it has no state methods, or the name belongs to another object.
        """
        if not (callable(getattr(obj, "state_dict", None)) and callable(getattr(obj, "load_state_dict", None))):
            raise TrialError(
                f"{name!r} is a {type(obj).__name__}, which lacks state_dict and load_state_dict.",
                "Give it both methods, or keep plain values with trial.save(...) and trial.load().",
            )
        if self._objects.get(name, obj) is not obj:
            raise TrialError(f"the name {name!r} is taken by another object.", "Register it under a name of its own.")
        self._objects[name] = obj

    def holds(self, obj: object) -> bool:
        return any(one is obj for one in self._objects.values())

    def free_name(self, name: str) -> str:
        """`name`, with a number where it is taken."""
        names = [name, *(f"{name} {count}" for count in range(2, len(self._objects) + 2))]
        return next(one for one in names if one not in self._objects)

    def modules(self) -> Iterator[nn.Module]:
        """The torch modules among the objects."""
        return filter(is_module, self._objects.values())

    def parameters(self) -> list[torch.Tensor]:
        """What is trained: the parameters of the modules, then those that only an optimizer knows; each once."""
        own = [parameter for module in self.modules() for parameter in module.parameters()]
        groups = [group for obj in self._objects.values() for group in getattr(obj, "param_groups", ())]
        extra = [parameter for group in groups for parameter in group["params"]]
        return list({id(parameter): parameter for parameter in [*own, *extra]}.values())

    def unregistered(self, variables: Mapping[str, object]) -> dict[str, object]:
        """Those of `variables` that have a state nobody keeps (parts of kept modules are kept)."""
        kept = {id(obj) for obj in self._objects.values()}
        kept |= {id(part) for module in self.modules() for part in module.modules()}
        found: dict[str, object] = {}
        for name, value in variables.items():
            if isinstance(value, type) or id(value) in kept or id(value) in map(id, found.values()):
                continue
            if hasattr(value, "load_state_dict") and callable(getattr(value, "state_dict", None)):
                if is_module(value) and not len(value.state_dict()):
                    continue  # a loss function or an activation: nothing to keep
                found[name] = value
        return found

    def capture(self, tensors: list[torch.Tensor]) -> State:
        """Everything, as plain data; the tensors, appended to `tensors`, are not copied."""
        return {name: to_plain(_state_of(obj), name, tensors) for name, obj in self._objects.items()}

    def restore(self, state: State, *, inherited: bool = False) -> None:
        """Give every object the state that `capture` took.

        Args:
            inherited: it is another trial's; learning rates and what else is a setting stays as it was built here.

        Raises:
            TrialError: the objects are not those of the checkpoint.
        """
        missing, new = sorted(state.keys() - self._objects.keys()), sorted(self._objects.keys() - state.keys())
        if missing or new:
            raise TrialError(
                f"the checkpoint does not fit this code: it also holds {missing}, and lacks {new}.",
                "Prepare and register the same objects as before the pause, before the first epoch.",
            )
        for name, obj in self._objects.items():
            try:
                with keeping_settings(obj) if inherited else nullcontext():
                    _load(obj, state[name])
            except (RuntimeError, ValueError, KeyError) as error:
                raise TrialError(
                    f"the state of {name!r} does not fit: {error}", "Build it as it was before the pause."
                ) from error


def is_module(obj: object) -> TypeGuard[nn.Module]:
    """Is it a torch module? Without torch loaded nothing is."""
    if "torch" not in sys.modules:
        return False
    from torch import nn

    return isinstance(obj, nn.Module)


def _state_of(obj: Any) -> State:
    if not is_module(obj):
        return obj.state_dict()
    weights = obj.state_dict()
    return {
        "state_dict": weights,
        "unsaved_buffers": {name: buffer for name, buffer in obj.named_buffers() if name not in weights},
        "training": {name: part.training for name, part in obj.named_modules()},
        "requires_grad": {name: p.requires_grad for name, p in obj.named_parameters()},
    }


def _load(obj: Any, state: State) -> None:
    if not is_module(obj):
        before = dict(obj.state) if hasattr(obj, "param_groups") else {}
        obj.load_state_dict(state)
        for parameter, kept in before.items():  # the same dicts: one that called the closure we are in holds its own
            loaded = obj.state.get(parameter, {})
            kept.clear()
            kept.update(loaded)
            obj.state[parameter] = kept
        return
    obj.load_state_dict(state["state_dict"])
    buffers = dict(obj.named_buffers())
    for name, value in state["unsaved_buffers"].items():
        if name in buffers:
            buffers[name].copy_(value)
    for name, part in obj.named_modules():
        part.training = state["training"].get(name, part.training)
    for name, parameter in obj.named_parameters():
        parameter.requires_grad_(state["requires_grad"].get(name, parameter.requires_grad))
