"""Architectures that fit no device are refused before anything starts, with what would fit; the strategy is told."""

import numpy as np

from shoal.search.events import Enqueued, TrialInfeasible, TrialProposed
from shoal.search.instructions import Ask, Offer
from shoal.search.strategies.port import Proposal
from shoal.search.study_state import StudyState
from shoal.search.transitions import TrialStatus
from shoal.service.feasibility import DeviceMemory, judged
from shoal.service.ports import Answer
from shoal.service.strategy_host import InProcessHost
from shoal.spaces import Constant, Space
from shoal.spaces.architectures import MLP
from shoal.tests.specs import plain_spec

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
    spec = plain_spec(SPACE, name="refused", trials=1)
    state = StudyState.create(spec)
    (ask,) = state.wish(1, at=0.0, seq=1).instructions
    refused = judged([proposal()], DeviceMemory(size_bytes=1000, gpu=False))
    outcome = state.answer(ask.ask, refused, False, "", at=1.0, seq=1)
    assert any(isinstance(event, TrialInfeasible) and "needs" in event.reason for event in outcome.events)
    assert state.trials[0].status is TrialStatus.INFEASIBLE
    assert [result.state for result in state.untold_results()] == ["infeasible"]
    assert state.status == "failed" and state.exit_code == 5


def test_what_a_person_enqueues_is_refused_too() -> None:
    """It is judged where torch is, before it becomes a trial; and it does not stand in the way of what fits."""
    spec = plain_spec(SPACE, name="refused", trials=2)
    state = StudyState.create(spec)
    first, second = (SPACE.sample(np.random.default_rng(seed)) for seed in (1, 2))
    for seq, config in enumerate((first, second), start=1):
        state.handle(Enqueued(at=0.0, config=config.to_json(), key=config.key()), seq)
    (ask,) = state.wish(1, at=0.0, seq=3).instructions
    assert isinstance(ask, Ask) and ask.n == 0 and len(ask.wanted) == 2
    assert not state.trials, "nothing starts before it is judged"
    host = InProcessHost(device=DeviceMemory(size_bytes=1000, gpu=False))
    host.open("refused", spec)
    wanted = [config for _, config in ask.wanted]
    host.ask("refused", ask.ask, ask.first_number, ask.n, ask.results, ask.pending, ask.seed, wanted)
    (answer,) = host.drain()
    assert isinstance(answer, Answer) and not answer.exhausted
    outcome = state.answer(answer.ask, [answer.proposals[0], proposal()], False, "", at=1.0, seq=3)
    assert [type(event) for event in outcome.events] == [TrialProposed, TrialInfeasible, TrialProposed]
    assert [record.source for record in state.trials.values()] == ["enqueued"] * 2
    assert [record.status for record in state.trials.values()] == [TrialStatus.INFEASIBLE, TrialStatus.QUEUED]
    assert "needs" in state.trials[0].message
    assert [instruction.number for instruction in outcome.instructions if isinstance(instruction, Offer)] == [1]


def test_where_judging_fails_it_is_tried() -> None:
    spec = plain_spec(SPACE, name="tried", trials=1)
    state = StudyState.create(spec)
    config = SPACE.sample(np.random.default_rng(1))
    state.handle(Enqueued(at=0.0, config=config.to_json(), key="mine"), 1)
    (ask,) = state.wish(1, at=0.0, seq=2).instructions
    state.answer(ask.ask, [], False, "the process died", at=1.0, seq=2)
    assert [record.status for record in state.trials.values()] == [TrialStatus.QUEUED]
