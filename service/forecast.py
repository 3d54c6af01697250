"""What a study, or several, would take on pools of several sizes under several policies."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from ..errors import PoolError
from ..scheduler.elastic_policy import ElasticPolicy
from ..scheduler.placement import Cluster
from ..scheduler.pool import describe
from ..scheduler.port import Request
from ..scheduler.simulator.baselines import EqualShare, fixed_size
from ..scheduler.simulator.engine import Decide, Simulation
from ..scheduler.simulator.workload import COLD, Costs, Failures, Outcome, SimulatedStudy, pool_of

PolicyName = Literal["elastic", "ray_default", "equal_share", "static_k", "fifo"]

POLICIES: tuple[PolicyName, ...] = get_args(PolicyName)

ONE_NODE: tuple[PolicyName, ...] = ("ray_default", "static_k", "fifo")
"""Policies that give every trial the same number of workers, all on one node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """The pool to simulate.

    Attributes:
        gpus: how many.
        gpus_per_node: the last node has what is left.
        mtbf_h: mean hours between failures of a node, None: nodes never fail.
        static_workers: the size of every trial under `static_k`.
        until_s: the end of the simulation, whatever is left.
        seed: of the failures.
    """

    gpus: int
    gpus_per_node: int = 8
    mtbf_h: float | None = None
    static_workers: int = 1
    until_s: float = math.inf
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What came out. Times in seconds.

    Attributes:
        time_to_best_s: until the best value that was found, mean over studies.
        utilisation: part of the pool that was held; `goodput`: part that was training at one-worker efficiency.
        fairness: the largest finish-time fairness of the studies, that is the time from a study's arrival to its end,
            over the same alone on its part of the pool by weight (at most 1.0: sharing cost nobody anything); None for
            one study.
        done_s: when each study ended, in order.
        lost_epochs: trained twice because a node failed.
    """

    gpus: int
    policy: PolicyName
    makespan_s: float
    time_to_best_s: float
    utilisation: float
    goodput: float
    gpu_hours: float
    fairness: float | None
    epochs: float
    trained_in_full: int
    resizes: int
    lost_epochs: float
    done_s: dict[str, float]


def forecast(studies: Sequence[SimulatedStudy], pool: Pool, policy: PolicyName) -> Forecast:
    """Simulate the studies together on the pool.

    Raises:
        PoolError: a trial of a study never fits the pool, or not under this policy.
    """
    outcome = _play(studies, pool, policy)
    ended = {name: study.done_s or outcome.makespan_s for name, study in outcome.studies.items()}
    to_best = [study.time_to(study.best) or 0.0 for study in outcome.studies.values()]
    return Forecast(
        gpus=pool.gpus,
        policy=policy,
        makespan_s=outcome.makespan_s,
        time_to_best_s=math.fsum(to_best) / len(to_best),
        utilisation=outcome.utilisation,
        goodput=outcome.goodput,
        gpu_hours=outcome.gpu_hours,
        fairness=_fairness(studies, ended, pool, policy) if len(studies) > 1 else None,
        epochs=math.fsum(study.epochs for study in outcome.studies.values()),
        trained_in_full=sum(study.finished for study in outcome.studies.values()),
        resizes=outcome.resizes,
        lost_epochs=math.fsum(study.lost_epochs for study in outcome.studies.values()),
        done_s=ended,
    )


def _play(studies: Sequence[SimulatedStudy], pool: Pool, policy: PolicyName) -> Outcome:
    for study in studies:
        _check_fits(study, _least_workers(study, studies, pool, policy), pool, policy)
    decide, costs = _decide(policy, studies, pool)
    if policy != "elastic":
        studies = [replace(study, rule="stop") for study in studies]
    simulation = Simulation(
        nodes=pool_of(pool.gpus, pool.gpus_per_node),
        studies=studies,
        decide=decide,
        costs=costs,
        failures=None if pool.mtbf_h is None else Failures(mtbf_s=pool.mtbf_h * 3600),
        seed=pool.seed,
        until_s=pool.until_s,
    )
    return simulation.run()


def _check_fits(study: SimulatedStudy, workers: int, pool: Pool, policy: PolicyName) -> None:
    """Refuse a pool that no trial of the study fits with so many workers."""
    request = Request(k_min=workers, k_max=workers, gpus=study.gpus, cpus=0)
    cluster = Cluster()
    for node in pool_of(pool.gpus, pool.gpus_per_node):
        cluster.add(node)
    room = cluster.largest_room(request) if policy in ONE_NODE else cluster.most_workers(request)
    if room >= workers:
        return
    has = f"{pool.gpus} GPU" + ("s" if pool.gpus > 1 else "")
    where = f"on nodes of {pool.gpus_per_node}" if pool.gpus > pool.gpus_per_node else "on one node"
    needed = f"under {policy} a trial of study {study.name} needs {describe(request)}"
    raise PoolError(
        f"{needed}, and a pool of {has} {where} has too few.",
        "Simulate a larger pool or larger nodes (--gpus-per-node), or smaller trials with --set.",
    )


def _least_workers(study: SimulatedStudy, studies: Sequence[SimulatedStudy], pool: Pool, policy: PolicyName) -> int:
    """The fewest workers with which a trial of the study runs: its own, or the one size of all trials."""
    if policy not in ONE_NODE:
        return study.k_min
    size = _fixed_workers(studies, pool, policy)
    return min(size, max((trial.k_max for trial in study.trials), default=size))


def _fixed_workers(studies: Sequence[SimulatedStudy], pool: Pool, policy: PolicyName) -> int:
    smallest = max(study.k_min for study in studies)
    return max(smallest, pool.static_workers) if policy == "static_k" else smallest


def _decide(policy: PolicyName, studies: Sequence[SimulatedStudy], pool: Pool) -> tuple[Decide, Costs]:
    """The policy, and what starts and resizes cost under it: Ray Tune's start processes anew."""
    workers = _fixed_workers(studies, pool, policy)
    made: dict[PolicyName, Callable[[], tuple[Decide, Costs]]] = {
        "elastic": lambda: (ElasticPolicy().steps, Costs()),
        "ray_default": lambda: (fixed_size(workers), COLD),
        "equal_share": lambda: (EqualShare().steps, COLD),
        "static_k": lambda: (fixed_size(workers), Costs()),
        "fifo": lambda: (fixed_size(workers), Costs()),
    }
    return made[policy]()


def _fairness(studies: Sequence[SimulatedStudy], ended: dict[str, float], pool: Pool, policy: PolicyName) -> float:
    weights = math.fsum(study.weight for study in studies)
    worst = 0.0
    for study in studies:
        workers = _least_workers(study, studies, pool, policy)
        least = math.ceil(study.gpus * workers) if study.gpus >= 1 else math.ceil(workers / int(1 / study.gpus))
        own = max(least, int(pool.gpus * study.weight / weights))
        alone = _play([replace(study, arrive_s=0.0)], replace(pool, gpus=own, mtbf_h=None), policy)
        worst = max(worst, (ended[study.name] - study.arrive_s) / alone.makespan_s)
    return worst
