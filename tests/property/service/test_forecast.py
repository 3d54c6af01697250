"""Forecasts of studies on pools that nobody has yet."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import shoal
from shoal.errors import PoolError, SpecError
from shoal.search.spec import Budget, StudySpec
from shoal.service.forecast import POLICIES, Pool, forecast
from shoal.service.simulated_studies import Assumptions, Past, simulated
from shoal.spaces import Float, Space


def spec(**settings: Any) -> StudySpec:
    wanted: dict[str, Any] = {
        "space": Space(x=Float(0.0, 1.0)),
        "train": lambda config: config.x,
        "maximize": "score",
        "trials": 27,
        "early_stopping": shoal.ASHA(max_epochs=27),
        "workers": (1, 4),
        "gpus_per_worker": 1,
        "name": "s",
    }
    return shoal.Study(**(wanted | settings)).spec()


def pausing(given: StudySpec) -> StudySpec:
    return replace(given, entry=replace(given.entry, kind="trial"))


def test_more_gpus_take_less_time_and_the_same_work_at_best() -> None:
    study = simulated(pausing(spec()), Assumptions())
    small, large = (forecast([study], Pool(gpus=gpus), "elastic") for gpus in (4, 16))
    assert large.makespan_s < small.makespan_s
    assert large.time_to_best_s <= large.makespan_s
    assert 0.0 < large.goodput <= large.utilisation <= 1.0
    assert large.gpu_hours == pytest.approx(large.utilisation * 16 * large.makespan_s / 3600)
    assert large.fairness is None


def test_every_policy_brings_every_trial_to_an_end() -> None:
    study = simulated(pausing(spec()), Assumptions(seed=3))
    for policy in POLICIES:
        found = forecast([study], Pool(gpus=8, static_workers=2), policy)
        assert found.trained_in_full >= 1, policy
        assert found.makespan_s > 0, policy


def test_hyperband_deals_trials_to_its_brackets() -> None:
    study = simulated(pausing(spec(early_stopping=shoal.Hyperband(max_epochs=81), trials=80)), Assumptions())
    ladders = study.ladders()
    rungs = (1, 3, 9, 27, 81)
    assert [ladder.milestones for ladder in ladders] == [rungs[bracket:] for bracket in range(5)]
    assert sum(ladder.planned for ladder in ladders) == 80
    assert ladders[0].planned > ladders[1].planned > ladders[-1].planned
    found = forecast([study], Pool(gpus=8), "elastic")
    assert found.trained_in_full >= ladders[-1].planned, "the last bracket trains everything in full"


@pytest.mark.parametrize("top", [5, 10, 244])
def test_odd_maxima_have_the_right_number_of_brackets(top: int) -> None:
    rule = shoal.Hyperband(max_epochs=top)
    study = simulated(pausing(spec(early_stopping=rule, trials=40)), Assumptions())
    count = next(c for c in range(20) if 3 ** (c + 1) > top) + 1
    assert len(study.ladders()) == count
    assert all(ladder.milestones[-1] == top for ladder in study.ladders())


def test_the_studys_own_rule_stops_trials() -> None:
    never = simulated(spec(early_stopping=None), Assumptions(epochs=10))
    median = simulated(spec(early_stopping="median"), Assumptions(epochs=10))
    threshold = simulated(spec(early_stopping=shoal.Threshold(lower=0.0)), Assumptions(epochs=10))
    assert forecast([never], Pool(gpus=4), "elastic").epochs == pytest.approx(270.0)
    assert forecast([median], Pool(gpus=4), "elastic").epochs < 270.0
    assert forecast([threshold], Pool(gpus=4), "elastic").epochs == pytest.approx(27.0), "all values are below 0"


def test_several_studies_say_how_fair_it_was() -> None:
    studies = [simulated(pausing(spec(name=name)), Assumptions(seed=seed)) for seed, name in enumerate("ab")]
    found = forecast(studies, Pool(gpus=8), "elastic")
    assert found.fairness is not None
    assert 0.3 < found.fairness < 1.3
    assert list(found.done_s) == ["a", "b"]
    assert max(found.done_s.values()) == found.makespan_s


def test_a_budget_ends_it_early() -> None:
    whole = forecast([simulated(pausing(spec(trials=81)), Assumptions())], Pool(gpus=4), "elastic")
    limited = pausing(replace(spec(), budget=Budget(trials=81, gpu_hours=1.0)))
    part = forecast([simulated(limited, Assumptions())], Pool(gpus=4), "elastic")
    one_training_h = 27 * 60 * 3 / 3600
    assert part.gpu_hours < min(1.0 + one_training_h, whole.gpu_hours)
    assert part.trained_in_full == 1


def test_a_recorded_past_is_drawn_from() -> None:
    past = [Past(curve=(0.5, 0.4, 0.3), epoch_s=10.0), Past(curve=(0.9,), epoch_s=30.0)]
    study = simulated(pausing(spec()), Assumptions(), past=past)
    assert {trial.epoch_s for trial in study.trials} == {10.0, 30.0}
    assert {len(trial.curve) for trial in study.trials} == {27}
    assert {trial.curve[-1] for trial in study.trials} == {0.3, 0.9}, "the last value is kept"
    scaled = simulated(pausing(spec()), Assumptions(epoch_s=40.0), past=past)
    assert {trial.epoch_s for trial in scaled.trials} == {20.0, 60.0}


def test_the_cost_model_gives_times_and_speedups() -> None:
    networks = [
        [{"macs": 10**9, "parameters": 10**6, "batch": 256}],
        [{"macs": 3 * 10**9, "parameters": 10**8, "batch": 256}],
    ]
    study = simulated(pausing(spec()), Assumptions(samples=50_000), networks=networks)
    small, large = study.trials[:2]
    assert large.epoch_s == pytest.approx(3 * small.epoch_s)
    assert small.speedups[2] > large.speedups[2], "the one with a hundred times the gradients scales worse"
    relative = simulated(pausing(spec()), Assumptions(epoch_s=60.0), networks=networks)
    assert [trial.epoch_s for trial in relative.trials[:2]] == [30.0, 90.0]


def test_node_failures_cost_some_time() -> None:
    study = simulated(pausing(spec(trials=81)), Assumptions())
    calm = forecast([study], Pool(gpus=8, gpus_per_node=2), "elastic")
    rough = forecast([study], Pool(gpus=8, gpus_per_node=2, mtbf_h=0.3), "elastic")
    assert rough.makespan_s > calm.makespan_s
    assert rough.lost_epochs > 0.0


@pytest.mark.parametrize(
    ("settings", "assumed", "cause"),
    [
        ({"early_stopping": None}, Assumptions(), "how long a trial of study s trains is not known"),
        ({"trials": None, "time_limit_s": 60.0}, Assumptions(), "sets no number of trials"),
        ({"gpus_per_worker": 0}, Assumptions(), "asks for no GPU"),
    ],
)
def test_what_is_not_known_is_asked_for(settings: dict[str, Any], assumed: Assumptions, cause: str) -> None:
    with pytest.raises(SpecError, match=cause):
        simulated(spec(**settings), assumed)


def test_a_pool_that_is_too_small_is_refused() -> None:
    study = simulated(pausing(spec(workers=4)), Assumptions())
    with pytest.raises(PoolError, match="needs 4 workers of 1 GPU, and a pool of 2 GPUs on one node has too few"):
        forecast([study], Pool(gpus=2), "elastic")


@pytest.mark.parametrize(
    ("settings", "pool", "policy", "cause"),
    [
        ({"gpus_per_worker": 9}, Pool(gpus=32), "elastic", "needs 9 GPUs, and a pool of 32 GPUs on nodes of 8"),
        ({"workers": 16}, Pool(gpus=32), "fifo", "needs 16 workers of 1 GPU, and a pool of 32 GPUs on nodes of 8"),
        ({"workers": (1, 4)}, Pool(gpus=2, static_workers=4), "static_k", "needs 4 workers of 1 GPU"),
        ({"gpus_per_worker": 0.3, "workers": 8}, Pool(gpus=2), "elastic", "needs 8 workers of 0.3 GPU"),
    ],
)
def test_trials_that_no_node_could_hold_are_refused(
    settings: dict[str, Any], pool: Pool, policy: Any, cause: str
) -> None:
    study = simulated(pausing(spec(**settings)), Assumptions())
    with pytest.raises(PoolError, match=cause):
        forecast([study], pool, policy)


def test_every_policy_gives_a_gang_its_workers() -> None:
    studies = [simulated(pausing(spec(workers=(2, 4), name=name)), Assumptions()) for name in "ab"]
    for policy in POLICIES:
        found = forecast(studies, Pool(gpus=6, static_workers=4), policy)
        assert found.trained_in_full >= 2, policy
        assert found.fairness is not None and found.fairness > 0, policy


def test_stopping_over_all_objectives_is_simulated() -> None:
    """In the stopping form, as a live study has it for trials that cannot pause; every objective has its curve."""
    both = {"maximize": None, "minimize": ["loss", "latency"], "trials": 54}
    given = pausing(spec(**both, early_stopping=shoal.ASHA(max_epochs=27, metric="all")))
    study = simulated(given, Assumptions())
    assert (study.rule, study.milestones) == ("stop", (27,))
    over_all = forecast([study], Pool(gpus=4), "elastic")
    assert 1 <= over_all.trained_in_full < 54
    first = pausing(spec(**both, early_stopping=shoal.ASHA(max_epochs=27, form="stopping")))
    assert forecast([simulated(first, Assumptions())], Pool(gpus=4), "elastic").epochs != over_all.epochs


def test_recorded_curves_of_all_objectives_are_drawn_together() -> None:
    """Trials that are alike in the first objective are told apart by the second."""
    both = {"maximize": None, "minimize": ["loss", "latency"], "trials": 60}
    given = pausing(spec(**both, early_stopping=shoal.ASHA(max_epochs=9, metric="all")))
    past = [Past(curve=(curve,), epoch_s=curve, others=((other,),)) for curve, other in ((0.5, 0.9), (0.50001, 0.1))]
    study = simulated(given, Assumptions(), past=past)
    assert study.judge is not None
    judge = study.judge()
    went_on: dict[float, list[bool]] = {0.5: [], 0.50001: []}
    for trial in study.trials:
        went_on[trial.epoch_s].append(judge(trial.number, 1, 0.5))
    quick, slow = (sum(row) / len(row) for row in (went_on[0.50001], went_on[0.5]))
    assert quick > 2 * slow
