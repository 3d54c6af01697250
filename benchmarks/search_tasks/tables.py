"""Tasks that look a training up: NAS-Bench-201, FCNet (HPOLib) and the MLPs of HPOBench.

Every configuration was trained with several seeds: a report is one of them at random, the truth is their mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from shoal.spaces import Categorical, Configuration, Int, Ordinal, Space

from .data import document, table
from .task import Task

OPERATIONS = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
UNITS = (16, 32, 64, 128, 256, 512)
FCNET = Space(
    activation_fn_1=Categorical(["relu", "tanh"]),
    activation_fn_2=Categorical(["relu", "tanh"]),
    batch_size=Ordinal([8, 16, 32, 64]),
    dropout_1=Ordinal([0.0, 0.3, 0.6]),
    dropout_2=Ordinal([0.0, 0.3, 0.6]),
    init_lr=Ordinal([5e-4, 1e-3, 5e-3, 1e-2, 5e-2, 1e-1]),
    lr_schedule=Categorical(["cosine", "const"]),
    n_units_1=Ordinal(UNITS),
    n_units_2=Ordinal(UNITS),
)
CELL = Space(**{f"op_{edge}": Categorical(OPERATIONS) for edge in range(6)})
PERCEPTRON = Space(
    alpha=Int(0, 9), batch_size=Int(0, 9), depth=Int(0, 2), learning_rate_init=Int(0, 9), width=Int(0, 9)
)


def nas_bench_201(dataset: str) -> Task:
    """All 15,625 cells; the loss is minus the validation accuracy in percent."""
    return looked_up(f"nb201_{dataset}", CELL, -accuracies(dataset), *reference(f"nb201_{dataset}"))


def accuracies(dataset: str) -> np.ndarray:
    """Validation accuracies of NAS-Bench-201 in percent, shape (cells, seeds), NaN where a seed is missing."""
    return table("nb201.npz")[f"{dataset}_acc"]


def fcnet(dataset: str) -> Task:
    """62,208 two-layer networks; the loss is the logarithm of the validation error."""
    errors = table("hpolib.npz")[f"{dataset}_y"]
    return looked_up(f"fcnet_{dataset}", FCNET, np.log(errors), *reference(f"fcnet_{dataset}"))


def perceptron(dataset: str) -> Task:
    """30,000 MLPs on a grid; the loss is minus the validation accuracy."""
    scores = table("hpobench.npz")[f"{dataset}_y"]
    return looked_up(f"nn_{dataset}", PERCEPTRON, -scores, *reference(f"nn_{dataset}"))


def looked_up(name: str, space: Space, losses: np.ndarray, best: float, median: float) -> Task:
    """A task over a table of shape (configurations, seeds), NaN where a seed is missing.

    Rows are in the order of the space's own grid: the last parameter varies fastest.
    """
    domains = [decision.domain for decision in space.all_decisions()]
    shape = tuple(domain.points(1).count for domain in domains)
    means = np.nanmean(losses, axis=1)

    def row(config: Configuration) -> int:
        places = [decision.domain.place(value) for decision, value in space.decisions_of(config)]
        return int(np.ravel_multi_index(places, shape))

    def noisy(config: Configuration, rng: np.random.Generator) -> float:
        seen = losses[row(config)]
        seen = np.sort(seen[~np.isnan(seen)])
        return float(seen[rng.integers(len(seen))])

    def true(config: Configuration) -> float:
        return float(means[row(config)])

    return Task(name=name, space=space, noisy=noisy, true=true, best=best, median=median)


def reference(name: str) -> Sequence[float]:
    """The best known loss of a task and the median of random configurations."""
    found: Sequence[float] = document("refs.json")[name]
    return found


Maker = Callable[[], Task]
