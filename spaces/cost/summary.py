"""The predictions for a configuration in one plain object, for tables and `-o json`."""

from __future__ import annotations

from ..architecture import architecture_parts, is_importable_here
from ..configuration import Configuration
from ..values import Json
from .prediction import predict_configuration
from .sweep import OptimizerName
from .workers import Machine, best_workers

_MIB = 2**20


def summary(
    config: Configuration,
    *,
    machine: Machine,
    most_workers: int = 1,
    batch: int | None = None,
    optimizer: OptimizerName = "adam",
) -> list[dict[str, Json]]:
    """One object per architecture in a configuration; empty when there is none that may be loaded here.

    Args:
        config: any configuration.
        machine: for the best number of workers.
        most_workers: the most that are allowed.
        batch: of all workers together; by default `config.batch_size`, else 32.
        optimizer: what to count for it.

    Returns:
        Objects with `path`, `batch`, `parameters`, `macs`, `work`, `depth` (of one sample), `average_parallelism` (of
        the batch), `memory_mib` (of a training step on one device) and `workers`.

    Raises:
        SpaceError: a network cannot be built.
    """
    samples = batch if batch is not None else config.get("batch_size", 32)
    found: list[dict[str, Json]] = []
    for path, part in architecture_parts(config):
        if not is_importable_here(part.space):
            continue
        prediction = predict_configuration(part, batch=max(samples, 2), optimizer=optimizer)
        workers = best_workers(
            machine,
            flop_per_sample=prediction.training_flop,
            batch=samples,
            gradient_bytes=prediction.gradient_bytes,
            most=most_workers,
        )
        found.append(
            {
                "path": path,
                "batch": samples,
                "parameters": prediction.parameters,
                "macs": prediction.macs,
                "work": prediction.work,
                "depth": prediction.depth,
                "average_parallelism": round(prediction.average_parallelism),
                "memory_mib": round(prediction.memory_bytes / _MIB, 1),
                "workers": workers,
            }
        )
    return found
