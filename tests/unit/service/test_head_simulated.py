"""The head loop over a simulated pool."""

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal.errors import JournalError
from shoal.scheduler.port import Request
from shoal.search.events import (
    StudyEdited,
    StudyEnded,
    TrialAssigned,
    TrialEnded,
    TrialInfeasible,
    TrialReported,
)
from shoal.search.replay import load_study
from shoal.search.transitions import TrialStatus
from shoal.service.ports import SuggestionAnswer
from shoal.service.strategy_host import InProcessHost
from shoal.service.study_run import StudyRun
from shoal.spaces import Float, Space
from shoal.trial_runner.messages import LaunchTrial, Prepared, PrepareStudy
from shoal.trial_runner.simulated import SimulatedFailure, SimulatedRunner


def define_by_run(trial: Any) -> float:
    """Never called: the simulated runner asks instead."""
    raise AssertionError


def test_a_study_runs_to_its_end(make_head: Any, make_study: Any) -> None:
    world = make_head()
    state = world.add(make_study())
    world.head.run()
    assert state.status == "completed"
    assert state.counts()[TrialStatus.COMPLETED] == 12
    assert world.runner.now() == 27.0  # 12 trials of 9 s on 4 GPUs
    assert state.gpu_s == pytest.approx(12 * 9.0)
    assert isinstance(world.events[-1], StudyEnded)


def test_the_same_study_is_the_same_twice(make_head: Any, make_study: Any) -> None:
    def events() -> list[Any]:
        world = make_head()
        world.add(make_study(trials=40, early_stopping=shoal.ASHA(max_epochs=9)))
        world.head.run()
        return [event for event in world.events if type(event).__name__ != "HeadOpened"]

    assert events() == events()


def test_the_journal_holds_what_the_head_knew(make_head: Any, make_study: Any) -> None:
    world = make_head()
    state = world.add(make_study(trials=40, early_stopping=shoal.ASHA(max_epochs=9)))
    world.head.run()
    again = load_study(world.journal, "s")
    assert again.status == state.status
    assert {n: r.to_json() for n, r in again.trials.items()} == {n: r.to_json() for n, r in state.trials.items()}
    assert state.epochs_trained == sum(isinstance(event, TrialReported) for event in world.events)


def test_two_studies_share_the_pool_by_priority(make_head: Any, make_study: Any) -> None:
    world = make_head(gpus=2)
    world.add(make_study(name="low", trials=4))
    urgent = world.add(make_study(name="high", trials=4, priority=1))
    world.head.run()
    low, high = world.states["low"], world.states["high"]
    assert {low.status, high.status} == {"completed"}
    assert high.ended_at < low.ended_at
    assert urgent.spec.priority == 1


class WatchedRunner(SimulatedRunner):
    """Notes what was in the journal at the moment each trial was launched."""

    def __init__(self, journal_of: Any) -> None:
        super().__init__(lambda number, config, seed, step: (1.0, {"score": 0.0}) if step <= 1 else None)
        self.journal_of = journal_of
        self.launched: list[bool] = []

    def perform(self, instruction: Any) -> None:
        if isinstance(instruction, LaunchTrial):
            committed = [e.number for _, e in self.journal_of().read("s") if isinstance(e, TrialAssigned)]
            self.launched.append(instruction.number in committed)
        super().perform(instruction)


def test_nothing_is_launched_before_its_assignment_is_committed(make_head: Any, make_study: Any) -> None:
    worlds: list[Any] = []
    world = make_head(runner=WatchedRunner(lambda: worlds[0].journal))
    worlds.append(world)
    world.add(make_study())
    world.head.run()
    assert world.runner.launched == [True] * 12


def test_a_journal_that_cannot_be_written_stops_everything_untold(make_head: Any, make_study: Any) -> None:
    world = make_head(runner=WatchedRunner(lambda: world.journal))

    def full() -> None:
        raise JournalError("the disk is full.", "Free some space.")

    world.add(make_study())
    world.turns(lambda: bool(world.runner.launched))
    launched = len(world.runner.launched)
    world.journal.commit = full
    with pytest.raises(JournalError, match="disk is full"):
        world.head.run()
    assert len(world.runner.launched) == launched


def test_a_trial_that_never_fits_is_infeasible_with_the_reason(make_head: Any, make_study: Any) -> None:
    world = make_head(gpus=2)
    too_large = Request(k_min=4, k_max=4, gpus=Fraction(1), cpus=0)
    state = world.add(make_study(trials=2), request=too_large)
    world.head.run()
    refused = [event for event in world.events if isinstance(event, TrialInfeasible)]
    assert len(refused) == 2
    assert "never fits because it needs 4 workers of 1 GPU" in refused[0].reason
    assert state.exit_code == 5


