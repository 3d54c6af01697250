"""A simulated day of a large pool whose nodes fail, with every decision under observation.

    python -m benchmarks.soak [--json] [--gpus 10000] [--hours 24] [--mtbf-h 4] [--seed 0]

Studies of many trials arrive all day, so that the pool is always asked for more than it has. The elastic policy is
watched by `simulator.watch`: an invariant that breaks ends the run. At the end no trial may be missing: whatever was
offered has ended, or is still known to the policy. Keys: `decisions`, `failures_seen` (trials that lost workers),
`trials_ended`, `trials_lost` (0), `lost_work` (part of all epochs trained twice), `utilisation`, `wall_s`.
"""

from __future__ import annotations

import argparse
import json
import time
from random import Random
from typing import Any

from shoal.scheduler.elastic_policy import ElasticPolicy
from shoal.scheduler.simulator import synthetic
from shoal.scheduler.simulator.engine import Simulation
from shoal.scheduler.simulator.watch import Watch
from shoal.scheduler.simulator.workload import Costs, Failures, SimulatedStudy, SimulatedTrial, pool_of

MILESTONES = (1, 3, 9, 27)
TRIALS_PER_STUDY = 729
DEMAND = 1.5
"""The studies together hold about so many times the work that the pool can do."""

LOOK_EVERY = 500
"""Decisions between two looks at the whole pool."""


def studies_for(gpus: int, hours: float, random: Random) -> list[SimulatedStudy]:
    """Studies whose work is `DEMAND` times what the pool can do, arriving in the first two thirds of the time."""
    made: list[SimulatedStudy] = []
    work_s = 0.0
    while work_s < DEMAND * gpus * hours * 3600:
        mean_s = random.choice((300.0, 900.0, 1800.0))
        trials = [
            SimulatedTrial(
                number=number,
                curve=synthetic.curve(random, MILESTONES[-1]),
                epoch_s=synthetic.epoch_s(random, mean_s),
                speedups=synthetic.speedups(random.choice((1, 4, 16)), random.choice((0.02, 0.1))),
            )
            for number in range(TRIALS_PER_STUDY)
        ]
        work_s += 3.5 * sum(trial.epoch_s for trial in trials)  # successive halving: 1 + 2/3 + 6/9 + 18/27 and a bit
        early = len(made) < 20
        made.append(
            SimulatedStudy(
                name=f"study{len(made)}",
                trials=trials,
                milestones=MILESTONES,
                arrive_s=0.0 if early else random.uniform(0.0, 2400.0 * hours),
                weight=random.choice((1.0, 1.0, 2.0)),
                priority=random.choice((0, 0, 0, 1)),
                tells_speed=random.random() < 0.5,
            )
        )
    return made


def soak(gpus: int, hours: float, mtbf_h: float, seed: int) -> dict[str, Any]:
    """One run.

    Raises:
        AssertionError: an invariant is broken, or a trial is lost.
    """
    random = Random(seed)
    studies = studies_for(gpus, hours, random)
    watch = Watch(ElasticPolicy(), cooldown_s=10 * Costs().resize_s, every=LOOK_EVERY, simple=False)
    simulation = Simulation(
        nodes=pool_of(gpus),
        studies=studies,
        decide=watch.steps,
        failures=Failures(mtbf_s=mtbf_h * 3600),
        seed=seed,
        until_s=hours * 3600,
    )
    began = time.perf_counter()
    outcome = simulation.run()
    arrived = [study for study in studies if study.arrive_s <= hours * 3600]
    ended = sum(outcome.studies[study.name].finished + outcome.studies[study.name].stopped for study in arrived)
    known = watch.policy.num_trials  # those whose node just failed are among them, as away
    lost = sum(len(study.trials) for study in arrived) - ended - known
    epochs = sum(study.epochs for study in outcome.studies.values())
    assert lost == 0, f"{lost} trials are neither ended nor known"
    return {
        "gpus": gpus,
        "hours": hours,
        "decisions": watch.decisions,
        "pool_checks": watch.checks,
        "failures_seen": sum(study.losses for study in outcome.studies.values()),
        "trials_ended": ended,
        "trials_lost": lost,
        "lost_work": sum(study.lost_epochs for study in outcome.studies.values()) / epochs,
        "utilisation": outcome.busy / (gpus * hours * 3600),
        "wall_s": time.perf_counter() - began,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="one JSON object on one line")
    parser.add_argument("--gpus", type=int, default=10_000)
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--mtbf-h", type=float, default=4.0)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    result = soak(arguments.gpus, arguments.hours, arguments.mtbf_h, arguments.seed)
    print(json.dumps(result, indent=None if arguments.json else 2))


if __name__ == "__main__":
    main()
