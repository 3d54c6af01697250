"""What drawing from a space costs: a conditional one of 30 parameters with 5 rules, and the cells of NAS-Bench-201.

    python -m benchmarks.search_spaces --json

| key | meaning |
|---|---|
| `parameters`, `rules` | of the conditional space (paths of the unrolled space) |
| `sample_10000_s` | 10,000 valid configurations, s |
| `invalid_of_100000` | how many of 100,000 draws break a rule, checked in plain Python |
| `cells`, `cell_classes`, `cells_s` | cells, how many different keys they have, seconds to make and key all of them |
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np

from shoal.spaces import Categorical, Choice, Configuration, Float, Int, Ordinal, Repeat, Space, forbid, require
from shoal.spaces.architectures import Net201

SPACE = Space(
    lr=Float(1e-4, 1e-1, log=True),
    batch_size=Ordinal([32, 64, 128, 256]),
    weight_decay=Float(1e-6, 1e-2, log=True),
    warmup_epochs=Int(0, 10),
    label_smoothing=Float(0.0, 0.2, step=0.05),
    augment=Categorical(["none", "flip", "crop"]),
    clip_norm=Choice(off=None, on=Space(at=Float(0.1, 10.0, log=True))),
    optimizer=Choice(
        sgd=Space(momentum=Float(0.0, 0.99), nesterov=Categorical([True, False])),
        adam=Space(beta1=Float(0.8, 0.99), beta2=Float(0.9, 0.9999)),
    ),
    schedule=Choice(cosine=Space(cycles=Int(1, 5)), step=Space(gamma=Float(0.1, 0.9), every=Int(1, 20))),
    layers=Repeat(Space(width=Int(16, 256, log=True), op=Categorical(["conv", "separable", "pool"])), 1, 5),
    head=Space(width=Int(16, 128), dropout=Float(0.0, 0.5)),
    rules=[
        forbid(lambda s: (s.optimizer == "adam") & (s.lr > 0.03)),
        require(lambda s: s.layers.nondecreasing("width")),
        forbid(lambda s: (s.batch_size >= 128) & (s.lr < 3e-4)),
        require(lambda s: s.layers.sum("width") + s.head.width <= 900),
        forbid(lambda s: (s.schedule.every > 10) & (s.warmup_epochs > 5)),
    ],
)


def is_valid(config: Configuration) -> bool:
    """The five rules in plain Python."""
    widths = [layer.width for layer in config.layers]
    return (
        not (config.optimizer == "adam" and config.lr > 0.03)
        and widths == sorted(widths)
        and not (config.batch_size >= 128 and config.lr < 3e-4)
        and sum(widths) + config.head.width <= 900
        and not (config.schedule == "step" and config.schedule.every > 10 and config.warmup_epochs > 5)
    )


def measure() -> dict[str, Any]:
    """Everything that is printed."""
    rng = np.random.default_rng(0)
    started = time.perf_counter()
    for _ in range(10_000):
        SPACE.sample(rng)
    sampled = time.perf_counter()
    invalid = sum(not is_valid(SPACE.sample(rng)) for _ in range(100_000))
    cells_started = time.perf_counter()
    cells = Net201().space.nodes["cell"]
    assert isinstance(cells, Space)
    keys = [config.key() for config in cells.grid(1)]
    return {
        "parameters": len(SPACE.all_decisions()),
        "rules": len(SPACE.rules),
        "sample_10000_s": round(sampled - started, 3),
        "invalid_of_100000": invalid,
        "cells": len(keys),
        "cell_classes": len(set(keys)),
        "cells_s": round(time.perf_counter() - cells_started, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    arguments = parser.parse_args()
    result = measure()
    print(json.dumps(result, indent=2) if arguments.json else "\n".join(f"{k} {v}" for k, v in result.items()))


if __name__ == "__main__":
    main()
