"""A strategy with state about its own asks is the same after a restart."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from shoal.scheduler.port import Request
from shoal.search.ask_history import load_with_asks
from shoal.search.events import StudyCreated, StudyEdited
from shoal.service.study_run import StudyRun
from shoal.spaces import Float, Space

ONE_GPU = Request(k_min=1, k_max=1, gpus=Fraction(1), cpus=0)


def model(number: int, config: Any, seed: int, step: int) -> Any:
    return (1.0, {"score": -((config["x"] - 0.3) ** 2) - (config["y"] + 0.1) ** 2}) if step == 1 else None


@pytest.mark.parametrize("strategy", ["cmaes", "nsga2"])
def test_a_restart_changes_no_proposal(make_head: Any, make_study: Any, strategy: str) -> None:
    space = Space(x=Float(0.0, 1.0), y=Float(-1.0, 1.0))
    study = make_study(space=space, strategy=strategy, trials=40)
    whole = make_head(model, gpus=1)
    undisturbed = whole.add(study)
    whole.head.run()

    first = make_head(model, gpus=1)
    before = first.add(study)
    first.turns(lambda: len(before.ended) >= 25)

    state, history = load_with_asks(first.journal, "s")
    assert len(history) > 5
    told = [result.number for past in history for result in past.results]
    assert len(told) == len(set(told))
    second = make_head(model, gpus=1)
    second.head._journal = first.journal
    second.head.add(StudyRun(state, first.journal, ONE_GPU, None, Path()), history=history)
    second.head.run()
    assert {n: r.config for n, r in state.trials.items()} == {n: r.config for n, r in undisturbed.trials.items()}


def test_another_strategy_has_nothing_to_repeat(make_head: Any, make_study: Any) -> None:
    space = Space(x=Float(0.0, 1.0), y=Float(-1.0, 1.0))
    world = make_head(model, gpus=1)
    created = make_study(space=space, strategy="cmaes", trials=6)
    world.add(created)
    world.head.run()
    changed = make_study(space=space, strategy="nsga2", trials=9).spec()
    world.journal.append("s", [StudyEdited(at=99.0, spec=changed.to_json(), reason="another strategy")])
    world.journal.commit()
    state, history = load_with_asks(world.journal, "s")
    assert history == []
    assert state.spec.strategy.name == "nsga2"
    assert len(state.untold_results()) == 6


def test_a_study_that_has_just_begun(make_head: Any, make_study: Any) -> None:
    world = make_head(model)
    spec = make_study(strategy="cmaes").spec()
    world.journal.append("s", [StudyCreated(at=0.0, spec=spec.to_json())])
    world.journal.commit()
    assert load_with_asks(world.journal, "s")[1] == []
