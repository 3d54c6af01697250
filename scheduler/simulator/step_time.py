"""Speed-ups from fitted step times (Qiao et al. 2021, "Pollux", section 3.2), at a fixed global batch."""

from __future__ import annotations

import math
from collections.abc import Sequence


def step_time_s(fit: Sequence[float], local_batch: float, *, workers: int, nodes: int) -> float:
    """Seconds of one step.

    Args:
        fit: logarithms of alpha_c, beta_c (computing), alpha_n, beta_n (between nodes), alpha_r, beta_r (inside a
            node), then p with gamma = 1 + 9 / (1 + exp(-p)).
        local_batch: samples a worker.
        workers: how many workers.
        nodes: over how many nodes.
    """
    alpha_c, beta_c, alpha_n, beta_n, alpha_r, beta_r = (math.exp(v) for v in fit[:6])
    gamma = 1 + 9 / (1 + math.exp(-fit[6]))
    computing = alpha_c + beta_c * local_batch
    beyond = max(workers - 2, 0)
    if workers == 1:
        exchanging = 0.0
    elif nodes > 1:
        exchanging = alpha_n + beta_n * beyond
    else:
        exchanging = alpha_r + beta_r * beyond
    return float((computing**gamma + exchanging**gamma) ** (1 / gamma))


def speedups(
    fit: Sequence[float], global_batch: int, *, largest_local_batch: int, gpus_per_node: int, k_max: int, spread: bool
) -> tuple[float, ...]:
    """Speed-ups of 1, 2, 4, ..., `k_max` workers at a fixed global batch.

    Where a worker's part exceeds `largest_local_batch` it accumulates gradients over several passes. `spread`: the
    workers sit on several nodes even where one could hold them.
    """

    def global_step_s(k: int) -> float:
        local = global_batch / k
        passes = max(1, math.ceil(local / largest_local_batch - 1e-9))
        nodes = math.ceil(k / gpus_per_node)
        if spread and k > 1:
            nodes = max(2, nodes)
        last = step_time_s(fit, local / passes, workers=k, nodes=nodes)
        return (passes - 1) * step_time_s(fit, local / passes, workers=1, nodes=1) + last

    sizes = [1 << i for i in range(k_max.bit_length())]
    return tuple(global_step_s(1) / global_step_s(k) for k in sizes)
