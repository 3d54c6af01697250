"""`reproducible=`: the same trials on any pool and at any pace, also when the program was left in between."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal.errors import SpecError
from shoal.scheduler.port import Request
from shoal.search.editing import edit
from shoal.search.instructions import Ask
from shoal.search.replay import load_study
from shoal.search.reproducible import LAG
from shoal.search.spec import StudySpec
from shoal.search.strategies.history import past_asks
from shoal.service.cli.overrides import overridden
from shoal.service.strategy_host import InProcessHost
from shoal.service.study_run import StudyRun
from shoal.spaces import Float, Int, Space

SPACE = Space(x=Float(0.0, 1.0), n=Int(1, 8))


def world(make_head: Any, pace: int, **more: Any) -> Any:
    """A pool whose trials take what a die says, the better the nearer x is to 0.3; every seventh fails."""

    def model(number: int, config: Any, seed: int, step: int) -> Any:
        if step > 2:
            return None
        seconds = random.Random(f"{pace}/{number}/{step}").choice([0.1, 1.0, 30.0])
        score = -abs(config["x"] - 0.3) * config["n"]
        return seconds, {"score": float("nan") if number % 7 == 6 else score}

    return make_head(model, **more)


def study(make_study: Any, **settings: Any) -> Any:
    given = {"space": SPACE, "trials": 40, "strategy": "evolution", "strategy_options": {"population": 4}}
    return make_study(**(given | settings))


def tried(state: Any) -> list[Any]:
    return [state.trials[number].config for number in sorted(state.trials)]


@pytest.mark.parametrize("reproducible", [1, 5, True])
def test_the_same_trials_on_every_pool_at_every_pace(reproducible: Any, make_head: Any, make_study: Any) -> None:
    found = []
    for pace, gpus in ((1, 1), (2, 2), (3, 7), (4, 16)):
        pool = world(make_head, pace, gpus=gpus)
        state = pool.add(study(make_study, reproducible=reproducible))
        pool.head.run()
        assert state.status == "completed" and len(state.trials) == 40
        found.append(tried(state))
    assert found[1:] == found[:1] * 3


def test_otherwise_the_pace_decides(make_head: Any, make_study: Any) -> None:
    found = []
    for pace in (1, 2):
        pool = world(make_head, pace, gpus=7)
        state = pool.add(study(make_study))
        pool.head.run()
        found.append(tried(state))
    assert found[0] != found[1]


class AskedHost(InProcessHost):
    """Keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[Any, ...]] = []

    def ask(self, study: str, ask: int, first_number: int, n: int, *rest: Any, **named: Any) -> None:
        results, pending, seed = rest[:3]
        self.asked.append((ask, first_number, n, tuple(results), tuple(pending), seed))
        super().ask(study, ask, first_number, n, *rest, **named)


def test_a_proposal_knows_the_results_before_its_lag_and_no_others(make_head: Any, make_study: Any) -> None:
    host = AskedHost()
    pool = world(make_head, 3, gpus=7, host=host)
    pool.add(study(make_study, reproducible=5))
    pool.head.run()
    told: list[int] = []
    for _, first, n, results, pending, _ in host.asked:
        told += [result.number for result in results]
        assert n == 1 and told == list(range(max(first - 5, 0))), "in order of their numbers"
        assert [trial.number for trial in pending] == list(range(max(first - 5, 0), first))
        assert all(trial.curve == () for trial in pending) and all(result.cost_s == 0.0 for result in results)
    again = past_asks(pool.journal.read("s"))
    assert [(p.ask, p.first_number, p.n, p.results, p.pending, p.seed) for p in again] == host.asked


def test_left_in_between_it_goes_on_with_the_same_trials(make_head: Any, make_study: Any) -> None:
    whole = world(make_head, 1, gpus=3)
    undisturbed = whole.add(study(make_study, reproducible=4))
    whole.head.run()
    first = world(make_head, 2, gpus=5)
    state = first.add(study(make_study, reproducible=4))
    first.turns(lambda: len(state.ended) >= 12)
    second = world(make_head, 3, gpus=2, journal=first.journal)
    state = load_study(first.journal, "s")
    request = Request(k_min=1, k_max=1, gpus=Fraction(1), cpus=0)
    second.head.add(StudyRun(state, first.journal, request, None, Path()))
    second.head.run()
    assert tried(state) == tried(undisturbed)


def test_ask_and_tell_in_any_order(make_study: Any) -> None:
    def told(order: int) -> list[Any]:
        by_hand = study(make_study, trials=20, reproducible=3)
        dice, asked, found = random.Random(order), [], []
        while len(found) < 20 or asked:
            oldest = min((one.number for one in asked), default=len(found))
            if len(found) < 20 and oldest >= len(found) - 3:
                asked.append(by_hand.ask())
                found.append(asked[-1].config)
                continue
            one = asked.pop(dice.randrange(len(asked)))
            by_hand.tell(one, -abs(one.config.x - 0.3))
        return found

    assert told(1) == told(2) == told(3)


@pytest.mark.parametrize(
    ("settings", "cause", "remedy"),
    [
        ({"early_stopping": shoal.ASHA(max_epochs=9)}, "early_stopping='asha': it compares", "patience, threshold"),
        ({"trial_time_limit_s": 9.0}, "trial_time_limit_s=9: a clock would decide", "Leave trial_time_limit_s out"),
        ({"time_limit_s": 60.0}, "time_limit_s=60", "Leave time_limit_s out"),
        ({"gpu_hours": 1.0}, "gpu_hours=1", "Leave gpu_hours out"),
        ({"strategy": "population", "strategy_options": {}}, "strategy='population'", "Use another strategy"),
        ({"strategy": "random_forest", "strategy_options": {"cost_aware": True}}, "cost_aware", "Leave cost_aware"),
        ({"reproducible": 0}, "reproducible=0 is not a whole number of at least 1", "reproducible=8"),
        ({"reproducible": "yes"}, "reproducible='yes' is not a whole number", "reproducible=8"),
    ],
)
def test_what_a_clock_decides_is_refused(settings: Any, cause: str, remedy: str, make_study: Any) -> None:
    with pytest.raises(SpecError) as caught:
        study(make_study, **({"reproducible": True} | settings))
    assert cause in caught.value.cause and remedy in caught.value.remedy


def test_it_is_part_of_the_spec(make_study: Any) -> None:
    spec = study(make_study, reproducible=True, early_stopping=shoal.Patience(epochs=3)).spec()
    assert spec.reproducible == LAG and StudySpec.from_json(spec.to_json()) == spec
    assert overridden(spec, {"reproducible": 3}).reproducible == 3
    assert study(make_study).spec().reproducible is None
    with pytest.raises(SpecError, match="has reproducible 8 and is opened with None"):
        edit(spec, overridden(spec, {"reproducible": None}))
    with pytest.raises(SpecError, match="cannot have early_stopping='median'"):
        overridden(spec, {"early_stopping": "median"})


def test_an_ask_is_recorded_with_one_proposal(make_head: Any, make_study: Any) -> None:
    pool = world(make_head, 1, gpus=4)
    state = pool.add(study(make_study, reproducible=2, trials=6))
    outcome = state.wish(8, 0.0, 2)
    (ask,) = [instruction for instruction in outcome.instructions if isinstance(instruction, Ask)]
    assert (ask.first_number, ask.n) == (0, 1)
