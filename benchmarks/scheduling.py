"""The scheduler in simulation: one study and six on one pool, against bounds and other schedulers; decision times.

    python -m benchmarks.scheduling --json [--seeds 100-111] [--only single|six|decisions|robust] [--record]

Per number of GPUs (8, 16, 32, 64), means over the seeds:

| key | meaning |
|---|---|
| `makespan_s` | until the study of 256 trials (1, 3, 9, 27, 81 epochs, eta 3) is done, warm workers (3 s) |
| `over_phased` | the same / fluid elastic successive halving without costs |
| `speedup_vs_ray_default` | one GPU a trial, stopping form of ASHA, cold starts / ours |
| `speedup_vs_equal_share` | Ray Tune's equal share, cold starts and resizes / ours |
| `time_to_best_s`, `ray_time_to_best_s` | until a value within 0.012 of the best final value of all trials |
| `final_regret`, `halving_regret` | best value found - best final value of all trials; the same of exact halving |
| `goodput` | part of the pool's time that was training at one-worker efficiency |

`cells` has the same for other scaling and sizes. Six studies (`six`, for 64 and 24 GPUs): `rho_max` is the worst
finish-time fairness (completion / completion alone on a sixth of the pool), `jct_vs_equal_share` the mean completion
time / that of trial-level equal share, `first_start_s` the longest wait for a first trial. `decision_*_10k`: 200
studies x 60 candidates on 10,000 GPUs. `robust`: what learning the speed-ups and node failures cost.

The scaling profiles are not shipped; see `scheduling_workload`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from typing import Any

from shoal.scheduler.elastic_policy import ElasticPolicy
from shoal.scheduler.simulator.baselines import EqualShare, fixed_size
from shoal.scheduler.simulator.bounds import bounds
from shoal.scheduler.simulator.engine import Decide, Simulation
from shoal.scheduler.simulator.workload import COLD, Costs, Failures, Outcome, SimulatedStudy

from . import scheduling_workload as workload
from .recording import record
from .scheduling_decisions import decision_times

TOLERANCE = 0.012
"""A value this near to the best final one counts as found. Nine of the 256 curves ever get there."""

MAIN = ((8, "mid", 256), (16, "mid", 256), (32, "mid", 256), (64, "mid", 256))
OTHERS = ((64, "good", 256), (64, "poor", 256), (64, "mid", 81), (8, "mid", 81))
SIX_SEEDS = range(8)

Cell = tuple[int, str, int]


def play(studies: Sequence[SimulatedStudy], num_gpus: int, decide: Decide, **settings: Any) -> Outcome:
    return Simulation(nodes=workload.nodes(num_gpus), studies=studies, decide=decide, **settings).run()


def one_cell(cell: Cell, seed: int) -> dict[str, float]:
    """One seed of one cell under the policy and the two baselines."""
    num_gpus, application, trials = cell
    ours = workload.study(seed, trials=trials, application=application)
    theirs = workload.study(seed, trials=trials, application=application, rule="stop")
    mark = bounds(ours, num_gpus)
    elastic = play([ours], num_gpus, ElasticPolicy().steps, costs=Costs())
    ray = play([theirs], num_gpus, fixed_size(1), costs=COLD)
    equal = play([theirs], num_gpus, EqualShare().steps, costs=COLD)
    found = {key: o.studies[ours.name].time_to(mark.best + TOLERANCE) for key, o in (("a", elastic), ("b", ray))}
    return {
        "makespan_s": elastic.makespan_s,
        "phased_s": mark.phased_s,
        "lower_s": mark.lower_s,
        "ray_s": ray.makespan_s,
        "equal_share_s": equal.makespan_s,
        "time_to_best_s": found["a"] if found["a"] is not None else elastic.makespan_s,
        "ray_time_to_best_s": found["b"] if found["b"] is not None else ray.makespan_s,
        "final_regret": elastic.studies[ours.name].best - mark.best,
        "halving_regret": mark.halving_best - mark.best,
        "goodput": elastic.goodput,
        "epochs": elastic.studies[ours.name].epochs,
        "resizes": float(elastic.resizes),
        "pauses": float(elastic.pauses),
        "stalled": elastic.stalled / (num_gpus * elastic.makespan_s),
    }


def summary(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    """Means over seeds; ratios are ratios of means."""
    mean = {key: statistics.fmean(row[key] for row in rows) for key in rows[0]}
    return {
        **mean,
        "over_phased": mean["makespan_s"] / mean["phased_s"],
        "speedup_vs_ray_default": mean["ray_s"] / mean["makespan_s"],
        "speedup_vs_equal_share": mean["equal_share_s"] / mean["makespan_s"],
    }


def six(num_gpus: int, seed: int) -> dict[str, Any]:
    """Six studies on one pool under the policy and under equal share, and each alone on a sixth of the pool."""
    studies = workload.six_studies(seed, rule="promote")
    shared = play(studies, num_gpus, ElasticPolicy().steps)
    equal = play(workload.six_studies(seed, rule="stop"), num_gpus, EqualShare().steps, costs=COLD)
    rhos, jcts, equal_jcts, waits = [], [], [], []
    for index, truth in enumerate(studies):
        alone = play([_at_once(seed, index)], num_gpus // 6, ElasticPolicy().steps).makespan_s
        outcome = shared.studies[truth.name]
        jct = (outcome.done_s or 0.0) - truth.arrive_s
        rhos.append(jct / alone)
        jcts.append(jct)
        equal_jcts.append((equal.studies[truth.name].done_s or 0.0) - truth.arrive_s)
        waits.append((outcome.first_start_s or 0.0) - truth.arrive_s)
    return {"rhos": rhos, "jcts": jcts, "equal_jcts": equal_jcts, "waits": waits, "makespan_s": shared.makespan_s}


def _at_once(seed: int, index: int) -> SimulatedStudy:
    return replace(workload.six_studies(seed, rule="promote")[index], arrive_s=0.0)


def robust(num_gpus: int, seed: int) -> dict[str, float]:
    """The study with speed-ups unknown beforehand, and with nodes that fail every four hours."""
    known = play([workload.study(seed)], num_gpus, ElasticPolicy().steps)
    learned = play([workload.study(seed, tells_speed=False)], num_gpus, ElasticPolicy().steps)
    failing = play(
        [workload.study(seed)], num_gpus, ElasticPolicy().steps, failures=Failures(mtbf_s=4 * 3600.0), seed=seed
    )
    outcome = failing.studies["study"]
    return {
        "known_s": known.makespan_s,
        "learned_s": learned.makespan_s,
        "failing_s": failing.makespan_s,
        "losses": float(outcome.losses),
        "lost_work": outcome.lost_epochs / outcome.epochs,
    }


def measure(seeds: Sequence[int], only: str | None) -> dict[str, Any]:
    result: dict[str, Any] = {}
    with ProcessPoolExecutor(2) as pool:
        if only in (None, "single"):
            jobs = {cell: [pool.submit(one_cell, cell, seed) for seed in seeds] for cell in MAIN + OTHERS}
            for cell, futures in jobs.items():
                row = summary([future.result() for future in futures])
                if cell in MAIN:
                    result[str(cell[0])] = row
                else:
                    result.setdefault("cells", {})["{}/{}/{}".format(*cell)] = row
        if only in (None, "six"):
            for num_gpus in (64, 24):
                rows = [f.result() for f in [pool.submit(six, num_gpus, seed) for seed in SIX_SEEDS]]
                jct = statistics.fmean(j for row in rows for j in row["jcts"])
                result.setdefault("six", {})[str(num_gpus)] = {
                    "rho_max": max(rho for row in rows for rho in row["rhos"]),
                    "rho_mean": statistics.fmean(rho for row in rows for rho in row["rhos"]),
                    "jct_vs_equal_share": jct / statistics.fmean(j for row in rows for j in row["equal_jcts"]),
                    "jct_s": jct,
                    "first_start_s": max(wait for row in rows for wait in row["waits"]),
                }
        if only in (None, "robust"):
            for num_gpus in (16, 64):
                lines = [f.result() for f in [pool.submit(robust, num_gpus, seed) for seed in seeds]]
                mean = {key: statistics.fmean(line[key] for line in lines) for key in lines[0]}
                result.setdefault("robust", {})[str(num_gpus)] = {
                    "learned_over_known": mean["learned_s"] / mean["known_s"],
                    "failing_over_known": mean["failing_s"] / mean["known_s"],
                    "losses": mean["losses"],
                    "lost_work": mean["lost_work"],
                }
    if only in (None, "decisions"):
        result |= decision_times()
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--seeds", default="100-111", help="first-last; 100-111 are held out, tune on others")
    parser.add_argument("--only", choices=["single", "six", "decisions", "robust"])
    parser.add_argument("--record", action="store_true", help="keep the result under benchmarks/results/")
    arguments = parser.parse_args()
    first, last = (int(part) for part in arguments.seeds.split("-"))
    began = time.perf_counter()
    result = measure(range(first, last + 1), arguments.only)
    result["wall_s"] = time.perf_counter() - began
    if arguments.record:
        record("scheduling", result)
    print(json.dumps(result, indent=None if arguments.json else 2))


if __name__ == "__main__":
    main()
