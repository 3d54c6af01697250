"""Random events against the elastic policy until something breaks.

    python -m benchmarks.fuzz_scheduling --events 1000000 [--seed 0]

Plays `shoal.scheduler.simulator.chaos` in rounds of 500 events, each with a seed of its own; a failure names the
seed, and the same seed breaks again.
"""

from __future__ import annotations

import argparse
from random import Random

from shoal.scheduler.elastic_policy import ElasticPolicy
from shoal.scheduler.simulator.chaos import Chaos

ROUND = 500


def play(seed: int, events: int) -> None:
    """One round.

    Raises:
        AssertionError: an invariant does not hold.
    """
    random = Random(seed)
    chaos = Chaos(ElasticPolicy(), random, gangs=random.random() < 0.5, shares=random.random() < 0.5)
    for _ in range(events):
        chaos.step()
    chaos.settle()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rounds = -(-arguments.events // ROUND)
    for seed in range(arguments.seed, arguments.seed + rounds):
        try:
            play(seed, ROUND)
        except AssertionError as broken:
            raise SystemExit(f"seed {seed}: {broken}") from broken
    print(f"{rounds * ROUND} events, no invariant broken")


if __name__ == "__main__":
    main()
