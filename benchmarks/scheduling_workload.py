"""The simulated workload of `benchmarks.scheduling`: recorded learning curves, lognormal epoch times, measured scaling.

Curves: `data/curves_mlp_digits_256x81.npz`, validation error of 256 perceptrons after 1..81 epochs. Speed-ups: step
times fitted on public throughput profiles. Those are not shipped: they are read from `../shared/data/scaling.json`
beside the repository, or from the file that SHOAL_SCALING names.
"""

from __future__ import annotations

import json
import os
import sys
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shoal.scheduler.port import NodeUp
from shoal.scheduler.simulator.step_time import speedups
from shoal.scheduler.simulator.workload import SimulatedStudy, SimulatedTrial, pool_of

HERE = Path(__file__).resolve().parent
CURVES = HERE / "data" / "curves_mlp_digits_256x81.npz"
SCALING = HERE.parent.parent / "shared" / "data" / "scaling.json"
GPUS_PER_NODE = 8
K_MAX = 32
WORTH_DOUBLING = 1.03
"""A trial's largest size is the last doubling that makes it at least this many times as fast."""

APPLICATIONS: dict[str, tuple[str, tuple[int, ...], int]] = {
    "mid": ("a100-dgx/imagenet", (400, 800, 1600, 3200), 800),
    "good": ("a100-dgx/cifar10", (2048, 4096, 8192, 16384), 4096),
    "poor": ("a100-dgx/bert", (48, 96, 192, 384), 48),
}
"""How well trials scale: (profile, global batch sizes, largest batch that fits one device)."""


@cache
def curves() -> NDArray[np.float32]:
    with np.load(CURVES) as stored:
        return np.asarray(stored["val_err"])


@cache
def scaling() -> dict[str, list[float]]:
    path = Path(os.environ.get("SHOAL_SCALING", SCALING))
    if not path.exists():
        sys.exit(
            f"{path} is missing: it holds the scaling profiles of this benchmark and is not part of the repository. "
            "Set SHOAL_SCALING to a file with the fitted step times of each application."
        )
    parsed: dict[str, list[float]] = json.loads(path.read_text())
    return parsed


@cache
def tables(application: str, global_batch: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """(inside one node, over several) speed-ups up to the last size that is worth it."""
    profile, _, largest = APPLICATIONS[application]

    def table(*, spread: bool) -> tuple[float, ...]:
        return speedups(
            scaling()[profile],
            global_batch,
            largest_local_batch=largest,
            gpus_per_node=GPUS_PER_NODE,
            k_max=K_MAX,
            spread=spread,
        )

    inside = table(spread=False)
    sizes = len(inside)
    while sizes > 1 and inside[sizes - 1] < WORTH_DOUBLING * inside[sizes - 2]:
        sizes -= 1
    return inside[:sizes], table(spread=True)[:sizes]


def study(
    seed: int,
    *,
    trials: int = 256,
    application: str = "mid",
    mean_epoch_s: float = 60.0,
    sigma: float = 0.5,
    rule: Literal["promote", "stop"] = "promote",
    name: str = "study",
    arrive_s: float = 0.0,
    tells_speed: bool = True,
) -> SimulatedStudy:
    """One study: curves in random order, lognormal epoch times of the given mean, batch sizes drawn per trial."""
    random = np.random.default_rng(seed)
    order = random.permutation(len(curves()))[:trials]
    _, batches, _ = APPLICATIONS[application]
    made = []
    for number, index in enumerate(order):
        inside, across = tables(application, int(random.choice(batches)))
        epoch_s = float(mean_epoch_s * np.exp(random.normal(0, sigma) - sigma * sigma / 2))
        made.append(
            SimulatedTrial(
                number=number,
                curve=tuple(curves()[index].tolist()),
                epoch_s=epoch_s,
                speedups=inside,
                speedups_across=across,
            )
        )
    return SimulatedStudy(name=name, trials=made, rule=rule, arrive_s=arrive_s, tells_speed=tells_speed)


def six_studies(seed: int, *, rule: Literal["promote", "stop"], span_s: float = 3000.0) -> list[SimulatedStudy]:
    """Six studies of mixed sizes; the first at once, the others at random within `span_s`."""
    random = np.random.default_rng(seed)
    studies = []
    for index in range(6):
        trials = int(random.choice([32, 81, 128, 256]))
        application = str(random.choice(["mid", "good", "poor"]))
        mean = float(random.choice([30.0, 60.0, 120.0]))
        arrive = 0.0 if index == 0 else float(random.uniform(0, span_s))
        studies.append(
            study(
                seed * 100 + index,
                trials=trials,
                application=application,
                mean_epoch_s=mean,
                rule=rule,
                name=f"study{index}",
                arrive_s=arrive,
            )
        )
    return studies


def nodes(num_gpus: int) -> list[NodeUp]:
    """A pool of eight-GPU nodes, the last one smaller if it must be."""
    return pool_of(num_gpus, GPUS_PER_NODE)
