"""Does a study on real processes take as long as its simulation? The same policy, the same trials.

    python -m benchmarks.live_scheduling --json [--gpus 16] [--trials 36] [--record]

The live study runs on logical GPUs; its epochs sleep and follow a speed-up curve (`live_trials.py`), so that a machine
with few cores can be a large pool. The simulation is given the trials that the live study proposed, and what starting
and resizing cost it.

| key | meaning |
|---|---|
| `live_over_simulated` | makespan of the live study / of the simulated one |
| `live_s`, `simulated_s` | both makespans: from the first start to the last end |
| `live_epochs`, `simulated_epochs` | epochs trained |
| `live_resizes`, `simulated_resizes` | changes of a running trial's workers |
| `start_cost_s` | live, median: from a trial's assignment to its first report, beyond its first epoch |
| `resize_cost_s` | live, median of growths: the stall, and what was lost by being slow from the order to its end |
| `stall_s_p50` | live: standing still in a resize |
| `head_cpu_share` | processor time of this process / wall time of the live study |
| `load_per_core` | of the machine during the live study: above 1 its figures are too high |
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from typing import Any

import shoal
from shoal.scheduler.elastic_policy import ElasticPolicy
from shoal.scheduler.port import NodeUp
from shoal.scheduler.simulator.engine import Simulation
from shoal.scheduler.simulator.workload import Costs, Outcome, SimulatedStudy, SimulatedTrial
from shoal.search.early_stopping.rungs import milestones
from shoal.search.events import Event, TrialAssigned, TrialProposed, TrialReported, TrialResized, TrialResizing

from . import live_trials as trials
from .overhead import of_kind, wall_s
from .recording import record

REDUCTION = 3


def live(gpus: int, count: int) -> list[Event]:
    """Run the study for real; its events, in order."""
    events: list[Event] = []
    study = shoal.Study(
        space=trials.SPACE,
        train=trials.train,
        minimize="error",
        name="live",
        trials=count,
        strategy="random",
        workers=(1, 1 << (len(trials.SPEEDUPS) - 1)),
        gpus_per_worker=1,
        early_stopping=shoal.ASHA(max_epochs=trials.EPOCHS, reduction_factor=REDUCTION),
    )
    with tempfile.TemporaryDirectory() as data:
        study.run(data=data, logical_gpus=gpus, on_event=lambda state, event: events.append(event))
    return events


def simulated(configs: list[Any], gpus: int, costs: Costs) -> Outcome:
    """The same trials on the same pool."""
    made = [
        SimulatedTrial(
            number=number,
            curve=[trials.value(config, epoch) for epoch in range(1, trials.EPOCHS + 1)],
            epoch_s=trials.epoch_s(config),
            speedups=trials.SPEEDUPS,
        )
        for number, config in enumerate(configs)
    ]
    study = SimulatedStudy(
        name="live",
        trials=made,
        milestones=(*milestones(1, trials.EPOCHS, REDUCTION), trials.EPOCHS),
        eta=REDUCTION,
        tells_speed=False,
    )
    ids = tuple(f"gpu{index}" for index in range(gpus))
    node = NodeUp(at=0.0, node="local", gpus=ids, cpus=gpus, memory_gib=64.0, device_model="logical")
    return Simulation(nodes=[node], studies=[study], decide=ElasticPolicy().steps, costs=costs).run()


def start_costs_s(events: list[Event], configs: list[Any]) -> list[float]:
    """What starting cost each trial: from its assignment to its first report, beyond its first epoch on one worker."""
    assigned = {event.number: event for event in of_kind(events, TrialAssigned) if event.generation == 1}
    resized = {event.number for event in of_kind(events, TrialResizing)}
    firsts = [event for event in of_kind(events, TrialReported) if event.step == 1 and event.number not in resized]
    alone = [event for event in firsts if assigned[event.number].workers == 1]
    return [event.at - assigned[event.number].at - trials.epoch_s(configs[event.number]) for event in alone]


def resize_costs_s(events: list[Event]) -> list[float]:
    """What each growth cost: the stall, and the time from the order to its end in which it was as slow as before."""
    costs: list[float] = []
    workers: dict[int, int] = {}
    ordered: dict[int, float] = {}
    for event in events:
        match event:
            case TrialAssigned():
                workers[event.number] = event.workers
            case TrialResizing():
                ordered[event.number] = event.at
            case TrialResized(ok=True, resize=resize) if resize:
                slow, fast = (trials.SPEEDUPS[k.bit_length() - 1] for k in (workers[event.number], event.workers))
                workers[event.number] = event.workers
                if fast > slow:
                    costs.append(event.stall_s + (event.at - ordered[event.number]) * (1 - slow / fast))
            case _:
                pass
    return costs


def measure(gpus: int, count: int) -> dict[str, float]:
    began, used = time.monotonic(), time.process_time()
    events = live(gpus, count)
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    took, cpu = time.monotonic() - began, time.process_time() - used
    resized = [event for event in of_kind(events, TrialResized) if event.ok]
    proposed = {event.number: event.config for event in of_kind(events, TrialProposed)}
    configs = [proposed[number] for number in range(count)]
    start_s = statistics.median(start_costs_s(events, configs))
    resize_s = statistics.median(resize_costs_s(events) or [0.0])
    outcome = simulated(configs, gpus, Costs(start_s=start_s, resume_extra_s=0.0, resize_s=resize_s))
    return {
        "live_over_simulated": wall_s(events) / outcome.makespan_s,
        "live_s": wall_s(events),
        "simulated_s": outcome.makespan_s,
        "live_epochs": len(of_kind(events, TrialReported)),
        "simulated_epochs": outcome.studies["live"].epochs,
        "live_starts": len(of_kind(events, TrialAssigned)),
        "live_resizes": len(resized),
        "simulated_resizes": outcome.resizes,
        "start_cost_s": start_s,
        "resize_cost_s": resize_s,
        "stall_s_p50": statistics.median([event.stall_s for event in resized] or [0.0]),
        "head_cpu_share": cpu / took,
        "load_per_core": load,
    }


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.live_scheduling", description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    parser.add_argument("--gpus", type=int, default=16, help="logical GPUs")
    parser.add_argument("--trials", type=int, default=36, help="trials of the study")
    parser.add_argument("--record", action="store_true", help="keep the result under benchmarks/results/")
    flags = parser.parse_args(arguments)
    result = {key: round(value, 4) for key, value in measure(flags.gpus, flags.trials).items()}
    if flags.record:
        print(f"kept in {record('live_scheduling', result)}", file=sys.stderr)
    if flags.json:
        print(json.dumps(result))
    else:
        for key, value in result.items():
            print(f"{key:22} {value}")


if __name__ == "__main__":
    main(sys.argv[1:])
