"""What the pool on Ray costs, and how soon it gets over the loss of a node.

    python -m benchmarks.cluster --json [--peers] [--record]

A cluster of two nodes with 4 logical GPUs each on this machine (`ray.cluster_utils`); head and agents are processes of
their own, as on two machines.

| key | meaning |
|---|---|
| `trial_start_ms_p50` | a slot of another node is free -> first line of user code in a fresh process there, warm, ms |
| `report_ms_p50` | `trial.report` on another node -> verdict of the head obeyed, ms |
| `node_loss_noticed_s` | SIGKILL of everything on a node -> its trials are journaled as lost, s |
| `recover_s` | the same SIGKILL -> the lost trial trains again on the other node, from its checkpoint, s |
| `asha64_over_simulated` | 64 trials x up to 9 epochs x 0.2 s sleep, 8 GPUs, ASHA: wall / simulation without overhead |
| `asha64_over_area` | the same wall / (seconds slept / 8), which no ASHA reaches: its last trials run alone |
| `noop_trials_per_s` | empty trials a second, a fresh process each |

`peers.ray_tune.asha64_over_area` is the same of Ray Tune with its own ASHA on a cluster of 8 CPUs. `--record` keeps
the result under benchmarks/results/.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import shoal
from shoal.search.events import Event, TrialAssigned, TrialEnded, TrialReported
from shoal.service.cluster_place import RayPlace
from shoal.service.running import run_studies
from shoal.tests.ray_cluster import RayCluster, ray_cluster

from . import overhead_trials as trials
from .overhead import SPACE, of_kind, simulate, wall_s
from .recording import record

GPUS_PER_NODE = 4
STARTS, FRESH, ASHA_TRIALS = 40, 100, 64
EPOCHS_BEFORE_LOSS = 3


def run(cluster: RayCluster, train: Any, metric: str = "value", *, watch: Any = None, **settings: Any) -> list[Event]:
    """Run a study on the cluster; its events, in order."""
    events: list[Event] = []

    def observe(state: Any, event: Event) -> None:
        events.append(event)
        if watch is not None:
            watch(event)

    study = shoal.Study(space=SPACE, train=train, maximize=metric, name="cluster", strategy="random", **settings)
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        place = RayPlace(cluster.address, data)
        run_studies([study], data=data, place=place, observers=[observe], notice=lambda text: None)
    return events


def trial_start_ms_p50(cluster: RayCluster) -> float:
    """Trials of 4 GPUs on a node of 4: each begins when the one before has ended."""
    events = run(cluster, trials.noop, trials=STARTS, gpus_per_worker=GPUS_PER_NODE)
    node = of_kind(events, TrialAssigned)[0].node
    numbers = [event.number for event in of_kind(events, TrialAssigned) if event.node == node]
    ends = {event.number: event for event in of_kind(events, TrialEnded)}
    between = [(ends[after].value - ends[before].at) * 1e3 for before, after in pairwise(numbers)]
    return statistics.median(between[3:])


def report_ms_p50(cluster: RayCluster) -> float:
    reports = of_kind(run(cluster, trials.report_often, "took_ms", trials=1), TrialReported)
    return statistics.median(report.metrics["took_ms"] for report in reports[5:])


def noop_trials_per_s(cluster: RayCluster) -> float:
    return FRESH / wall_s(run(cluster, trials.noop, trials=FRESH, gpus_per_worker=1))


def asha64(cluster: RayCluster) -> dict[str, float]:
    settings: dict[str, Any] = {"trials": ASHA_TRIALS, "early_stopping": shoal.ASHA(max_epochs=trials.EPOCHS)}
    events = run(cluster, trials.sleep_epochs, "score", gpus_per_worker=1, **settings)
    simulated = simulate(
        shoal.Study(space=SPACE, train=trials.sleep_epochs, maximize="score", strategy="random", **settings)
    )
    slept_s = len(of_kind(events, TrialReported)) * trials.EPOCH_S
    return {
        "asha64_over_simulated": wall_s(events) / wall_s(simulated),
        "asha64_over_area": wall_s(events) / (slept_s / (2 * GPUS_PER_NODE)),
    }


def node_loss(cluster: RayCluster) -> dict[str, float]:
    """Kill the node of the only trial after some epochs."""
    at: dict[str, float] = {}

    def watch(event: Event) -> None:
        if isinstance(event, TrialReported) and event.step == EPOCHS_BEFORE_LOSS and "killed" not in at:
            node = of_kind(seen, TrialAssigned)[0].node
            at["killed"] = time.time()
            cluster.kill(node)
        elif isinstance(event, TrialEnded) and event.failure == "LOST":
            at["noticed"] = time.time()
        elif isinstance(event, TrialReported) and "noticed" in at and "back" not in at:
            at["back"] = time.time() - trials.EPOCH_S  # the epoch that it reports
        seen.append(event)

    seen: list[Event] = []
    run(cluster, trials.sleep_epochs, "score", watch=watch, trials=1, gpus_per_worker=1)
    return {"node_loss_noticed_s": at["noticed"] - at["killed"], "recover_s": at["back"] - at["killed"]}


def measure() -> dict[str, float]:
    with ray_cluster() as cluster:
        cluster.add(gpus=GPUS_PER_NODE)
        cluster.add(gpus=GPUS_PER_NODE)
        figures = {
            "trial_start_ms_p50": trial_start_ms_p50(cluster),
            "report_ms_p50": report_ms_p50(cluster),
            "noop_trials_per_s": noop_trials_per_s(cluster),
        }
        return figures | asha64(cluster) | node_loss(cluster)


def measure_peers() -> dict[str, Any]:
    from .overhead_peers import ray_asha64_over_area

    return {"ray_tune": {"asha64_over_area": ray_asha64_over_area()}}


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster", description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    parser.add_argument("--peers", action="store_true", help="also Ray Tune on the 64-trial workload")
    parser.add_argument("--record", action="store_true", help="keep the result under benchmarks/results/")
    flags = parser.parse_args(arguments)
    started = time.perf_counter()
    result: dict[str, Any] = {key: round(value, 4) for key, value in measure().items()}
    if flags.peers:
        result["peers"] = measure_peers()
    if flags.record:
        print(f"kept in {record('cluster', result)}", file=sys.stderr)
    if flags.json:
        print(json.dumps(result))
    else:
        for key, value in result.items():
            print(f"{key:28} {value}")
    print(f"measured in {time.perf_counter() - started:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
