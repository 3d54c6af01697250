"""State as plain data: what a checkpoint may hold and what loading it can never execute.

Numbers, strings, None, and lists and dicts of them stay; other containers and numpy arrays are written with a tag,
tensors are laid aside and numbered. Everything else is refused when it is saved, because only unpickling could bring it
back.
"""

from __future__ import annotations

import base64
import sys
from collections import Counter, OrderedDict, deque
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import TrialError

if TYPE_CHECKING:
    import torch

State = Any  # a state_dict, or the JSON value that stands for it: the one named boundary where the type is open

_TAG = "$shoal"
_PLAIN_TYPES = frozenset({type(None), bool, int, float, str})


def to_plain(state: State, where: str, tensors: list[torch.Tensor]) -> State:
    """`state` as a JSON value; its tensors are appended to `tensors`, `where` names it in messages.

    >>> to_plain({"milestones": (1, 2)}, "scheduler", [])
    {'milestones': {'$shoal': 'tuple', 'items': [1, 2]}}

    Raises:
        TrialError: something in it is not plain.
    """
    if type(state) in _PLAIN_TYPES:
        return state
    if isinstance(state, list):
        return _items_to_plain(state, where, tensors)
    if isinstance(state, dict):
        return _dict_to_plain(state, where, tensors)
    if isinstance(state, tuple | set | frozenset):
        tag = next(name for kind, name in _SEQUENCES.items() if isinstance(state, kind))
        return {_TAG: tag, "items": _items_to_plain(state, where, tensors)}
    if isinstance(state, deque):
        return {_TAG: "deque", "items": [to_plain(item, where, tensors) for item in state], "maxlen": state.maxlen}
    if isinstance(state, bytes):
        return {_TAG: "bytes", "base64": base64.b64encode(state).decode()}
    if "torch" in sys.modules:
        import torch

        if isinstance(state, torch.Tensor) and state.layout == torch.strided and not state.is_quantized:
            tensors.append(state)
            return {_TAG: "tensor", "index": len(tensors) - 1}
    if "numpy" in sys.modules:
        import numpy as np

        if isinstance(state, np.ndarray | np.generic) and not state.dtype.hasobject:
            tag = "array" if isinstance(state, np.ndarray) else "scalar"
            body = base64.b64encode(np.ascontiguousarray(state).tobytes()).decode()
            return {_TAG: tag, "dtype": state.dtype.str, "shape": list(state.shape), "base64": body}
    if isinstance(state, bool | int | float | str):
        return next(kind(state) for kind in (bool, int, float, str) if isinstance(state, kind))
    raise TrialError(
        f"the state of {where} holds a {type(state).__name__}, which a checkpoint cannot keep as plain data.",
        "Leave it out of state_dict, or keep it with trial.save(...) and trial.load().",
    )


def _items_to_plain(items: Collection[State], where: str, tensors: list[torch.Tensor]) -> list[State]:
    if _PLAIN_TYPES.issuperset(map(type, items)):  # the 625 numbers of a random generator, in every checkpoint
        return list(items)
    return [to_plain(item, where, tensors) for item in items]


def from_plain(state: State, tensors: Sequence[torch.Tensor] = ()) -> State:
    """The inverse of `to_plain`."""
    if isinstance(state, list):
        return [from_plain(item, tensors) for item in state]
    if not isinstance(state, dict):
        return state
    tag = state.get(_TAG)
    if tag is None:
        return {key: from_plain(value, tensors) for key, value in state.items()}
    if tag in _DICTS:
        return _DICTS[tag]((from_plain(key, tensors), from_plain(value, tensors)) for key, value in state["pairs"])
    if tag in _BY_NAME:
        return _BY_NAME[tag](from_plain(item, tensors) for item in state["items"])
    if tag == "deque":
        return deque((from_plain(item, tensors) for item in state["items"]), maxlen=state["maxlen"])
    if tag == "tensor":
        return tensors[state["index"]]
    body = base64.b64decode(state["base64"])
    if tag == "bytes":
        return body
    import numpy as np

    array = np.frombuffer(body, dtype=np.dtype(state["dtype"])).reshape(state["shape"]).copy()
    return array if tag == "array" else array[()]


_SEQUENCES: dict[type, str] = {tuple: "tuple", set: "set", frozenset: "frozenset"}
_BY_NAME: dict[str, Any] = {name: kind for kind, name in _SEQUENCES.items()}


def _counter(pairs: Any) -> Counter[Any]:
    return Counter(dict(pairs))


_DICTS: dict[str, Any] = {"dict": dict, "OrderedDict": OrderedDict, "Counter": _counter}


def _dict_to_plain(state: dict[Any, Any], where: str, tensors: list[torch.Tensor]) -> State:
    kind = "Counter" if isinstance(state, Counter) else "OrderedDict" if isinstance(state, OrderedDict) else "dict"
    if kind == "dict" and all(type(key) is str for key in state) and _TAG not in state:
        return {key: to_plain(value, where, tensors) for key, value in state.items()}
    pairs = [[to_plain(key, where, tensors), to_plain(value, where, tensors)] for key, value in state.items()]
    return {_TAG: kind, "pairs": pairs}
