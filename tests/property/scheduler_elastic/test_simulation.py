"""The simulator, and what the policy does in it."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from shoal.scheduler.elastic_policy import ElasticPolicy
from shoal.scheduler.elastic_state import ElasticTuning
from shoal.scheduler.port import Action, NodeUp, PoolEvent, Resize, RungReached
from shoal.scheduler.simulator.baselines import EqualShare, fixed_size
from shoal.scheduler.simulator.bounds import bounds, exact_halving
from shoal.scheduler.simulator.engine import Simulation
from shoal.scheduler.simulator.workload import COLD, Costs, Failures, Outcome, SimulatedStudy, SimulatedTrial

FREE = Costs(start_s=0.0, resume_extra_s=0.0, resize_s=0.0)


def study(trials: int = 27, *, seed: int = 0, k_max: int = 8, **settings: object) -> SimulatedStudy:
    random = Random(seed)
    sizes = tuple(1 / (0.05 + 0.95 / (1 << i)) for i in range(k_max.bit_length()))
    made = []
    for number in range(trials):
        floor, speed = random.random(), random.uniform(0.5, 2.0)
        curve = tuple(floor + (1 - floor) / (1 + speed * epoch) for epoch in range(1, 28))
        made.append(SimulatedTrial(number=number, curve=curve, epoch_s=random.uniform(30, 90), speedups=sizes))
    base: dict[str, object] = {"name": "s", "trials": made, "milestones": (1, 3, 9, 27)}
    return SimulatedStudy(**(base | settings))  # type: ignore[arg-type]


def nodes(*gpus: int) -> list[NodeUp]:
    return [
        NodeUp(at=0.0, node=f"n{i}", gpus=tuple(f"n{i}.{g}" for g in range(n)), cpus=64, memory_gib=64.0)
        for i, n in enumerate(gpus)
    ]


def play(studies: Sequence[SimulatedStudy], pool: list[NodeUp], **settings: object) -> Outcome:
    settings.setdefault("decide", ElasticPolicy().steps)
    return Simulation(nodes=pool, studies=studies, **settings).run()  # type: ignore[arg-type]


def test_one_trial_on_one_gpu_takes_its_epochs() -> None:
    single = study(1, k_max=1)
    outcome = play([single], nodes(1), costs=FREE)
    assert outcome.makespan_s == pytest.approx(27 * single.trials[0].epoch_s)
    assert outcome.useful == pytest.approx(outcome.makespan_s)
    assert outcome.utilisation == pytest.approx(1.0)


def test_costs_are_paid_where_they_arise() -> None:
    single = study(1, k_max=1)
    outcome = play([single], nodes(1), costs=Costs(start_s=7.0))
    assert outcome.makespan_s == pytest.approx(27 * single.trials[0].epoch_s + 7.0)
    assert outcome.stalled == pytest.approx(7.0)


def reached_without_risk(truth: SimulatedStudy, pool: list[NodeUp]) -> list[set[int]]:
    """Who comes to each rung when nobody is promoted before that is certain."""
    reached: list[set[int]] = [set() for _ in truth.milestones]
    policy = ElasticPolicy(ElasticTuning(risked_epochs=0.0, scout_share=0.0))

    def decide(events: Sequence[PoolEvent]) -> list[Action]:
        for event in events:
            if isinstance(event, RungReached):
                reached[event.rung].add(event.number)
        return policy.steps(events)

    play([truth], pool, decide=decide)
    return reached


def test_without_risk_the_outcome_is_exact_halving() -> None:
    """Invariant 12."""
    truth = study()
    assert reached_without_risk(truth, nodes(8)) == [{t.number for t in rung} for rung in exact_halving(truth)]


@pytest.mark.parametrize("gpus", [(1,), (4,), (8, 8)])
def test_no_pool_size_changes_who_can_win(gpus: tuple[int, ...]) -> None:
    truth = study()
    outcome = play([truth], nodes(*gpus))
    mark = bounds(truth, sum(gpus))
    assert outcome.studies["s"].best <= mark.halving_best + 1e-9
    assert mark.lower_s <= outcome.makespan_s <= 1.6 * mark.phased_s


def test_the_policy_beats_the_baselines() -> None:
    truth, stopping = study(81), study(81, rule="stop")
    ours = play([truth], nodes(8)).makespan_s
    assert ours * 1.5 < play([stopping], nodes(8), decide=fixed_size(1), costs=COLD).makespan_s
    assert ours * 1.1 < play([stopping], nodes(8), decide=EqualShare().steps, costs=COLD).makespan_s


def test_unknown_speeds_are_learned() -> None:
    known = play([study(81)], nodes(8)).makespan_s
    assert play([study(81, tells_speed=False)], nodes(8)).makespan_s < 1.1 * known


def test_node_failures_lose_no_trial() -> None:
    """Every trial comes to an end, and what is lost is less than an epoch a failure."""
    outcome = play([study(81)], nodes(4, 4), failures=Failures(mtbf_s=400.0), seed=3)
    lost = outcome.studies["s"]
    assert lost.losses > 5
    assert lost.lost_epochs < lost.losses
    assert lost.finished + lost.stopped == 81


def test_t59_two_hundred_trials_on_four_gpus() -> None:
    """T59: none is stuck paused and the GPUs stay busy."""
    outcome = play([study(200)], nodes(4))
    assert outcome.studies["s"].finished + outcome.studies["s"].stopped == 200
    assert outcome.utilisation > 0.95


@pytest.mark.parametrize(("top", "eta"), [(7, 3), (10, 4), (5, 2), (81, 5)])
def test_t37_odd_ladders_come_to_an_end(top: int, eta: int) -> None:
    """T37: never "paused trials but none pending", whatever the maximum and eta."""
    milestones = [1]
    while milestones[-1] * eta < min(top, 27):
        milestones.append(milestones[-1] * eta)
    truth = study(20, milestones=(*milestones, min(top, 27)), eta=eta)
    outcome = play([truth], nodes(4))
    assert outcome.studies["s"].finished >= 1


def test_voluntary_resizes_keep_their_distance() -> None:
    """Invariant 9: at most one a cooldown and trial, and little standing still."""
    policy = ElasticPolicy()
    last: dict[int, float] = {}

    def decide(events: Sequence[PoolEvent]) -> list[Action]:
        actions = policy.steps(events)
        for action in actions:
            if isinstance(action, Resize):
                assert events[-1].at - last.get(action.number, -1e9) >= 10 * 3.0 - 1e-6
                last[action.number] = events[-1].at
        return actions

    outcome = play([study(81)], nodes(8, 8), decide=decide)
    assert last
    assert outcome.stalled < 0.05 * outcome.busy


def test_studies_share_from_the_first_minute() -> None:
    """Invariants 6 and 7: everybody starts within a minute; in ten minutes each trains 0.8 of what its
    half could at most, the time that starts take and epochs cut off at the end included."""
    long = [study(400, seed=i, name=name, k_max=4, arrive_s=100.0 * i) for i, name in enumerate(("a", "b"))]
    simulation = Simulation(nodes=nodes(8), studies=long, decide=ElasticPolicy().steps, until_s=700.0)
    first = simulation.run()
    assert all(s.first_start_s is not None for s in first.studies.values())
    assert all((s.first_start_s or 0.0) - s.arrived_s <= 60.0 for s in first.studies.values())
    later = Simulation(nodes=nodes(8), studies=long, decide=ElasticPolicy().steps, until_s=1300.0).run()
    gained = [later.studies[n].epochs - first.studies[n].epochs for n in ("a", "b")]
    mean_epoch_s = [sum(t.epoch_s for t in s.trials) / len(s.trials) for s in long]
    for epochs, epoch_s in zip(gained, mean_epoch_s, strict=True):
        assert epochs * epoch_s >= 0.8 * 4 * 600.0  # entitled to 4 of 8 GPUs; starts and epochs cut off cost some


@pytest.mark.parametrize("hours", [0.5, 1.0, 2.0])
def test_a_simulated_study_keeps_to_its_budget(hours: float) -> None:
    truth = study(81, gpu_hours=hours)
    outcome = play([truth], nodes(4))
    spent_hours = outcome.busy / 3600
    one_training = max(trial.epoch_s for trial in truth.trials) * 27 * 2 / 3600
    assert outcome.studies["s"].finished >= 1
    assert 0.8 * hours <= spent_hours <= hours + one_training
    assert outcome.studies["s"].finished + outcome.studies["s"].stopped == 81
