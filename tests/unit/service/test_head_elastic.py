"""The head with the elastic policy over a simulated pool: who decides at rungs, what a resize and a loss lead to."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal.scheduler.elastic_policy import ElasticPolicy
from shoal.scheduler.port import Action, Pause, PoolEvent, Promote, Request, Resize, Start, Stop
from shoal.search.events import (
    Event,
    HeadOpened,
    TrialAssigned,
    TrialDecided,
    TrialEnded,
    TrialResized,
    TrialResizing,
)
from shoal.search.replay import load_study
from shoal.search.snapshot import to_json
from shoal.search.story import story
from shoal.search.transitions import TrialStatus
from shoal.service.study_run import StudyRun
from shoal.trial_runner.cluster.ports import RunningTrial
from shoal.trial_runner.messages import Instruction, LaunchTrial, Reported, Resized, ResizeTrial, RunnerEvent
from shoal.trial_runner.simulated import SimulatedRunner

GROWS = Request(k_min=1, k_max=4, gpus=Fraction(1), cpus=0)
FULL = 27


def train(trial: shoal.Trial) -> None:
    """Never called: the simulated runner has a model instead."""
    raise AssertionError


def curve(number: int, config: Any, seed: int, step: int) -> tuple[float, dict[str, float]] | None:
    """27 epochs of ten seconds; better the nearer x is to 0.3."""
    return (10.0, {"score": 1.0 - abs(config["x"] - 0.3) - 1.0 / (step + 1)}) if step <= FULL else None


@dataclass
class Recorder:
    """The elastic policy, with everything that it was told and answered."""

    policy: ElasticPolicy = field(default_factory=ElasticPolicy)
    told: list[list[PoolEvent]] = field(default_factory=list)
    answered: list[Action] = field(default_factory=list)

    def step(self, event: PoolEvent) -> list[Action]:
        return self.steps([event])

    def steps(self, events: Sequence[PoolEvent]) -> list[Action]:
        actions = self.policy.steps(events)
        self.policy.validate_state()
        self.told.append(list(events))
        self.answered += actions
        return actions

    def __getattr__(self, name: str) -> Any:
        return getattr(self.policy, name)


class StubbornRunner(SimulatedRunner):
    """Answers the next resizes as the test wants: "refuse", or "lose" a worker instead."""

    def __init__(self, answers: Sequence[str]) -> None:
        super().__init__(curve)
        self.answers = list(answers)
        self.sent: list[ResizeTrial] = []
        self.held: dict[int, tuple[Any, ...]] = {}
        self.said: list[RunnerEvent] = []

    def perform(self, instruction: Instruction) -> None:
        if not isinstance(instruction, ResizeTrial):
            if hasattr(instruction, "slots"):
                self.held[instruction.number] = instruction.slots
            super().perform(instruction)
            return
        self.sent.append(instruction)
        if not self.answers:
            super().perform(instruction)
            return
        answer = self.answers.pop(0)
        facts: dict[str, Any] = {"study": instruction.study, "number": instruction.number, "stall_s": 0.0}
        facts |= {"generation": instruction.generation}
        before = self.held[instruction.number]
        if answer == "refuse":
            self.said.append(Resized(**facts, resize=instruction.resize, ok=False, slots=before, reason="not now"))
        else:  # it grew, and at once all but one of its workers died
            done = Resized(**facts, resize=instruction.resize, ok=True, slots=instruction.slots, reason="grown")
            self.said += [done, Resized(**facts, resize=0, ok=True, slots=instruction.slots[:1], reason="died")]

    def drain(self) -> list[RunnerEvent]:
        said, self.said = self.said, []
        return said or super().drain()

    def next_due_s(self) -> float | None:
        return 0.0 if self.said else super().next_due_s()


@pytest.fixture
def make_world(make_head: Any) -> Any:
    def make(**settings: Any) -> Any:
        return make_head(curve, policy=Recorder(), **settings)

    return make


@pytest.fixture
def halved(make_study: Any) -> Any:
    def make(**settings: Any) -> shoal.Study:
        study: shoal.Study = make_study(
            train=train, strategy="random", trials=27, early_stopping=shoal.ASHA(max_epochs=FULL), **settings
        )
        return study

    return make


def kinds(events: Sequence[Event], kind: type[Event]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def test_the_pool_decides_at_rungs_and_the_best_is_trained_in_full(make_world: Any, halved: Any) -> None:
    world = make_world()
    state = world.add(halved())
    world.head.run()
    assert state.status == "completed"
    assert state.counts()[TrialStatus.COMPLETED] == 1
    assert [record.last_step for record in state.trials.values()].count(FULL) == 1
    best = min(state.trials.values(), key=lambda record: abs(record.config["x"] - 0.3))
    assert best.number == state.best_number
    decided = kinds(world.events, TrialDecided)
    assert {event.by for event in decided if event.decision in ("promote", "pause")} == {"pool"}
    assert all("rung" in event.reason for event in decided if event.decision == "promote")
    assert state.epochs_trained < 120  # exact successive halving of 27 trials needs 81


def test_a_trial_grows_in_the_tail_and_its_story_says_why(make_world: Any, halved: Any) -> None:
    world = make_world()
    state = world.add(halved(), request=GROWS)
    world.head.run()
    orders, done = kinds(world.events, TrialResizing), kinds(world.events, TrialResized)
    assert orders and [e.resize for e in orders] == [e.resize for e in done]
    assert all(event.ok and event.reason for event in done)
    told = " ".join(text for _, text in story(world.events, orders[0].number))
    assert "told to go over to" in told and "times as fast" in told
    assert state.status == "completed"


def test_the_same_events_lead_to_the_same_actions_and_all_are_in_the_journal(make_world: Any, halved: Any) -> None:
    """Invariant 5: a fresh policy that is told the same decides the same."""
    world = make_world()
    world.add(halved(), request=GROWS)
    world.head.run()
    again = ElasticPolicy()
    actions = [action for events in world.policy.told for action in again.steps(events)]
    assert actions == world.policy.answered
    journaled: list[tuple[str, int]] = []
    for _, event in world.journal.read("s"):
        match event:
            case TrialAssigned():
                journaled.append(("Start", event.number))
            case TrialResizing():
                journaled.append(("Resize", event.number))
            case TrialDecided(by="pool", decision="pause"):
                journaled.append(("Pause", event.number))
    chosen = [(type(a).__name__, a.number) for a in actions if isinstance(a, Start | Resize | Pause)]
    assert journaled == chosen
    assert {Promote, Stop} <= {type(action) for action in actions}


def test_the_journal_alone_gives_the_same_study(make_world: Any, halved: Any) -> None:
    world = make_world()
    state = world.add(halved(), request=GROWS)
    world.turns(lambda: bool(kinds(world.events, TrialResized)))
    assert to_json(load_study(world.journal, "s")) == to_json(state)


def test_a_new_head_goes_on_with_the_same_rungs(make_world: Any, halved: Any) -> None:
    """What trials reported to a former head counts: the study ends with one trained in full, as undisturbed."""
    whole = make_world()
    undisturbed = whole.add(halved())
    whole.head.run()
    first = make_world()
    before = first.add(halved())
    first.turns(lambda: len(before.by_status[TrialStatus.PAUSED]) >= 12)

    second = make_world(journal=first.journal)
    state = load_study(first.journal, "s")
    second.head.add(StudyRun(state, first.journal, ONE, None, Path()))
    second.head.run()
    assert state.status == "completed"
    assert state.counts()[TrialStatus.COMPLETED] == 1
    assert state.best_number == undisturbed.best_number
    assert state.epochs_trained <= undisturbed.epochs_trained + 20


ONE = Request(k_min=1, k_max=1, gpus=Fraction(1), cpus=0)


def test_a_refused_resize_frees_what_was_kept_for_it(make_world: Any, halved: Any) -> None:
    runner = StubbornRunner(["refuse"])
    world = make_world(runner=runner)
    state = world.add(halved(), request=GROWS)
    world.head.run()  # the recorder checks the policy's books after every step
    refused = kinds(world.events, TrialResized)[0]
    assert not refused.ok and refused.reason == "not now"
    assert state.status == "completed"
    assert any("trains on 1 workers" in text for text in world.notices)


def test_lost_workers_are_free_again_and_the_trial_may_grow_anew(make_world: Any, halved: Any) -> None:
    runner = StubbornRunner(["lose"])
    world = make_world(runner=runner)
    state = world.add(halved(), request=GROWS)
    world.head.run()
    grown, lost, *later = kinds(world.events, TrialResized)
    assert (grown.ok, lost.resize, lost.workers) == (True, 0, 1)
    assert [order.number for order in runner.sent].count(grown.number) > 1
    assert later
    assert state.status == "completed"


def test_a_trial_that_cannot_pause_is_never_resized_nor_paused_by_the_pool(make_head: Any, halved: Any) -> None:
    world = make_head(policy=Recorder(), runner=SimulatedRunner(curve, can_pause=False))
    state = world.add(halved(), request=GROWS)
    world.head.run()
    assert state.status == "completed"
    assert not kinds(world.events, TrialResizing)
    assert not [event for event in kinds(world.events, TrialDecided) if event.by == "pool"]


class Bounded(SimulatedRunner):
    """Its trials say how many workers they can have."""

    def __init__(self, most: int) -> None:
        super().__init__(curve)
        self.most = most

    def drain(self) -> list[RunnerEvent]:
        return [replace(e, most_workers=self.most) if isinstance(e, Reported) else e for e in super().drain()]


@pytest.mark.parametrize(("most", "largest"), [(0, 1), (2, 2)])
def test_no_trial_gets_more_workers_than_it_can_use(make_world: Any, halved: Any, most: int, largest: int) -> None:
    """0: a function that prepares nothing cannot change its workers at all."""
    world = make_world(runner=Bounded(most))
    state = world.add(halved(), request=GROWS)
    world.head.run()
    assert state.status == "completed"
    assert max([event.workers for event in kinds(world.events, TrialResizing)], default=1) == largest


def test_a_paused_study_lets_go_and_comes_back(make_world: Any, halved: Any) -> None:
    world = make_world()
    state = world.add(halved(), request=GROWS)
    world.turns(lambda: len(state.by_status[TrialStatus.PAUSED]) >= 5)
    ask(world, verb="pause")
    world.turns(lambda: not state.by_status[TrialStatus.RUNNING])
    ask(world, verb="resume")
    world.head.run()
    assert state.status == "completed"
    assert state.counts()[TrialStatus.COMPLETED] == 1


def ask(world: Any, **command: Any) -> None:
    from shoal.service.commands import Command

    world.journal.put_command("s", Command(**command).to_json())
    world.head._next_poll = 0.0


def test_a_study_that_is_extended_takes_up_those_whom_the_pool_had_stopped(make_world: Any, halved: Any) -> None:
    first = make_world()
    first.add(halved())
    first.head.run()
    from shoal.search.events import StudyEdited

    second = make_world(journal=first.journal)
    state = load_study(first.journal, "s")
    larger = replace(state.spec, budget=replace(state.spec.budget, trials=81))
    edited = StudyEdited(at=state.last_at or 0.0, spec=larger.to_json(), reason="trials 27 -> 81")
    second.head.add(StudyRun(state, first.journal, ONE, None, Path()), [edited])
    second.head.run()
    assert state.status == "completed"
    assert state.counts()[TrialStatus.COMPLETED] >= 2  # the best 27 of 81, the best 9, the best 3, and of those one
    assert len(state.trials) == 81


def test_trials_that_went_on_without_a_head_are_taken_over(make_world: Any, halved: Any) -> None:
    runner = SimulatedRunner(curve)
    first = make_world(runner=runner)
    before = first.add(halved(), request=GROWS)
    first.turns(lambda: any(record.workers > 1 for record in before.trials.values()))
    running = before.numbers(TrialStatus.RUNNING)
    found = [
        RunningTrial(
            launch=launched(number, before.trials[number].generation),
            code="",
            slots=tuple(shoal_slot(slot) for slot in first.head._runs["s"].holdings.by_number[number].slots),
        )
        for number in running
    ]
    stranger = RunningTrial(launch=launched(running[0], 99), code="", slots=())
    second = make_world(runner=runner, journal=first.journal)
    state = load_study(first.journal, "s")
    run = StudyRun(state, first.journal, GROWS, None, Path())
    second.head.add(run, found=[*found, stranger])
    assert sorted(run.running) == running
    assert not run.holds(stranger)
    second.head.run()
    assert kinds(second.events, HeadOpened)[0].kept == running
    assert state.status == "completed"
    assert not [event for event in kinds(second.events, TrialEnded) if event.failure is not None]
    assert [record.last_step for record in state.trials.values()].count(FULL) == 1


def launched(number: int, generation: int) -> LaunchTrial:
    return LaunchTrial(
        study="s", number=number, generation=generation, config={}, seed=0, metric="score", direction="maximize",
        slots=(), max_workers=4, max_shards=4,
    )


def shoal_slot(slot: Any) -> Any:
    from shoal.service.holdings import as_slot

    return as_slot(slot)
