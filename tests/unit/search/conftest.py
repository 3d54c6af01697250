"""A study driven by hand: a rule that does as it is told, and short ways to say what happened."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from shoal.search.early_stopping.port import Promotion, StoppingRule, Verdict
from shoal.search.events import Event, HeadOpened, StudyCreated, TrialAssigned, TrialEnded, TrialReported
from shoal.search.instructions import Instruction, Offer, Outcome
from shoal.search.spec import Budget, Chosen, EntryPoint, Objective, StudySpec
from shoal.search.strategies.port import Proposal
from shoal.search.study_state import StudyState
from shoal.spaces import Int, Space

SPACE = Space(x=Int(0, 1000))


class ScriptedRule:
    """Gives the verdicts and promotions it was told to give, and remembers what it saw."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, int, float | None]] = []
        self.verdicts: dict[tuple[int, int], Verdict] = {}
        self.promotable: dict[int, int] = {}

    def observe(self, number: int, step: int, value: float | None) -> None:
        self.seen.append((number, step, value))

    def verdict(self, number: int, *, can_pause: bool) -> Verdict:
        step = max(step for seen, step, _ in self.seen if seen == number)
        return self.verdicts.get((number, step), Verdict(action="continue", reason="no rung here"))

    def promotions(self, paused: Sequence[int], *, closing: bool = False) -> list[Promotion]:
        found = [number for number in paused if number in self.promotable]
        return [Promotion(number=n, rung=self.promotable.pop(n), reason="the best of its rung") for n in found]

    def farewell(self, number: int) -> str:
        return f"trial {number} was never among the best of its rung"


class Driver:
    """One live study and the journal it would have written."""

    def __init__(self, spec: StudySpec, *, uses_history: bool) -> None:
        self.rules: list[ScriptedRule] = []
        self.uses_history = uses_history
        self.spec = spec
        self.state = self.fresh_state()
        self.events: list[Event] = []
        self.instructions: list[Instruction] = []
        self.at = 100.0
        self.handle(StudyCreated(at=self.at, spec=spec.to_json()))
        self.handle(HeadOpened(at=self.at, fence=1, host="here", pid=1))

    def make_rule(self, chosen: Chosen, objective: Objective) -> StoppingRule:
        self.rules.append(ScriptedRule())
        return self.rules[-1]

    def fresh_state(self) -> StudyState:
        return StudyState(self.spec, make_rule=self.make_rule, needs_history=lambda chosen: self.uses_history)

    @property
    def rule(self) -> ScriptedRule:
        rule = self.state.rule
        assert isinstance(rule, ScriptedRule)
        return rule

    def _take(self, outcome: Outcome) -> list[Instruction]:
        self.events += outcome.events
        self.instructions += outcome.instructions
        return list(outcome.instructions)

    def handle(self, event: Event) -> list[Instruction]:
        self.events.append(event)
        return self._take(self.state.handle(event, len(self.events)))

    def wish(self, room: int) -> list[Instruction]:
        return self._take(self.state.wish(room, self.at, len(self.events) + 1))

    def answer(self, *xs: int, exhausted: bool = False, error: str = "") -> list[Instruction]:
        assert self.state.pending_ask is not None
        proposals = [Proposal(config=SPACE.configuration({"x": x}), reason="a try") for x in xs]
        ask = self.state.pending_ask.ask
        return self._take(
            self.state.answer(ask, proposals, exhausted, error, self.at, len(self.events) + 1)
        )

    def propose(self, *xs: int) -> None:
        """Ask for exactly these."""
        offered = len(self.state.numbers(_status("queued")))
        self.wish(len(xs) - 1 + offered)
        self.answer(*xs)

    def assign(self, number: int) -> list[Instruction]:
        generation = self.state.trials[number].generation + 1
        return self.handle(
            TrialAssigned(
                at=self.at, number=number, generation=generation, node="here", workers=1, gpus=("0",),
                gpu_share=1.0, reason="room for it",
            )
        )

    def report(self, number: int, step: int, *, can_pause: bool = True, **metrics: Any) -> list[Instruction]:
        generation = self.state.trials[number].generation
        return self.handle(
            TrialReported(
                at=self.at, number=number, generation=generation, step=step, metrics=metrics, can_pause=can_pause
            )
        )

    def end(self, number: int, outcome: Any = "completed", reason: str = "returned", **more: Any) -> list[Instruction]:
        generation = self.state.trials[number].generation
        return self.handle(
            TrialEnded(at=self.at, number=number, generation=generation, outcome=outcome, reason=reason, **more)
        )

    def replayed(self) -> StudyState:
        """What a fold over the journal alone gives."""
        state = self.fresh_state()
        for seq, event in enumerate(self.events, start=1):
            state.apply(event, seq)
        return state

    def offers(self, instructions: list[Instruction]) -> list[int]:
        return [i.number for i in instructions if isinstance(i, Offer)]


def _status(name: str) -> Any:
    from shoal.search.transitions import TrialStatus

    return TrialStatus(name)


@pytest.fixture
def study() -> Callable[..., Driver]:
    def start(*, uses_history: bool = True, trials: int | None = 10, **changes: Any) -> Driver:
        budget = {
            name: changes.pop(name)
            for name in ("max_failures", "trial_time_limit_s", "study_time_limit_s")
            if name in changes
        }
        spec = StudySpec(
            name="digits",
            space=SPACE.to_json(),
            objectives=changes.pop("objectives", (Objective(metric="acc", direction="maximize"),)),
            entry=EntryPoint(kind="trial", module="study", function="train"),
            strategy=Chosen(name="fake"),
            early_stopping=Chosen(name="fake"),
            budget=Budget(trials=trials, **budget),
            **changes,
        )
        return Driver(spec, uses_history=uses_history)

    return start
