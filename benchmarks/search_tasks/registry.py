"""Every task by name."""

from __future__ import annotations

from functools import cache, partial

from .formulas import mixed_ackley, rastrigin, rosenbrock
from .surrogates import cash, lcbench, xgboost
from .tables import Maker, fcnet, nas_bench_201, perceptron
from .task import Task

SIX = ("ackleymix_10d", "cash_1501", "fcnet_slice_localization", "lcbench_189906", "nb201_cifar100", "xgb_1501")
TWELVE = (
    *SIX,
    "cash_14",
    "fcnet_protein_structure",
    "lcbench_167168",
    "nb201_imagenet",
    "rastrigin_d6",
    "rosen_d6",
)
SMOKE = ("nb201_cifar100", "fcnet_slice_localization", "cash_1501")
ASIDE = ("lcbench_189873", "nn_phoneme", "xgb_12", "xgb_40499")
"""Not in the six or twelve, without recorded anchors."""

MAKERS: dict[str, Maker] = {
    "ackleymix_10d": mixed_ackley,
    "rosen_d6": partial(rosenbrock, 6),
    "rastrigin_d6": partial(rastrigin, 6),
    "nn_phoneme": partial(perceptron, "phoneme"),
    **{f"nb201_{dataset}": partial(nas_bench_201, dataset) for dataset in ("cifar100", "imagenet")},
    **{f"fcnet_{dataset}": partial(fcnet, dataset) for dataset in ("slice_localization", "protein_structure")},
    **{f"lcbench_{instance}": partial(lcbench, instance) for instance in ("189906", "167168", "189873")},
    **{f"xgb_{instance}": partial(xgboost, instance) for instance in ("12", "40499", "1501")},
    **{f"cash_{instance}": partial(cash, instance) for instance in ("1501", "14")},
}


@cache
def task(name: str) -> Task:
    """The task of this name, made once."""
    return MAKERS[name]()
