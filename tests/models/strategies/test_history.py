"""The asks that a journal tells of are those that were made, and bring a strategy back as it was."""

from __future__ import annotations

import pytest

from shoal.search.early_stopping.unstopped import UnstoppedRule
from shoal.search.events import Event, HeadOpened, StudyCreated, TrialAssigned, TrialEnded
from shoal.search.instructions import Ask, Outcome
from shoal.search.spec import Budget, Chosen, EntryPoint, Objective, StudySpec
from shoal.search.strategies import make
from shoal.search.strategies.history import past_asks
from shoal.search.strategies.port import Proposal
from shoal.search.study_state import StudyState
from shoal.spaces import Float, Space

SPACE = Space(x=Float(0.0, 1.0), y=Float(0.0, 1.0))
SPEC = StudySpec(
    name="s",
    space=SPACE.to_json(),
    objectives=(Objective(metric="score", direction="maximize"),),
    entry=EntryPoint(kind="objective"),
    strategy=Chosen(name="cmaes", options={"popsize": 3}),
    early_stopping=Chosen(name="none"),
    budget=Budget(trials=30),
    seed=2,
)
pytestmark = pytest.mark.slow  # cmaes imports scipy

FAILS = 4  # the ask that the strategy does not answer


class Study:
    """A study that is run by hand, two trials at a time."""

    def __init__(self) -> None:
        self.state = StudyState(SPEC, make_rule=lambda *_: UnstoppedRule(), needs_history=lambda _: True)
        self.events: list[Event] = []
        self.asks: list[Ask] = []
        self.strategy = make(SPEC.strategy, SPACE, SPEC.objectives, seed=SPEC.seed)
        self.handle(StudyCreated(at=0.0, spec=SPEC.to_json()))
        self.handle(HeadOpened(at=0.0, fence=1, host="here", pid=1))

    def take(self, outcome: Outcome) -> None:
        self.events += outcome.events
        for instruction in outcome.instructions:
            if isinstance(instruction, Ask):
                self.asks.append(instruction)

    def handle(self, event: Event) -> None:
        self.events.append(event)
        self.take(self.state.handle(event, len(self.events)))

    def turn(self, number: int) -> None:
        """Ask, answer, start the next trial and end the one before it."""
        self.take(self.state.wish(1, 1.0, len(self.events) + 1))
        asked = self.state.pending_ask
        if asked is not None:
            error = "it broke" if asked.ask == FAILS else ""
            proposals: list[Proposal] = []
            if not error:
                self.strategy.tell(asked.results)
                proposals = self.strategy.ask(asked.first_number, asked.n, asked.pending, asked.seed)
            else:
                self.strategy.tell(asked.results)
            self.take(self.state.answer(asked.ask, proposals, False, error, 1.0, len(self.events) + 1))
        self.handle(
            TrialAssigned(
                at=1.0, number=number, generation=1, node="a", workers=1, gpus=(), gpu_share=0.0, reason="its turn"
            )
        )
        if number:
            ended = number - 1
            self.handle(
                TrialEnded(at=1.0, number=ended, generation=1, outcome="completed", reason="done", value=0.1 * ended)
            )


@pytest.fixture
def study() -> Study:
    made = Study()
    for number in range(12):
        made.turn(number)
    return made


def test_the_asks_are_those_that_were_made(study: Study) -> None:
    past = past_asks(enumerate(study.events, start=1))
    made = [ask for ask in study.asks if ask.ask != FAILS]
    assert [(p.ask, p.first_number, p.n, p.seed) for p in past] == [(a.ask, a.first_number, a.n, a.seed) for a in made]
    assert [p.pending for p in past] == [a.pending for a in made]
    assert [r for p in past for r in p.results] == [r for a in study.asks for r in a.results]


def test_a_strategy_comes_back_as_it_was(study: Study) -> None:
    restored = make(SPEC.strategy, SPACE, SPEC.objectives, seed=SPEC.seed)
    for past in past_asks(enumerate(study.events, start=1)):
        restored.tell(past.results)
        restored.ask(past.first_number, past.n, past.pending, past.seed)
    last = study.state.pending_trials()
    results = study.state.untold_results()
    proposals = []
    for strategy in (restored, study.strategy):
        strategy.tell(results)
        proposals.append(strategy.ask(len(study.state.trials), 2, last, 9))
    assert proposals[0] == proposals[1]