def test_failures_are_typed_and_the_study_goes_on(make_head: Any, make_study: Any) -> None:
    def model(number: int, config: Any, seed: int, step: int) -> Any:
        if number % 3 == 0:
            raise SimulatedFailure("OOM", "out of memory")
        return (1.0, {"score": 1.0}) if step <= 1 else None

    world = make_head(model)
    state = world.add(make_study(trials=9))
    world.head.run()
    assert state.counts()[TrialStatus.FAILED] == 3
    assert state.counts()[TrialStatus.COMPLETED] == 6
    assert state.trials[3].failure == "OOM"
    assert state.exit_code == 0


def test_t74_every_trial_fails(make_head: Any, make_study: Any) -> None:
    """T74: the study ends as failed with exit code 5, not as done, and not never."""

    def model(number: int, config: Any, seed: int, step: int) -> Any:
        raise SimulatedFailure("BUG", "ValueError: no")

    world = make_head(model)
    state = world.add(make_study())
    world.head.run()
    assert state.status == "failed"
    assert state.exit_code == 5


def test_t74_the_time_limit_ends_the_study(make_head: Any, make_study: Any) -> None:
    """T74: after the limit nothing new starts, and the study ends."""
    world = make_head(gpus=1)
    state = world.add(make_study(trials=None, time_limit_s=30.0))
    world.head.run()
    assert state.is_over
    assert 3 <= len([r for r in state.trials.values() if r.steps]) <= 4


def test_max_failures_ends_the_study(make_head: Any, make_study: Any) -> None:
    def model(number: int, config: Any, seed: int, step: int) -> Any:
        raise SimulatedFailure("BUG", "ValueError: no")

    world = make_head(model, gpus=1)
    state = world.add(make_study(trials=50, max_failures=3))
    world.head.run()
    assert state.counts()[TrialStatus.FAILED] == 3
    assert "max_failures=3" in state.reason


def test_the_trials_own_time_limit(make_head: Any, make_study: Any) -> None:
    world = make_head()
    state = world.add(make_study(trials=1, trial_time_limit_s=4.5))
    world.head.run()
    assert state.trials[0].failure == "TIMEOUT"
    assert state.trials[0].run_s == 4.5


def test_lost_workers_cost_nothing(make_head: Any, make_study: Any) -> None:
    lost = {3}

    def model(number: int, config: Any, seed: int, step: int) -> Any:
        if number in lost and step == 5:
            lost.discard(number)
            raise SimulatedFailure("LOST", "its process was killed (SIGKILL)")
        return (1.0, {"score": float(step)}) if step <= 9 else None

    world = make_head(model)
    state = world.add(make_study())
    world.head.run()
    assert state.counts()[TrialStatus.COMPLETED] == 12
    assert state.trials[3].generation == 2
    assert [step for step, _ in state.trials[3].curve] == list(range(1, 10))


def test_define_by_run_asks_the_strategy_and_keeps_the_answers(make_head: Any, make_study: Any) -> None:
    def model(number: int, config: Any, seed: int, step: int) -> Any:
        return (1.0, {"score": config["x"]}) if step <= 2 else None

    world = make_head(model, asks=[("x", Float(0.0, 1.0).to_json())])
    state = world.add(make_study(space=None, train=define_by_run, trials=8))
    world.head.run()
    values = [record.flat["x"] for record in state.trials.values()]
    assert len(set(values)) == 8
    assert [record.value for record in state.trials.values()] == values


class FailingHost(InProcessHost):
    """Its strategy answers no suggestion."""

    def suggest(self, study: str, number: int, generation: int, path: str, domain: Any, seed: int) -> None:
        answer = SuggestionAnswer(
            study=study, number=number, generation=generation, path=path, value=None, error="it crashed"
        )
        self._ring(answer)


def test_a_strategy_that_fails_costs_no_trial(make_head: Any, make_study: Any) -> None:
    def model(number: int, config: Any, seed: int, step: int) -> Any:
        return (1.0, {"score": config["x"]}) if step <= 1 else None

    world = make_head(model, host=FailingHost(), asks=[("x", Float(0.0, 1.0).to_json())])
    state = world.add(make_study(space=None, train=define_by_run, trials=5))
    world.head.run()
    assert state.counts()[TrialStatus.COMPLETED] == 5
    assert len({record.flat["x"] for record in state.trials.values()}) == 5
    assert any("the strategy failed: it crashed" in text for text in world.notices)


def test_metrics_that_are_not_finite_break_nothing(make_head: Any, make_study: Any) -> None:
    def model(number: int, config: Any, seed: int, step: int) -> Any:
        return (1.0, {"score": math.nan if number % 2 else float(step)}) if step <= 3 else None

    world = make_head(model)
    state = world.add(make_study(early_stopping=shoal.ASHA(max_epochs=3)))
    world.head.run()
    assert state.best is not None
    assert state.best.value == 3.0
    assert not any(r.status is TrialStatus.COMPLETED for n, r in state.trials.items() if n % 2)


