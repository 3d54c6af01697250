"""Architectures that fit no device are refused before anything starts, with what would fit; the strategy is told."""

import numpy as np

from shoal.search.events import TrialInfeasible
from shoal.search.spec import Budget, Chosen, EntryPoint, Objective, StudySpec
from shoal.search.strategies.port import Proposal
from shoal.search.study_state import StudyState
from shoal.search.transitions import TrialStatus
from shoal.service.feasibility import DeviceMemory, judged
from shoal.spaces import Constant, Space
from shoal.spaces.architectures import MLP

SPACE = Space(net=MLP(input_shape=(64,), num_classes=10), batch_size=Constant(64))


def proposal() -> Proposal:
    return Proposal(config=SPACE.sample(np.random.default_rng(0)), reason="a test wants it")


def test_what_fits_is_left_alone() -> None:
    (fine,) = judged([proposal()], DeviceMemory(size_bytes=2**40, gpu=True))
    assert fine.infeasible == ""
    (unknown,) = judged([proposal()], None)
    assert unknown.infeasible == ""


def test_what_fits_nowhere_says_what_it_needs() -> None:
    (refused,) = judged([proposal()], DeviceMemory(size_bytes=1000, gpu=False))
    assert "net needs" in refused.infeasible and "no batch fits" in refused.infeasible


def test_a_refused_trial_never_starts_and_is_told() -> None:
    spec = StudySpec(
        name="refused",
        space=SPACE.to_json(),
        objectives=(Objective(metric="loss", direction="minimize"),),
        entry=EntryPoint(kind="objective", module="m", function="f"),
        strategy=Chosen(name="random"),
        early_stopping=Chosen(name="none"),
        budget=Budget(trials=1),
    )
    state = StudyState.create(spec)
    (ask,) = state.wish(1, at=0.0, seq=1).instructions
    refused = judged([proposal()], DeviceMemory(size_bytes=1000, gpu=False))
    outcome = state.answer(ask.ask, refused, False, "", at=1.0, seq=1)
    assert any(isinstance(event, TrialInfeasible) and "needs" in event.reason for event in outcome.events)
    assert state.trials[0].status is TrialStatus.INFEASIBLE
    assert [result.state for result in state.untold_results()] == ["infeasible"]
    assert state.status == "failed" and state.exit_code == 5
