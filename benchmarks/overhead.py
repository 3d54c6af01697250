"""What shoal itself costs: time between asking and user code, throughput of empty trials, reports, a whole ASHA study.

    python -m benchmarks.overhead --json [--peers] [--record]

| key | meaning |
|---|---|
| `start_ms_p50` | a slot asks for work -> first line of user code in a fresh process, warm, ms |
| `noop_trials_per_s` | empty trials a second, a fresh process each |
| `noop_trials_per_s_reused` | the same with `reuse_workers=True` |
| `report_ms_p50` | `trial.report` -> verdict obeyed, ms |
| `asha64_over_simulated` | 64 trials x up to 9 epochs x 0.2 s sleep, 8 logical GPUs: wall / ideal simulation |
| `asha64_over_area` | the same wall / (seconds slept / 8) |

With `--peers`, an object `peers` has the same of Optuna (in this process, 8 threads for the ASHA study) and Ray Tune.
`--record` keeps the result under benchmarks/results/.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import shoal
from shoal.scheduler.elastic_policy import ElasticPolicy
from shoal.scheduler.port import NodeUp, Request
from shoal.search.events import Event, StudyCreated, TrialAssigned, TrialEnded, TrialReported
from shoal.search.journal.memory import MemoryJournal
from shoal.search.study_state import StudyState
from shoal.service.head import Head
from shoal.service.strategy_host import InProcessHost
from shoal.service.study_run import StudyRun
from shoal.spaces import Float, Space
from shoal.trial_runner.simulated import SimulatedRunner

from . import overhead_trials as trials
from .recording import record

SPACE = Space(x=Float(0.0, 1.0))
FRESH, REUSED, STARTS = 200, 2000, 40
ASHA_TRIALS, ASHA_GPUS = 64, 8


def run(train: Any, metric: str = "value", *, gpus: int | None = None, **settings: Any) -> list[Event]:
    """Run a study for real in a directory of its own; its events, in order."""
    events: list[Event] = []
    study = shoal.Study(space=SPACE, train=train, maximize=metric, name="overhead", strategy="random", **settings)
    with tempfile.TemporaryDirectory() as data:
        study.run(data=data, logical_gpus=gpus, on_event=lambda state, event: events.append(event))
    return events


def of_kind(events: list[Event], kind: type[Event]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def wall_s(events: list[Event]) -> float:
    """From the first start to the last end."""
    return float(of_kind(events, TrialEnded)[-1].at - of_kind(events, TrialAssigned)[0].at)


def start_ms_p50() -> float:
    """One slot: from the end of a trial to the first line of the next one's user code."""
    ends = of_kind(run(trials.noop, gpus=1, trials=STARTS, gpus_per_worker=1), TrialEnded)
    return statistics.median((after.value - before.at) * 1e3 for before, after in pairwise(ends[5:]))


def trials_per_s(count: int, *, reuse_workers: bool) -> float:
    return count / wall_s(run(trials.noop, trials=count, reuse_workers=reuse_workers))


def report_ms_p50() -> float:
    reports = of_kind(run(trials.report_often, "took_ms", trials=1), TrialReported)
    return statistics.median(report.metrics["took_ms"] for report in reports[5:])


def asha64() -> tuple[float, float]:
    """(wall / simulated, wall / area)."""
    settings: dict[str, Any] = {"trials": ASHA_TRIALS, "early_stopping": shoal.ASHA(max_epochs=trials.EPOCHS)}
    events = run(trials.sleep_epochs, "score", gpus=ASHA_GPUS, gpus_per_worker=1, **settings)
    simulated = simulate(
        shoal.Study(space=SPACE, train=trials.sleep_epochs, maximize="score", strategy="random", **settings)
    )
    slept_s = len(of_kind(events, TrialReported)) * trials.EPOCH_S
    return wall_s(events) / wall_s(simulated), wall_s(events) / (slept_s / ASHA_GPUS)


def simulate(study: shoal.Study) -> list[Event]:
    """The same study on the same pool without any overhead."""

    def model(number: int, config: Any, seed: int, step: int) -> tuple[float, dict[str, float]] | None:
        return (trials.EPOCH_S, {"score": trials.score(config["x"], step)}) if step <= trials.EPOCHS else None

    spec = study.spec()
    journal, events = MemoryJournal(), list[Event]()
    gpus = tuple(str(gpu) for gpu in range(ASHA_GPUS))
    head = Head(
        journal=journal,
        runner=SimulatedRunner(model),
        host=InProcessHost(),
        policy=ElasticPolicy(),
        nodes=[NodeUp(at=0.0, node="simulated", gpus=gpus, cpus=ASHA_GPUS, memory_gib=64.0)],
    )
    head.subscribe(lambda state, event: events.append(event))
    request = Request(k_min=1, k_max=1, gpus=Fraction(1), cpus=0)
    created = StudyCreated(at=0.0, spec=spec.to_json())
    head.add(StudyRun(StudyState.create(spec), journal, request, None, Path()), [created])
    head.run()
    return events


def measure() -> dict[str, float]:
    over_simulated, over_area = asha64()
    return {
        "start_ms_p50": start_ms_p50(),
        "noop_trials_per_s": trials_per_s(FRESH, reuse_workers=False),
        "noop_trials_per_s_reused": trials_per_s(REUSED, reuse_workers=True),
        "report_ms_p50": report_ms_p50(),
        "asha64_over_simulated": over_simulated,
        "asha64_over_area": over_area,
    }


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.overhead", description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    parser.add_argument("--peers", action="store_true", help="also Optuna in this process, and Ray Tune")
    parser.add_argument("--record", action="store_true", help="keep the result under benchmarks/results/")
    flags = parser.parse_args(arguments)
    started = time.perf_counter()
    result: dict[str, Any] = {key: round(value, 4) for key, value in measure().items()}
    if flags.peers:
        from .overhead_peers import measure_peers

        result["peers"] = measure_peers()
    if flags.record:
        print(f"kept in {record('overhead', result)}", file=sys.stderr)
    if flags.json:
        print(json.dumps(result))
    else:
        for key, value in result.items():
            print(f"{key:28} {value}")
    print(f"measured in {time.perf_counter() - started:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
