"""Tasks with a loss after every epoch: LCBench surrogates and recorded TaskSet trainings.

For rules that stop early. The five of `CURVES` are for tuning, with recorded anchors; any other instance of LCBench and
any other task of TaskSet can be named too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from shoal.spaces import Configuration, Float, Space

from .data import document, session, table
from .surrogates import CATEGORICAL, NUMERIC, by_name, space_of
from .tables import reference

CURVES = (
    "lc_167168",
    "lc_189906",
    "ts_patch128_LSTM128_bs64",
    "ts_patch32_GRU128_bs128",
    "ts_patch32_IRNN64_relu_last_bs128",
)
WORST = 2.0
"""TaskSet losses are cut here; diverged trainings get it."""
BOUNDS = {
    "learning_rate": (1e-8, 10.0),
    "beta1": (1e-4, 1.0),
    "beta2": (1e-6, 1.0),
    "epsilon": (1e-10, 1e3),
    "l1": (1e-8, 10.0),
    "l2": (1e-8, 10.0),
    "linear_decay": (1e-7, 1e-4),
    "exponential_decay": (1e-6, 1e-3),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveTask:
    """Losses after epochs 1, 2, ..., `epochs`, to minimise. `best` and `median` as in `Task`."""

    name: str
    space: Space
    epochs: int
    curve: Callable[[Configuration], np.ndarray]
    best: float
    median: float

    def regret(self, loss: float) -> float:
        """0 at the best known loss, 1 at the median of random configurations trained in full."""
        return max(0.0, loss - self.best) / (self.median - self.best)


@cache
def curve_task(name: str) -> CurveTask:
    """`lc_<OpenML id>` or `ts_<TaskSet task>`, made once."""
    return lcbench_curves(name[3:]) if name.startswith("lc_") else taskset_curves(name[3:])


def lcbench_curves(instance: str) -> CurveTask:
    """Neural networks over 52 epochs; the loss is 100 minus the validation accuracy."""
    best, median = reference(f"lcbench_{instance}")
    number = document("yahpo/lcbench/encoding.json")[CATEGORICAL["lcbench"][0]][instance]
    categories = np.full((52, 1), number, dtype=np.int32)

    def curve(config: Configuration) -> np.ndarray:
        values = by_name(config)
        rows = [[epoch if n == "epoch" else values[n] for n in NUMERIC["lcbench"]] for epoch in range(1, 53)]
        model = session("lcbench")
        inputs = [tensor.name for tensor in model.get_inputs()]
        outputs = model.run(None, {inputs[0]: categories, inputs[1]: np.array(rows, dtype=np.float32)})[0]
        return np.asarray(100.0 - outputs[:, 1], dtype=float)

    return CurveTask(
        name=f"lc_{instance}", space=space_of("lcbench"), epochs=52, curve=curve, best=best, median=median
    )


def taskset_curves(name: str) -> CurveTask:
    """Adam with eight settings on a recurrent network over text, 1,000 recorded trainings: a configuration has the
    curve of the nearest recorded one."""
    recorded = table("taskset.npz")
    losses = np.nan_to_num(np.minimum(recorded[name][:, 1:].astype(float), WORST), nan=WORST, posinf=WORST)
    settings = recorded["X"].copy()
    names = [str(setting) for setting in recorded["hp"]]
    for column, setting in enumerate(names):
        if setting.startswith("beta"):
            settings[:, column] = 1.0 - settings[:, column]
    space = Space(**{setting: Float(*BOUNDS[setting], log=True) for setting in names})
    lows, highs = (np.log([BOUNDS[setting][side] for setting in names]) for side in (0, 1))
    places = (np.log(settings) - lows) / (highs - lows)

    def curve(config: Configuration) -> np.ndarray:
        place = (np.log([config[setting] for setting in names]) - lows) / (highs - lows)
        return np.asarray(losses[np.argmin(((places - place) ** 2).sum(axis=1))])

    return CurveTask(
        name=f"ts_{name}", space=space, epochs=losses.shape[1], curve=curve, best=float(losses.min()),
        median=float(np.median(losses[:, -1])),
    )  # fmt: skip
