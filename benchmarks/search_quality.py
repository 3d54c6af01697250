"""How good the strategies are: regret on recorded tasks, against what existing tools reached there.

    python -m benchmarks.search_quality --json [--smoke | --full] [--strategies NAME ...] [--seeds N]

Regret is 0 at the best known loss of a task and 1 at the median of random configurations. The incumbent is picked on
the noisy values that a study would see, and scored on the loss without noise. Per strategy and group of tasks:

| key | meaning |
|---|---|
| `mean_regret_25`, `_50`, `_100` | mean over tasks and seeds after so many trials |
| `median_regret_100` | median over tasks and seeds |
| `block_wins_vs_<anchor>` | share of (task, seed) won against a recorded tool, ties count half |
| `p_vs_<anchor>` | Wilcoxon signed-rank test on log(regret + 0.001) |
| `ask_cpu_ms_p50_100`, `_300`, `_1000` | CPU time of an ask (tell included) with so many results |

`--smoke`: three tasks, three seeds, 50 trials, under two minutes. `--full`: twelve tasks, ten seeds, 100 trials, and
the asks at 1,000 results. By default the six tasks, three seeds.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shoal.search import strategies
from shoal.search.seeds import ask_seed
from shoal.search.spec import Chosen, Objective
from shoal.search.strategies.port import Result, Strategy

from .search_tasks import SIX, SMOKE, TWELVE, Anchors, MissingDataError, Task, anchors, task
from .search_tasks.anchors import Block, Regrets

OURS = ("random", "evolution", "random_forest", "bayesian", "portfolio", "reinforcement")
DOWN = (Objective(metric="loss", direction="minimize"),)
READ_AT = (25, 50, 100)
TIMED_TASK = "cash_1501"


def strategy_for(task: Task, name: str, options: Mapping[str, Any], seed: int) -> Strategy:
    """A fresh strategy for a run on a task."""
    return strategies.make(Chosen(name=name, options=options), task.space, DOWN, seed=seed)


def one_run(
    task: Task, name: str, options: Mapping[str, Any], seed: int, trials: int, read_at: Sequence[int] = READ_AT
) -> tuple[Regrets, float]:
    """One study, one trial after the other: regret by number of trials, and median CPU time of the last asks in ms."""
    strategy = strategy_for(task, name, options, seed)
    rng = np.random.default_rng(seed)
    lowest = np.inf
    regret = np.inf
    regrets: dict[int, float] = {}
    asks_ms: list[float] = []
    told: list[Result] = []
    for number in range(trials):
        started = time.process_time()
        strategy.tell(told)
        proposals = strategy.ask(number, 1, (), ask_seed(seed, number))
        asks_ms.append(1e3 * (time.process_time() - started))
        config = proposals[0].config
        assert config is not None
        loss = task.noisy(config, rng)
        if loss < lowest:
            lowest, regret = loss, task.regret(task.true(config))
        attrs = proposals[0].attrs
        told = [Result(number=number, config=config, state="completed", values=(loss,), attrs=attrs)]
        if number + 1 in read_at:
            regrets[number + 1] = round(regret, 5)
    return regrets, float(np.median(asks_ms[-20:]))


def ask_cpu_ms(name: str, options: Mapping[str, Any], results: int) -> float:
    """Median CPU time of five asks with so many random results told, in ms."""
    timed = task(TIMED_TASK)
    strategy = strategy_for(timed, name, options, 0)
    rng = np.random.default_rng(0)
    told = []
    for number in range(results):
        config = timed.space.sample(rng)
        told.append(Result(number=number, config=config, state="completed", values=(timed.noisy(config, rng),)))
    strategy.tell(told)
    asks_ms = []
    for number in range(results, results + 6):
        started = time.process_time()
        (proposal,) = strategy.ask(number, 1, (), ask_seed(0, number))
        asks_ms.append(1e3 * (time.process_time() - started))
        assert proposal.config is not None
        loss = timed.noisy(proposal.config, rng)
        result = Result(number=number, config=proposal.config, state="completed", values=(loss,), attrs=proposal.attrs)
        strategy.tell([result])
    return float(np.median(asks_ms[1:]))


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


def measured(name: str, options: Mapping[str, Any], arguments: argparse.Namespace, recorded: Anchors) -> dict[str, Any]:
    """Everything about one strategy."""
    runs: dict[Block, Regrets] = {}
    asks_ms = []
    for task_name in arguments.tasks:
        for seed in range(arguments.seeds):
            runs[task_name, seed], ask_ms = one_run(task(task_name), name, options, seed, arguments.trials)
            asks_ms.append(ask_ms)
        done = [runs[task_name, seed][max(runs[task_name, seed])] for seed in range(arguments.seeds)]
        print(f"{name} {task_name}: mean regret {np.mean(done):.4f}", file=sys.stderr)
    keys: dict[str, Any] = {f"ask_cpu_ms_p50_{arguments.trials}": round(float(np.median(asks_ms)), 1)}
    for results in arguments.timed:
        keys[f"ask_cpu_ms_p50_{results}"] = round(ask_cpu_ms(name, options, results), 1)
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


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--smoke", action="store_true", help="three tasks, three seeds, 50 trials")
    size.add_argument("--full", action="store_true", help="twelve tasks, ten seeds, 100 trials")
    parser.add_argument("--strategies", nargs="+", metavar="NAME", help=f"default: {', '.join(OURS)}")
    parser.add_argument("--peers", action="store_true", help="also run Optuna's TPE and GP here, on the same spaces")
    parser.add_argument("--options", type=json.loads, default={}, help="JSON options of the one strategy named")
    parser.add_argument("--tasks", nargs="+", metavar="TASK")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--trials", type=int, choices=READ_AT)
    parser.add_argument("--record", type=Path, metavar="FILE", help="write the result with every run to FILE")
    arguments = parser.parse_args()
    tasks, seeds, trials, timed = SIX, 3, 100, [300]
    if arguments.smoke:
        tasks, seeds, trials, timed = SMOKE, 3, 50, []
    elif arguments.full:
        tasks, seeds, trials, timed = TWELVE, 10, 100, [300, 1000]
    arguments.tasks = arguments.tasks or tasks
    arguments.seeds = arguments.seeds or seeds
    arguments.trials = arguments.trials or trials
    arguments.timed = timed
    arguments.strategies = [*(arguments.strategies or OURS), *(("tpe", "gp") if arguments.peers else ())]
    return arguments


def main() -> None:
    import scipy.linalg  # noqa: F401  so that its library is limited too
    from threadpoolctl import threadpool_limits

    arguments = parsed()
    try:
        recorded = anchors()
        with threadpool_limits(1):
            rows = {name: measured(name, arguments.options, arguments, recorded) for name in arguments.strategies}
    except MissingDataError as missing:
        sys.exit(f"benchmarks.search_quality: {missing}")
    result = {"tasks": list(arguments.tasks), "seeds": arguments.seeds, "trials": arguments.trials, "strategies": rows}
    if arguments.record is not None:
        arguments.record.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    for row in rows.values():
        row.pop("runs", None)
    if arguments.json:
        print(json.dumps(result, indent=2))
        return
    for name, row in rows.items():
        print(name, json.dumps(row))


if __name__ == "__main__":
    main()
