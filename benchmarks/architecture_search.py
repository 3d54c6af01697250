"""Architecture search on NAS-Bench-201: how far from the best of 15,625 cells the strategies end.

    python -m benchmarks.architecture_search --json [--strategies NAME ...] [--seeds N] [--queries N]

A query is the mean validation accuracy of a cell over the recorded seeds, so the search knows no noise. Per strategy:
`regret_cifar10`, `regret_cifar100`, `regret_imagenet` (ImageNet-16-120): mean over the seeds of the points that the
best queried cell is below the best cell; `hit_rate`: share of all runs that found the best cell.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from .search_quality import OURS
from .search_runs import one_run
from .search_tasks import MissingDataError, Task
from .search_tasks.tables import CELL, accuracies, looked_up

DATASETS = ("cifar10", "cifar100", "imagenet")


def points(dataset: str) -> Task:
    """The cells of a data set without noise, regret in points of accuracy."""
    losses = -accuracies(dataset)
    best = float(np.nanmean(losses, axis=1).min())
    table = looked_up(f"nb201_{dataset}", CELL, losses, best, best + 1.0)
    return replace(table, noisy=lambda config, rng: table.true(config))


def measured(name: str, options: Mapping[str, Any], seeds: int, queries: int) -> dict[str, float]:
    """The keys of one strategy."""
    row: dict[str, float] = {}
    found = []
    for dataset in DATASETS:
        task = points(dataset)
        runs = [one_run(task, name, options, seed, queries, (queries,))[0][queries] for seed in range(seeds)]
        row[f"regret_{dataset}"] = round(float(np.mean(runs)), 3)
        found += [regret == 0.0 for regret in runs]
        print(f"{name} {dataset}: {row[f'regret_{dataset}']}", file=sys.stderr)
    row["hit_rate"] = round(float(np.mean(found)), 3)
    return row


def main() -> None:
    import scipy.linalg  # noqa: F401  so that its library is limited too
    from threadpoolctl import threadpool_limits

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    parser.add_argument("--strategies", nargs="+", metavar="NAME", default=OURS, help=f"default: {', '.join(OURS)}")
    parser.add_argument("--options", type=json.loads, default={}, help="JSON options of the one strategy named")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--queries", type=int, default=150)
    arguments = parser.parse_args()
    try:
        with threadpool_limits(1):
            rows = {
                name: measured(name, arguments.options, arguments.seeds, arguments.queries)
                for name in arguments.strategies
            }
    except MissingDataError as missing:
        sys.exit(f"benchmarks.architecture_search: {missing}")
    if arguments.json:
        print(json.dumps({"queries": arguments.queries, "seeds": arguments.seeds, "strategies": rows}, indent=2))
        return
    for name, row in rows.items():
        print(name, json.dumps(row))


if __name__ == "__main__":
    main()
