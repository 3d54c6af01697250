"""The whole prediction for a network or a configuration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...errors import SpaceError
from ..architecture import architecture_of, architecture_parts, is_importable_here
from ..configuration import Configuration
from .records import Trace
from .sweep import OptimizerName, gpu_margin_bytes, peak_bytes

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What a network costs; nothing was allocated or run to know it.

    Attributes:
        parameters: trainable numbers.
        macs: multiply-adds of one sample's forward pass (convolutions, matrix products).
        work: W of one sample's forward pass, all operators.
        depth: D of the forward pass, along the longest path of the graph.
        batch: samples of the trace.
        optimizer: whose state and step the memory includes.
        gradient_bytes: what workers exchange in a step.
    """

    parameters: int
    macs: int
    work: int
    depth: int
    batch: int
    optimizer: OptimizerName
    gradient_bytes: int
    _trace: Trace

    @property
    def average_parallelism(self) -> float:
        """W of the traced batch over D."""
        return self.work * self.batch / max(self.depth, 1)

    @property
    def memory_bytes(self) -> int:
        """Peak of a training step at `batch`, as the allocator sees it on a CPU."""
        return self.memory_at(self.batch)

    @property
    def training_flop(self) -> int:
        """Floating-point operations of one sample's training step: forward, and twice that backward; 2 per MAC.

        Derived from the forward count, because PyTorch's counter charges the weight gradient of a grouped convolution
        once per group.
        """
        return 6 * self.macs

    def memory_at(self, batch: int) -> int:
        """Peak bytes at another batch size."""
        return peak_bytes(self._trace, batch=batch, optimizer=self.optimizer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Whether a network fits a device, and what would.

    Attributes:
        fits: the verdict.
        needed_bytes: at the batch asked for, margin included.
        largest_batch: the largest batch up to the one asked for that fits; 0 when not even one sample does.
        reason: one line for people.
    """

    fits: bool
    needed_bytes: int
    largest_batch: int
    reason: str


def predict(
    network: Callable[[], nn.Module],
    input_shape: Sequence[int],
    *,
    batch: int = 32,
    optimizer: OptimizerName = "adam",
) -> Prediction:
    """Trace a network on the meta device.

    Args:
        network: makes the module; called under the meta device, so that no weight is allocated.
        input_shape: one sample without the batch.
        batch: samples, >= 2 (batch norm needs two).
        optimizer: whose memory to include.

    Raises:
        SpaceError: the network cannot be built or run on these shapes.
    """
    import torch

    from .trace import trace

    if batch < 2:
        raise SpaceError(f"batch={batch}: a training step is traced with at least 2 samples.", "Give batch >= 2.")
    try:
        with torch.device("meta"):
            module = network()
        traced = trace(module, input_shape, batch)
    except (RuntimeError, ValueError, NotImplementedError) as error:
        first_line = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise SpaceError(
            f"The network cannot run on a batch of {batch} x {tuple(input_shape)}: {first_line}",
            "Check the shapes, and that its forward does not depend on the values of tensors.",
        ) from error
    return Prediction(
        parameters=traced.parameters,
        macs=sum(operation.cost.macs for operation in traced.operations) // batch,
        work=sum(operation.cost.work for operation in traced.operations) // batch,
        depth=traced.depth,
        batch=batch,
        optimizer=optimizer,
        gradient_bytes=sum(traced.parameter_sizes.values()),
        _trace=traced,
    )


def predict_configuration(config: Configuration, *, batch: int = 32, optimizer: OptimizerName = "adam") -> Prediction:
    """The prediction for a configuration of an architecture, on the input that the study or else its class declares.

    Raises:
        SpaceError: the configuration is not one of an architecture, or does not build.
    """
    architecture = architecture_of(config.space)()
    family = config.space.architecture
    assert family is not None
    shape = family.input_shape or architecture.input_shape
    options = {} if family.input_shape is None else {"input_shape": shape, "in_channels": shape[0]}
    return predict(
        lambda: architecture.build(config, family.num_classes or architecture.num_classes, **options),
        shape,
        batch=batch,
        optimizer=optimizer,
    )


def fits(prediction: Prediction, *, batch: int, device_bytes: int, gpu: bool) -> Fit:
    """Whether a training step at `batch` fits a device; on a GPU a margin is added (see `gpu_margin_bytes`)."""

    def needed(samples: int) -> int:
        peak = prediction.memory_at(samples)
        return peak + (gpu_margin_bytes(peak) if gpu else 0)

    need = needed(batch)
    if need <= device_bytes:
        reason = f"needs {_gib(need)} of {_gib(device_bytes)}"
        return Fit(fits=True, needed_bytes=need, largest_batch=batch, reason=reason)
    low, high = 0, batch  # low fits (or is 0), high does not
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if needed(middle) <= device_bytes else (low, middle)
    advice = f"batch ≤ {low} fits" if low else "no batch fits"
    reason = f"needs {_gib(need)} at batch {batch}, the device has {_gib(device_bytes)}; {advice}"
    return Fit(fits=False, needed_bytes=need, largest_batch=low, reason=reason)


def why_infeasible(
    config: Configuration,
    *,
    device_bytes: int,
    gpu: bool,
    batch: int | None = None,
    optimizer: OptimizerName = "adam",
) -> str | None:
    """Why no training step of a configuration fits a device; None when it may, or when nothing can be said here.

    Args:
        config: any configuration; every architecture in it is predicted, unless only a worker may load its class, or it
            is one of shoal's families and the study did not say what it is fed.
        device_bytes: of the largest device.
        gpu: whether to add the margin of `gpu_margin_bytes`.
        batch: samples on the device; by default `config.batch_size`, else 32.
        optimizer: what to count for it; "adam" is the dearest.
    """
    samples = batch if batch is not None else config.get("batch_size", 32)
    for path, part in architecture_parts(config):
        name = path or "the architecture"
        family = part.space.architecture
        if family is not None and family.knows_its_input and is_importable_here(part.space):
            try:
                prediction = predict_configuration(part, batch=max(samples, 2), optimizer=optimizer)
            except SpaceError as error:
                return f"{name} cannot be built: {error.cause}"
            verdict = fits(prediction, batch=samples, device_bytes=device_bytes, gpu=gpu)
            if not verdict.fits:
                return f"{name} {verdict.reason}"
    return None


def _gib(count: int) -> str:
    return f"{count / 2**30:.1f} GiB"
