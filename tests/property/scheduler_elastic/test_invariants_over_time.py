"""Invariants of the elastic policy over whole simulated studies: random pools, studies, failures, priorities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shoal.benchmarks.soak import soak
from shoal.scheduler.elastic_policy import ElasticPolicy
from shoal.scheduler.port import Action, NodeUp, PoolEvent, TrialEnded
from shoal.scheduler.simulator import synthetic
from shoal.scheduler.simulator.bounds import exact_halving
from shoal.scheduler.simulator.engine import Simulation
from shoal.scheduler.simulator.watch import Watch
from shoal.scheduler.simulator.workload import Costs, Failures, SimulatedStudy, SimulatedTrial, pool_of
from shoal.tests.property.scheduler_elastic.test_simulation import reached_without_risk

COOLDOWN_S = 10 * Costs().resize_s

SETTLED_S = 60.0
"""After this long, devices that were asked back have changed hands."""


def a_study(random: Random, name: str, *, most: int = 40) -> SimulatedStudy:
    k_max = random.choice((1, 2, 4, 8))
    brackets = random.choice((1, 1, 3))
    trials = [
        SimulatedTrial(
            number=number,
            curve=synthetic.curve(random, 27),
            epoch_s=synthetic.epoch_s(random, random.choice((10.0, 60.0))),
            speedups=synthetic.speedups(k_max, random.choice((0.02, 0.1, 0.3))),
            bracket=number % brackets,
        )
        for number in range(random.randint(1, most))
    ]
    return SimulatedStudy(
        name=name,
        trials=trials,
        milestones=random.choice(((1, 3, 9, 27), (3, 9, 27), (2, 5, 20))),
        eta=random.choice((2, 3, 4)),
        arrive_s=random.choice((0.0, random.uniform(0.0, 900.0))),
        weight=random.choice((1.0, 1.0, 3.0)),
        priority=random.choice((0, 0, 1)),
        tells_speed=random.random() < 0.5,
        can_pause=random.random() < 0.8,
    )


def a_backlog(
    random: Random, name: str, *, arrive_s: float = 0.0, trials: int = 400, epoch_s: float = 30.0
) -> SimulatedStudy:
    """A study that wants more than there is for as long as anybody looks."""
    k_max = random.choice((1, 2, 4, 8))
    return SimulatedStudy(
        name=name,
        trials=[
            SimulatedTrial(
                number=number,
                curve=synthetic.curve(random, 27),
                epoch_s=epoch_s,
                speedups=synthetic.speedups(k_max, random.choice((0.02, 0.1, 0.3))),
            )
            for number in range(trials)
        ],
        milestones=(1, 3, 9, 27),
        weight=random.choice((1.0, 2.0, 3.0)),
        arrive_s=arrive_s,
    )


def a_pool(random: Random, *, least: int = 1) -> list[NodeUp]:
    return pool_of(random.randint(least, 24), random.choice((1, 4, 8)))


scenarios = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))


@given(seed=st.integers(0, 2**32), failing=st.booleans())
@scenarios
def test_every_trial_ends_once_whatever_fails(seed: int, failing: bool) -> None:
    """Invariants 1, 2, 4 and 9; with failures no trial is lost and no finished epoch is trained again."""
    random = Random(seed)
    studies = [a_study(random, name) for name in "abc"[: random.randint(1, 3)]]
    ended: Counter[tuple[str, int]] = Counter()
    watch = Watch(ElasticPolicy(), cooldown_s=COOLDOWN_S, simple=False)

    def decide(events: Sequence[PoolEvent]) -> list[Action]:
        ended.update((e.study, e.number) for e in events if isinstance(e, TrialEnded))
        return watch.steps(events)

    failures = Failures(mtbf_s=random.choice((600.0, 3000.0)), repair_s=120.0) if failing else None
    outcome = Simulation(
        nodes=a_pool(random), studies=studies, decide=decide, failures=failures, seed=random.randrange(1000)
    ).run()
    assert not ended or max(ended.values()) == 1
    for study in studies:
        seen = outcome.studies[study.name]
        assert seen.finished + seen.stopped == len(study.trials)
        assert seen.finished >= 1 or not seen.incumbents
        assert seen.lost_epochs <= seen.losses, "less than an epoch a loss: checkpoints are kept"


@given(seed=st.integers(0, 2**32))
@scenarios
def test_no_device_idles_beside_who_could_use_it(seed: int) -> None:
    """Invariants 3 and 6, after every decision, for studies of any class that can pause."""
    random = Random(seed)
    studies = [a_study(random, name) for name in "abcd"[: random.randint(1, 4)]]
    studies = [SimulatedStudy(**{**_fields(s), "can_pause": True}) for s in studies]
    watch = Watch(ElasticPolicy(), cooldown_s=COOLDOWN_S)
    Simulation(nodes=a_pool(random, least=4), studies=studies, decide=watch.steps).run()
    assert watch.checks == watch.decisions > 0


@given(seed=st.integers(0, 2**32))
@scenarios
def test_a_higher_class_takes_all_but_the_first_device_of_the_others(seed: int) -> None:
    """Invariant 11: whenever a study of a higher class wants the pool, those below are owed no more than their first
    device each; once devices have had the time to change hands they hold no more either, whatever arrives or ends."""
    random = Random(seed)
    low = [a_study(random, name) for name in ("low", "lower")[: random.randint(1, 2)]]
    low = [SimulatedStudy(**{**_fields(s), "priority": random.randint(0, 1), "can_pause": True}) for s in low]
    high = a_backlog(random, "high", arrive_s=300.0)
    high = SimulatedStudy(**{**_fields(high), "priority": 2})
    policy = ElasticPolicy()
    moments = 0

    def decide(events: Sequence[PoolEvent]) -> list[Action]:
        nonlocal moments
        actions = policy.steps(events)
        rows = {row.study: row for row in policy.shares(events[-1].at)}
        if "high" in rows and rows["high"].wanted >= policy.capacity and events[-1].at > 300.0:
            below = [row for name, row in rows.items() if name != "high"]
            assert all(row.owed <= 1 for row in below), rows
            if events[-1].at > 300.0 + SETTLED_S:
                moments += 1
                assert all(row.held <= 1 for row in below), rows
        return actions

    Simulation(nodes=a_pool(random, least=2), studies=[*low, high], decide=decide, until_s=1500.0).run()
    assert moments


@given(seed=st.integers(0, 2**32), gpus=st.integers(1, 12))
@scenarios
def test_without_risk_it_is_successive_halving(seed: int, gpus: int) -> None:
    """Invariant 12, for any pool, any eta and any rungs."""
    random = Random(seed)
    truth = SimulatedStudy(**{**_fields(a_study(random, "s")), "can_pause": True})
    trials = [SimulatedTrial(**{**_fields(t), "bracket": 0}) for t in truth.trials]
    truth = SimulatedStudy(**{**_fields(truth), "trials": trials})
    expected = [{trial.number for trial in rung} for rung in exact_halving(truth)]
    assert reached_without_risk(truth, pool_of(gpus)) == expected


@pytest.mark.slow
@given(seed=st.integers(0, 2**32))
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_backlogged_study_gets_its_part_of_any_ten_minutes(seed: int) -> None:
    """Invariant 7: at least 0.9 of the entitlement, counted in devices held, from a minute after the last arrival."""
    random = Random(seed)
    studies = [
        a_backlog(random, name, arrive_s=random.choice((0.0, random.uniform(0.0, 300.0))))
        for name in "abcde"[: random.randint(2, 5)]
    ]
    total = sum(study.weight for study in studies)
    policy = ElasticPolicy()
    used: list[tuple[float, dict[str, float]]] = []

    def decide(events: Sequence[PoolEvent]) -> list[Action]:
        actions = policy.steps(events)
        used.append((events[-1].at, {row.study: row.used_gpu_hours for row in policy.shares(events[-1].at)}))
        return actions

    gpus = random.choice((8, 12, 16, 24))
    Simulation(nodes=pool_of(gpus), studies=studies, decide=decide, until_s=2200.0).run()
    for begin in range(360, 1560, 60):
        before = [hours for at, hours in used if at <= begin][-1]
        after = [hours for at, hours in used if at <= begin + 600.0][-1]
        for study in studies:
            entitled = int(gpus * study.weight / total) * 600.0 / 3600.0
            assert after[study.name] - before[study.name] >= 0.9 * entitled, (begin, study.name)


@given(seed=st.integers(0, 2**32))
@scenarios
def test_little_time_is_lost_to_starts_and_resizes(seed: int) -> None:
    """Invariant 9, its other half: of the time that devices are held, at most 5 % is spent standing still."""
    random = Random(seed)
    studies = [a_backlog(random, name, trials=60, epoch_s=60.0) for name in "abc"[: random.randint(1, 3)]]
    outcome = Simulation(nodes=a_pool(random), studies=studies, decide=ElasticPolicy().steps).run()
    assert outcome.stalled <= 0.05 * outcome.busy


@pytest.mark.slow
def test_two_hours_of_a_pool_whose_nodes_fail() -> None:
    """The short form of `make soak`: no trial is lost; a failure costs no more than the epoch that was under way."""
    result = soak(gpus=64, hours=2.0, mtbf_h=1.0, seed=1)
    assert result["failures_seen"] > 20
    assert result["trials_lost"] == 0
    assert result["utilisation"] > 0.8


def _fields(value: object) -> dict[str, object]:
    return {name: getattr(value, name) for name in value.__slots__}  # type: ignore[attr-defined]
