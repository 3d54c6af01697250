"""How good the strategies are: regret on recorded tasks, against what existing tools reached there.

    python -m benchmarks.search_quality --json [--smoke | --full] [--strategies NAME ...] [--seeds N] [--peers]

Regret is 0 at the best known loss of a task and 1 at the median of random configurations. The incumbent is picked on
the noisy values that a study would see, and scored on the loss without noise. Per strategy and group of tasks:

| key | meaning |
|---|---|
| `mean_regret_25`, `_50`, `_100` | mean over tasks and seeds after so many trials |
| `median_regret_100` | median over tasks and seeds |
| `block_wins_vs_<anchor>` | share of (task, seed) won against a recorded tool, ties count half |
| `p_vs_<anchor>` | Wilcoxon signed-rank test on log(regret + 0.001) |
| `ask_cpu_ms_p50_100`, `_300`, `_1000` | CPU time of an ask (tell included) with so many results |

`multi_fidelity` has, per rule that stops early, the mean regret at 10, 25, 50 and 100 % of a budget of 20 full
trainings, and the same of the recorded tools (`benchmarks.multi_fidelity`).

`--smoke`: three tasks, three seeds, 50 trials, under two minutes. `--full`: twelve tasks, ten seeds, 100 trials, under
an hour on two cores. By default the six tasks, three seeds. `--peers` runs Optuna's TPE and GP and SMAC3 (extra
`peers`) in the same way. Runs are spread over `--processes` (default 2), each with one thread.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from . import multi_fidelity
from .search_runs import READ_AT, ask_cpu_ms, one_run
from .search_tasks import SIX, SMOKE, TWELVE, Anchors, MissingDataError, anchors, task
from .search_tasks.anchors import Block, Regrets
from .search_tasks.curves import CURVES

OURS = ("random", "evolution", "random_forest", "bayesian", "portfolio", "reinforcement")
PEERS = ("tpe", "gp", "smac")


def summary(runs: Mapping[Block, Regrets], tasks: Sequence[str], recorded: Anchors) -> dict[str, Any]:
    """The keys of one group of tasks."""
    blocks = [block for block in runs if block[0] in tasks]
    keys: dict[str, Any] = {"blocks": len(blocks)}
    for trials in READ_AT:
        values = [runs[block][trials] for block in blocks if trials in runs[block]]
        if values:
            keys[f"mean_regret_{trials}"] = round(float(np.mean(values)), 4)
            keys[f"median_regret_{trials}"] = round(float(np.median(values)), 4)
    last = max(trials for block in blocks for trials in runs[block])
    for anchor in recorded.regrets:
        found = recorded.compared(anchor, runs, last, tasks)
        if found is not None:
            keys[f"block_wins_vs_{anchor}"] = found["wins"]
            keys[f"p_vs_{anchor}"] = found["p"]
            keys[f"{anchor}_mean_regret_{last}"] = found["mean"]
    keys["median_by_task"] = {
        name: round(float(np.median([runs[b][last] for b in blocks if b[0] == name])), 4) for name in tasks
    }
    return keys


def runs_of(name: str, options: Mapping[str, Any], task_name: str, seeds: int, trials: int) -> list[Regrets]:
    """Every seed of a strategy on a task; a job of its own process."""
    found = [one_run(task(task_name), name, options, seed, trials)[0] for seed in range(seeds)]
    print(f"{name} {task_name}: mean regret {np.mean([run[max(run)] for run in found]):.4f}", file=sys.stderr)
    return found


class Jobs:
    """Everything that is to be measured, under way in several processes."""

    def __init__(self, pool: ProcessPoolExecutor, arguments: argparse.Namespace) -> None:
        self._arguments = arguments
        self._runs: dict[tuple[str, str], Future[list[Regrets]]] = {}
        self._asks: dict[tuple[str, int], Future[float]] = {}
        self._rules: dict[tuple[str, str, int], Future[dict[int, float]]] = {}
        for name in arguments.strategies:
            for task_name in arguments.tasks:
                job = (name, arguments.options, task_name, arguments.seeds, arguments.trials)
                self._runs[name, task_name] = pool.submit(runs_of, *job)
            for results in arguments.timed:
                self._asks[name, results] = pool.submit(ask_cpu_ms, name, arguments.options, results)
        for method in arguments.rules:
            for task_name in arguments.curves:
                for seed in range(arguments.seeds):
                    self._rules[method, task_name, seed] = pool.submit(multi_fidelity.run, method, task_name, seed)

    def strategy(self, name: str, recorded: Anchors) -> dict[str, Any]:
        """The keys of one strategy, once its jobs are done."""
        arguments = self._arguments
        runs: dict[Block, Regrets] = {}
        for task_name in arguments.tasks:
            for seed, regrets in enumerate(self._runs[name, task_name].result()):
                runs[task_name, seed] = regrets
        keys: dict[str, Any] = {
            f"ask_cpu_ms_p50_{results}": round(self._asks[name, results].result(), 1) for results in arguments.timed
        }
        groups = {"six": SIX, "twelve": TWELVE}
        complete = {group: tasks for group, tasks in groups.items() if set(tasks) <= set(arguments.tasks)}
        for group, tasks in (complete or {"tasks": tuple(arguments.tasks)}).items():
            keys[group] = summary(runs, tasks, recorded)
        if arguments.record is not None:
            keys["runs"] = [
                {"task": block[0], "seed": block[1], **{f"regret_{n}": value for n, value in regrets.items()}}
                for block, regrets in runs.items()
            ]
        return keys

    def multi_fidelity(self) -> dict[str, Any]:
        """The keys of the rules, and of the recorded tools on the same tasks."""
        found = {}
        for method in self._arguments.rules:
            runs = [job.result() for (name, _, _), job in self._rules.items() if name == method]
            found[method] = multi_fidelity.summary(runs)
        return {"tasks": list(self._arguments.curves), "ours": found, "recorded": multi_fidelity.recorded()}


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--smoke", action="store_true", help="three tasks, three seeds, 50 trials")
    size.add_argument("--full", action="store_true", help="twelve tasks, ten seeds, 100 trials")
    parser.add_argument("--strategies", nargs="*", metavar="NAME", help=f"default: {', '.join(OURS)}")
    parser.add_argument("--peers", action="store_true", help=f"also run here, on the same spaces: {', '.join(PEERS)}")
    parser.add_argument("--options", type=json.loads, default={}, help="JSON options of the one strategy named")
    parser.add_argument("--rules", nargs="*", metavar="NAME", help=f"default: {', '.join(multi_fidelity.METHODS)}")
    parser.add_argument("--tasks", nargs="+", metavar="TASK")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--trials", type=int, choices=READ_AT)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--record", type=Path, metavar="FILE", help="write the result with every run to FILE")
    arguments = parser.parse_args()
    tasks, seeds, trials = SIX, 3, 100
    arguments.timed, arguments.curves = [100, 300, 1000], CURVES
    if arguments.smoke:
        tasks, seeds, trials = SMOKE, 3, 50
        arguments.timed, arguments.curves = [100], CURVES[:2]
    elif arguments.full:
        tasks, seeds, trials = TWELVE, 10, 100
    arguments.tasks = arguments.tasks or tasks
    arguments.seeds = arguments.seeds or seeds
    arguments.trials = arguments.trials or trials
    if arguments.rules is None:
        arguments.rules = list(multi_fidelity.METHODS)
    strategies = OURS if arguments.strategies is None else arguments.strategies
    arguments.strategies = [*strategies, *(PEERS if arguments.peers else ())]
    return arguments


def one_thread() -> None:
    """Begin a process: its linear algebra keeps to one thread."""
    import scipy.linalg  # noqa: F401  so that its library is limited too
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)


def main() -> None:
    arguments = parsed()
    spawn = multiprocessing.get_context("spawn")
    try:
        recorded = anchors()
        with ProcessPoolExecutor(arguments.processes, mp_context=spawn, initializer=one_thread) as pool:
            jobs = Jobs(pool, arguments)
            try:
                rows = {name: jobs.strategy(name, recorded) for name in arguments.strategies}
                rules = jobs.multi_fidelity() if arguments.rules else {}
            except MissingDataError:
                pool.shutdown(cancel_futures=True)  # said now, and not after an hour of work for nothing
                raise
    except MissingDataError as missing:
        sys.exit(f"benchmarks.search_quality: {missing}")
    result = {"tasks": list(arguments.tasks), "seeds": arguments.seeds, "trials": arguments.trials, "strategies": rows}
    result["multi_fidelity"] = rules
    if arguments.record is not None:
        arguments.record.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    for row in rows.values():
        row.pop("runs", None)
    if arguments.json:
        print(json.dumps(result, indent=2))
        return
    for name, row in [*rows.items(), *rules.get("ours", {}).items()]:
        print(name, json.dumps(row))


if __name__ == "__main__":
    main()
