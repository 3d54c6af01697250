"""How many data-parallel workers to start with, before anything was measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log2


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What the estimate knows of the devices.

    Attributes:
        flop_per_s: peak of one device.
        efficiency: the share of the peak that training reaches.
        bandwidth_bytes_per_s: between devices.
        latency_s: of one message.
    """

    flop_per_s: float
    efficiency: float = 0.4
    bandwidth_bytes_per_s: float = 10e9
    latency_s: float = 20e-6


def step_time_s(machine: Machine, *, flop_per_sample: float, batch: int, gradient_bytes: int, workers: int) -> float:
    """Compute, ring all-reduce, and its latency: W(B/p) / (F·efficiency) + 2(p - 1)/p · G/bandwidth + 2·latency·log2 p.

    Args:
        machine: the devices.
        flop_per_sample: of a training step.
        batch: B, of all workers together.
        gradient_bytes: G, what is exchanged in a step.
        workers: p, >= 1.
    """
    compute = flop_per_sample * batch / workers / (machine.flop_per_s * machine.efficiency)
    exchange = 2 * (workers - 1) / workers * gradient_bytes / machine.bandwidth_bytes_per_s
    return compute + exchange + 2 * machine.latency_s * log2(workers)


def best_workers(
    machine: Machine,
    *,
    flop_per_sample: float,
    batch: int,
    gradient_bytes: int,
    most: int,
    fits: Callable[[int], bool] = lambda local_batch: True,
    least_efficiency: float = 0.7,
) -> int:
    """The largest power of two p <= `most` with T(1) / (p·T(p)) >= `least_efficiency` whose share of the batch fits.

    Args:
        machine: the devices.
        flop_per_sample: of a training step.
        batch: of all workers together.
        gradient_bytes: what is exchanged in a step.
        most: the most workers allowed.
        fits: whether a worker with so many samples fits its device.
        least_efficiency: 0.7 keeps at least 70 % of every added device.

    Returns:
        The count; when no count that is efficient fits, the smallest that fits; 0 when none does.
    """

    def time_s(workers: int) -> float:
        return step_time_s(
            machine, flop_per_sample=flop_per_sample, batch=batch, gradient_bytes=gradient_bytes, workers=workers
        )

    counts = [1 << power for power in range(most.bit_length()) if 1 << power <= min(most, batch)]
    fitting = [workers for workers in counts if fits(-(-batch // workers))]
    efficient = [p for p in fitting if time_s(1) / (p * time_s(p)) >= least_efficiency]
    return max(efficient, default=min(fitting, default=0))
