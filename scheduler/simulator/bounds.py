"""What no policy can beat, and what a patient one reaches: bounds on the makespan of one study.

- Area: the work of exact successive halving at one-worker efficiency, over the whole pool.
- Chain: the winner's own epochs at its best speed.
- Phased fluid: exact successive halving rung by rung, each rung packed perfectly at the least workers that let it
  end together, without start or resize costs and without running ahead. Not a lower bound (rungs may overlap), but a
  hard mark for a policy that pays its costs.
"""

from __future__ import annotations

from dataclasses import dataclass

from .workload import SimulatedStudy, SimulatedTrial

HALVINGS = 50
"""Bisection steps of the phased bound: far below a millisecond of simulated time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """In seconds; `best` is the best final value of all trials, trained to the top or not."""

    area_s: float
    chain_s: float
    phased_s: float
    best: float
    halving_best: float

    @property
    def lower_s(self) -> float:
        return max(self.area_s, self.chain_s)


def exact_halving(study: SimulatedStudy) -> list[list[SimulatedTrial]]:
    """The trials that reach each rung when every rung is complete before anybody goes on."""
    rungs = [list(study.trials)]
    for milestone in study.milestones[:-1]:
        ranked = sorted(rungs[-1], key=lambda trial: (float(trial.curve[milestone - 1]), trial.number))
        rungs.append(ranked[: max(1, len(ranked) // study.eta)])
    return rungs


def bounds(study: SimulatedStudy, num_gpus: int) -> Bounds:
    """Bounds for `study` alone on `num_gpus` devices."""
    rungs = exact_halving(study)
    below = (0, *study.milestones[:-1])
    phases = [
        [((top - bottom) * trial.epoch_s, trial) for trial in trials]
        for bottom, top, trials in zip(below, study.milestones, rungs, strict=True)
    ]
    winner = min(rungs[-1], key=lambda trial: float(trial.curve[study.milestones[-1] - 1]))
    fastest = max(s for i, s in enumerate(winner.speedups) if 1 << i <= num_gpus)
    return Bounds(
        area_s=sum(work for phase in phases for work, _ in phase) / num_gpus,
        chain_s=winner.epoch_s * study.milestones[-1] / fastest,
        phased_s=sum(_phase_s(phase, num_gpus) for phase in phases),
        best=min(float(trial.curve[study.milestones[-1] - 1]) for trial in study.trials),
        halving_best=min(
            min(float(value) for value in trial.curve[:milestone])
            for trials, milestone in zip(rungs, study.milestones, strict=True)
            for trial in trials
        ),
    )


def _phase_s(phase: list[tuple[float, SimulatedTrial]], num_gpus: int) -> float:
    """The least time in which all trials of a phase can end, packed as a fluid."""
    low, high = 0.0, max(work for work, _ in phase) * len(phase)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if _fits(phase, middle, num_gpus):
            high = middle
        else:
            low = middle
    return high


def _fits(phase: list[tuple[float, SimulatedTrial]], within_s: float, num_gpus: int) -> bool:
    area = 0.0
    for work, trial in phase:
        for i, speedup in enumerate(trial.speedups):
            if 1 << i <= num_gpus and work / speedup <= within_s:
                area += (1 << i) * work / speedup
                break
        else:
            return False
    return area <= num_gpus * within_s