class BrokenImport(SimulatedRunner):
    def perform(self, instruction: Any) -> None:
        if isinstance(instruction, PrepareStudy):
            note = "study.py cannot be imported: ModuleNotFoundError: No module named 'nope'"
            broken = Prepared(study=instruction.study, ok=False, note=note)
            self._schedule(0.0, (instruction.study, -1), -1, broken)
        elif not isinstance(instruction, LaunchTrial):  # the node agent starts nothing before it is prepared
            super().perform(instruction)


def test_code_that_no_worker_can_import_ends_the_study(make_head: Any, make_study: Any) -> None:
    world = make_head(runner=BrokenImport(lambda *args: None))
    state = world.add(make_study())
    world.turns(lambda: state.is_over)
    assert state.status == "failed"
    assert "No module named 'nope'" in state.reason


def test_a_strategy_is_opened_with_the_space_as_edited(make_head: Any, make_study: Any) -> None:
    """A study that is run again with another space: its strategy proposes from that one, and is told what fits it."""
    first = make_head()
    state = first.add(make_study(trials=3))
    first.head.run()
    assert state.status == "completed"

    def model(number: int, config: Any, seed: int, step: int) -> Any:
        return (1.0, {"score": config["y"]}) if step == 1 else None

    again = make_head(model, journal=first.journal)
    edited = make_study(trials=6, space=Space(y=Float(2.0, 3.0)), strategy="evolution").spec()
    events = [StudyEdited(at=9.0, spec=edited.to_json(), reason="its file changed")]
    state = load_study(first.journal, "s")
    request = Request(k_min=1, k_max=1, gpus=Fraction(1), cpus=0)
    again.head.add(StudyRun(state, first.journal, request, None, Path()), events)
    again.head.run()
    assert [record.source for record in state.trials.values()] == ["strategy"] * 6
    assert all(2.0 <= state.trials[number].config["y"] <= 3.0 for number in (3, 4, 5))
    assert state.status == "completed"


def test_code_that_fails_later_leaves_what_waits_for_the_next_run(make_head: Any, make_study: Any) -> None:
    """The fork server is given up while trials run: the others are not started to fail one after the other."""

    class Breaking(SimulatedRunner):
        broken = False

        def drain(self) -> list[Any]:
            happened = super().drain()
            if self.now() >= 2.0 and not self.broken:
                self.broken = True
                happened.append(Prepared(study="s", ok=False, note="the fork server died"))
            return happened

        def perform(self, instruction: Any) -> None:
            assert not (self.broken and isinstance(instruction, LaunchTrial))
            super().perform(instruction)

    world = make_head(runner=Breaking(lambda number, config, seed, step: (1.0, {"score": 0.5}) if step <= 9 else None))
    state = world.add(make_study(trials=12))
    world.head.run()
    assert (state.status, state.reason) == ("failed", "the fork server died")
    assert state.counts()[TrialStatus.FAILED] == 0
    assert state.counts()[TrialStatus.QUEUED] == 8


# --- Ctrl-C --------------------------------------------------------------------------------------


class FakeInterrupts:
    """Ctrl-C, pressed by the test."""

    def __init__(self) -> None:
        self.count = 0

    def clear(self) -> None:
        pass


def test_the_first_interrupt_lets_trials_save_themselves(make_head: Any, make_study: Any) -> None:
    interrupts = FakeInterrupts()
    world = make_head(interrupts=interrupts)
    state = world.add(make_study())
    running = state.by_status[TrialStatus.RUNNING]
    world.turns(lambda: len(running) == 4 and all(r.steps for r in state.trials.values() if r.workers))
    interrupts.count = 1
    world.turns(lambda: not running)
    assert world.head._is_done()
    ends = [event for event in world.events if isinstance(event, TrialEnded)]
    assert {end.failure for end in ends} == {"PREEMPTED"}
    assert state.counts()[TrialStatus.QUEUED] == 12
    assert state.status == "running"
    assert any("again to end now" in text for text in world.notices)


def test_an_interrupted_study_goes_on_where_it_was(make_head: Any, make_study: Any) -> None:
    whole = make_head()
    undisturbed = whole.add(make_study())
    whole.head.run()

    interrupts = FakeInterrupts()
    first = make_head(interrupts=interrupts)
    before = first.add(make_study())
    first.turns(lambda: any(len(r.steps) >= 5 for r in before.trials.values()))
    interrupts.count = 1
    first.turns(lambda: first.head._is_done())

    second = make_head()
    second.journal = first.journal
    second.head._journal = first.journal
    state = load_study(first.journal, "s")
    request = Request(k_min=1, k_max=1, gpus=Fraction(1), cpus=0)
    second.head.add(StudyRun(state, first.journal, request, None, Path()))
    second.head.run()
    assert {n: (r.config, r.value, r.curve) for n, r in state.trials.items()} == {
        n: (r.config, r.value, r.curve) for n, r in undisturbed.trials.items()
    }
