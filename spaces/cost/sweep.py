"""Peak memory of one training step, from a trace of its forward pass: a sweep forwards, then in reverse.

Forward, an operation needs what was saved up to it, its inputs and its outputs. In reverse, it needs what was saved up
to it, the gradients of its outputs, those of its inputs, whatever gradients wait for an earlier operation (the skip
connections of a residual block), and the parameter gradients of all operations behind it. Storages count once however
many tensors look at them. The optimizer's step needs all gradients and its own temporaries.

Left out: buffers inside a convolution library, and fragmentation. On a CPU they are under 2 % of a step that takes more
than 100 MiB; on a GPU see `gpu_margin_bytes`.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from .records import Operation, Trace

OptimizerName: TypeAlias = Literal["sgd", "momentum", "adam"]
_STATE_COPIES = {"sgd": 0, "momentum": 1, "adam": 2}
_STEP_COPIES = {"sgd": 0, "momentum": 0, "adam": 2}  # temporaries of the single-tensor step, in largest parameters


def peak_bytes(trace: Trace, *, batch: int, optimizer: OptimizerName) -> int:
    """Peak bytes of a training step.

    Args:
        trace: the forward pass, at any batch size.
        batch: the batch size wanted; activations scale with it.
        optimizer: "sgd" without momentum, "momentum", or "adam" (also AdamW).
    """
    scale = batch / trace.batch
    parameters = sum(trace.parameter_sizes.values())
    static = trace.fixed_bytes + parameters * _STATE_COPIES[optimizer] + trace.input_bytes * scale
    largest = max(trace.parameter_sizes.values(), default=0)
    step = static + parameters + _STEP_COPIES[optimizer] * largest
    sweep = _Sweep(trace, scale)
    return round(max(static + sweep.forward(), static + sweep.reverse(), step))


def gpu_margin_bytes(peak: int) -> int:
    """What to add on a GPU until peaks have been measured: max(15 %, 600 MiB) for context, libraries, fragmentation."""
    return max(round(0.15 * peak), 600 * 2**20)


class _Buffer:
    """The memory of one gradient; several tensors may share it."""

    __slots__ = ("size",)

    def __init__(self, size: float) -> None:
        self.size = size


class _Sweep:
    def __init__(self, trace: Trace, scale: float) -> None:
        self._operations = trace.operations
        self._parameter_sizes = trace.parameter_sizes
        self._sizes = {key: size * scale for key, size in trace.sizes.items()}
        self._produced = {key for operation in trace.operations for key in operation.outputs}
        self._first_saved: dict[int, int] = {}
        for index, operation in enumerate(trace.operations):
            for key in operation.saved:
                self._first_saved.setdefault(key, index)

    def forward(self) -> float:
        """Peak over the forward pass, static memory aside."""
        saved: set[int] = set()
        peak = held = 0.0
        for operation in self._operations:
            new = (set(operation.saved) & self._produced) - saved
            saved |= new
            held += sum(self._sizes[key] for key in new)
            working = ({*operation.inputs, *operation.outputs} & self._produced) - saved
            peak = max(peak, held + sum(self._sizes[key] for key in working))
        return peak

    def reverse(self) -> float:
        """Peak over the backward pass, static memory aside."""
        saved = sum(self._sizes[key] for key in self._first_saved if key in self._produced)
        parameter_gradients = 0.0
        waiting: dict[int, _Buffer] = {}
        if self._operations:
            waiting = {key: _Buffer(self._sizes[key]) for key in self._operations[-1].outputs[:1]}
        peak = saved + _alive(waiting)
        for index in range(len(self._operations) - 1, -1, -1):
            operation = self._operations[index]
            incoming = [waiting[key] for key in operation.outputs if key in waiting]
            if incoming:
                parameter_gradients += sum(self._parameter_sizes[key] for key in operation.parameters)
                arriving = self._arriving(operation, incoming[0])
                peak = max(peak, saved + parameter_gradients + _alive(waiting, *arriving.values()))
                for key in operation.outputs:
                    waiting.pop(key, None)
                for key, buffer in arriving.items():
                    present = waiting.get(key)
                    waiting[key] = buffer
                    if present is not None:  # a second consumer of the same tensor: the two are summed into a third
                        total = _Buffer(self._sizes[key])
                        peak = max(peak, saved + parameter_gradients + _alive(waiting, present, total))
                        waiting[key] = total
            freed = (key for key in operation.saved if self._first_saved[key] == index and key in self._produced)
            saved -= sum(self._sizes[key] for key in freed)
        return peak

    def _arriving(self, operation: Operation, incoming: _Buffer) -> dict[int, _Buffer]:
        """The gradients that the backward of an operation hands to its inputs."""
        inputs = [key for key in operation.inputs if key in self._produced]
        if operation.gradient == "new" or operation.in_place:
            return {key: _Buffer(self._sizes[key]) for key in inputs}
        return dict.fromkeys(inputs, incoming)


def _alive(waiting: dict[int, _Buffer], *more: _Buffer) -> float:
    return sum({id(buffer): buffer.size for buffer in (*waiting.values(), *more)}.values())
