"""One forward pass on the meta device, where tensors have shapes and no memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from .operators import Cost, batch_norm, convolution_direct, elementwise, fully_connected, pooling, reduction
from .records import Gradient, Operation, Trace

_NOTHING = Cost(0, 0)
_SHARED = {"add", "add_", "sub"}
_VIEWS = {
    "cat", "stack", "view", "_unsafe_view", "expand", "permute", "transpose", "t", "unsqueeze", "squeeze", "slice",
    "select", "split", "unbind", "alias", "detach", "as_strided", "flatten", "chunk",
}  # fmt: skip
_BATCH_NORMS = {"native_batch_norm", "_native_batch_norm_legit"}
_REDUCTIONS = {"mean", "sum", "_adaptive_avg_pool2d", "amax", "var_mean"}


def trace(network: nn.Module, input_shape: Sequence[int], batch: int) -> Trace:
    """Run `network`, which is on the meta device, forward on a batch, in training mode.

    Args:
        network: the module, its parameters on the meta device.
        input_shape: one sample without the batch.
        batch: samples, >= 1.
    """
    fixed = {_key(tensor): _bytes(tensor) for tensor in (*network.parameters(), *network.buffers())}
    recorder = _Recorder(network)
    inputs = torch.empty(batch, *input_shape, device="meta")
    network.train()
    with torch.autograd.graph.saved_tensors_hooks(recorder.save, _unchanged), recorder:
        network(inputs)
    return Trace(
        batch=batch,
        parameters=sum(parameter.numel() for parameter in network.parameters()),
        sizes=recorder.sizes,
        parameter_sizes={_key(parameter): _bytes(parameter) for parameter in network.parameters()},
        fixed_bytes=sum(fixed.values()),
        input_bytes=_bytes(inputs),
        operations=recorder.operations(),
        depth=max(recorder.depths.values(), default=0),
    )


class _Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Sees every operation below autograd, and (through `save`) what autograd keeps for the backward pass.

    Autograd saves inputs just before an operation and outputs just after, so what is saved between two operations is
    told apart by whether the earlier one wrote it.
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.sizes: dict[int, int] = {}
        self.depths: dict[int, int] = {}
        self._parameters = {_key(parameter) for parameter in network.parameters()}
        self._buffers = {_key(buffer) for buffer in network.buffers()}
        self._rows: list[dict[str, Any]] = []
        self._pending: list[int] = []
        self._alive: list[Tensor] = []  # meta tensors cost nothing, and a storage that lives keeps its identity

    def save(self, tensor: Tensor) -> Tensor:
        """The pack hook."""
        key = _key(tensor)
        self.sizes.setdefault(key, _bytes(tensor))
        self._alive.append(tensor)
        if key not in self._parameters and key not in self._buffers:
            if self._rows and key in self._rows[-1]["outputs"]:
                self._rows[-1]["saved"].append(key)
            else:
                self._pending.append(key)
        return tensor

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func._schema.name.partition("::")[2]
        result = _batch_norm_shapes(args[0]) if name in _BATCH_NORMS else func(*args, **(kwargs or {}))
        taken, given = list(_tensors(args)), list(_tensors(result))
        self._alive += [*taken, *given]
        if not any(tensor.is_floating_point() for tensor in given):
            return result
        outputs = [_key(tensor) for tensor in given]
        for tensor in (*taken, *given):
            self.sizes.setdefault(_key(tensor), _bytes(tensor))
        cost = operation_cost(name, args, given)
        inputs = [_key(tensor) for tensor in taken if tensor.is_floating_point()]
        deepest = max((self.depths.get(key, 0) for key in inputs), default=0)
        for key in outputs:
            self.depths[key] = max(self.depths.get(key, 0), deepest + cost.depth)
        self._rows.append(
            {
                "inputs": [key for key in inputs if key not in self._parameters and key not in self._buffers],
                "parameters": [key for key in inputs if key in self._parameters],
                "outputs": outputs,
                "saved": self._pending,
                "gradient": _gradient(name),
                "in_place": name.endswith("_") and outputs[0] in inputs,
                "cost": cost,
            }
        )
        self._pending = []
        return result

    def operations(self) -> tuple[Operation, ...]:
        """Everything seen."""
        if self._rows:
            self._rows[-1]["saved"] += self._pending
        return tuple(
            Operation(
                inputs=tuple(dict.fromkeys(row["inputs"])),
                parameters=tuple(dict.fromkeys(row["parameters"])),
                outputs=tuple(dict.fromkeys(row["outputs"])),
                saved=tuple(dict.fromkeys(row["saved"])),
                gradient=row["gradient"],
                in_place=row["in_place"],
                cost=row["cost"],
            )
            for row in self._rows
        )


def operation_cost(name: str, args: Sequence[Any], outputs: Sequence[Tensor]) -> Cost:
    """Work and depth of an aten operation from its arguments' shapes."""
    out = outputs[0]
    if name == "convolution":
        weight = args[1]  # (Cout, Cin of one group, Ky, Kx)
        return convolution_direct(
            out.shape[0], weight.shape[1], weight.shape[0], prod(out.shape[2:]), prod(weight.shape[3:]), weight.shape[2]
        )
    if name in {"mm", "addmm", "bmm", "baddbmm"}:
        left, right = (args[1], args[2]) if name in {"addmm", "baddbmm"} else (args[0], args[1])
        return fully_connected(left.numel() // left.shape[-1], left.shape[-1], right.shape[-1])
    if "batch_norm" in name:
        return batch_norm(out.shape[0], out.shape[1], prod(out.shape[2:]))
    if name in {"max_pool2d_with_indices", "avg_pool2d"}:
        ky, kx = (args[1] * 2)[:2]
        return pooling(out.shape[0], out.shape[1], prod(out.shape[2:]), kx, ky)
    if "scaled_dot_product" in name:
        return _attention(args[0], args[1])
    if name in _REDUCTIONS:
        return reduction(args[0].numel(), out.numel())
    if name in _VIEWS or name in {"empty_like", "zeros", "new_zeros", "copy_", "clone", "_to_copy"}:
        return _NOTHING
    return elementwise(out.numel())


def _batch_norm_shapes(inputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """What batch norm returns. On the meta device PyTorch composes it of a dozen Python functions, which take four
    fifths of the whole estimate of a DenseNet."""
    return torch.empty_like(inputs), inputs.new_empty(inputs.shape[1]), inputs.new_empty(inputs.shape[1])


def _attention(query: Tensor, key: Tensor) -> Cost:
    """Two products of tokens by tokens, a softmax between; (batch, heads, tokens, width)."""
    tokens, width = key.shape[-2], query.shape[-1]
    rows = query.numel() // width
    scores, mixed = fully_connected(rows, width, tokens), fully_connected(rows, tokens, width)
    softmax_depth = 2 + reduction(rows * tokens, rows).depth
    work = scores.work + mixed.work + 3 * rows * tokens
    return Cost(work, scores.depth + softmax_depth + mixed.depth, scores.macs + mixed.macs)


def _gradient(name: str) -> Gradient:
    return "shared" if name in _SHARED else "view" if name in _VIEWS else "new"


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)


def _key(tensor: Tensor) -> int:
    key: int = tensor.untyped_storage()._cdata
    return key


def _bytes(tensor: Tensor) -> int:
    return tensor.untyped_storage().nbytes()


def _unchanged(tensor: Tensor) -> Tensor:
    return tensor
