"""What a trial reports, when it waits, and how it lets go."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from shoal.errors import TrialError
from shoal.tests.models.trial.trial_rig import ScriptedLink, new_trial, run
from shoal.trial_runner.let_go import TrialLetGo
from shoal.trial_runner.trial import Trial


class Counter:
    """The smallest object with a state."""

    def __init__(self) -> None:
        self.count = 0

    def state_dict(self) -> dict[str, int]:
        return {"count": self.count}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.count = state["count"]


@pytest.mark.parametrize(
    "number", [0.5, np.float32(0.5), np.array(0.5), torch.tensor(0.5), torch.tensor([0.5], requires_grad=True)]
)
def test_numbers_of_every_make(number: Any, tmp_path: Path) -> None:
    link = ScriptedLink()
    new_trial(tmp_path, link).report(score=number, whole=np.int64(3), yes=True)
    assert link.reports() == [(1, {"score": 0.5, "whole": 3.0, "yes": 1.0})]


@pytest.mark.parametrize("number", ["0.5", [0.5], torch.zeros(2), np.zeros(2), 1j, {"a": 1}])
def test_what_is_not_a_number_is_named(number: object, tmp_path: Path) -> None:
    """T29: the message names the metric, the value and its type."""
    with pytest.raises(TrialError, match=rf"metric 'score' is .*{type(number).__name__}"):
        new_trial(tmp_path, ScriptedLink()).report(score=number)  # type: ignore[arg-type]


def test_nan_and_infinities_pass(tmp_path: Path) -> None:
    link = ScriptedLink()
    new_trial(tmp_path, link).report(score=float("nan"), loss=float("-inf"))
    assert repr(link.reports()) == "[(1, {'score': nan, 'loss': -inf})]"


def test_a_report_without_metrics(tmp_path: Path) -> None:
    with pytest.raises(TrialError, match="no metric"):
        new_trial(tmp_path, ScriptedLink()).report()


def test_missing_objective_is_warned_about_once(tmp_path: Path) -> None:
    """T27: a metric that is None or absent is warned about; the report is sent all the same."""
    link = ScriptedLink()
    trial = new_trial(tmp_path, link)
    trial.report(scor=1.0)
    trial.report(score=None, loss=2.0)  # type: ignore[arg-type]
    assert link.reports() == [(1, {"scor": 1.0}), (2, {"loss": 2.0})]
    objective, none = link.warnings()
    assert "lacks the objective 'score' (it has: scor). Is it 'scor'?" in objective
    assert "metric 'score' is None" in none


def test_steps_that_do_not_rise_are_ignored(tmp_path: Path) -> None:
    """T32: 198, 196, then 198 again, then 199."""
    link = ScriptedLink()
    trial = new_trial(tmp_path, link)
    for step in (198, 196, 198, 199):
        trial.report(step, score=step)
    assert [step for step, _ in link.reports()] == [198, 199]
    assert len(link.warnings()) == 1 and "196" in link.warnings()[0]


def test_steps_known_to_the_study_are_not_sent_again(tmp_path: Path) -> None:
    link = ScriptedLink()
    trial = new_trial(tmp_path, link, reported_step=2)
    for _ in range(3):
        trial.report(score=1.0)
    assert [step for step, _ in link.reports()] == [3]
    assert link.warnings() == []


def test_epochs_obey_between_epochs_only(tmp_path: Path) -> None:
    """A verdict takes effect at the head of the next epoch; after the last epoch nothing is waited for."""
    seen: list[Any] = []

    def train(trial: Trial) -> None:
        try:
            for epoch in trial.epochs(5):
                try:
                    trial.report(score=epoch)
                    seen.append(epoch)
                except Exception:
                    seen.append("swallowed")
        finally:
            seen.append("finally")

    ended = run(train, tmp_path, verdicts={3: "stop"})
    assert (ended.outcome, ended.reason) == ("stopped", "step 3")
    assert seen == [0, 1, 2, "finally"]
    assert run(train, tmp_path, verdicts={5: "stop"}).outcome == "completed"


def test_without_reports_nothing_is_waited_for(tmp_path: Path) -> None:
    assert run(lambda trial: list(trial.epochs(3)), tmp_path).returned == [0, 1, 2]


def test_outside_epochs_a_report_obeys(tmp_path: Path) -> None:
    trial = new_trial(tmp_path, ScriptedLink({2: "stop"}))
    trial.report(score=1.0)
    with pytest.raises(TrialLetGo) as caught:
        trial.report(score=1.0)
    assert caught.value.outcome == "stopped"


def test_a_request_to_pause_is_obeyed_when_something_is_kept(tmp_path: Path) -> None:
    def counting(trial: Trial) -> int:
        counter = Counter()
        trial.register("counter", counter)
        for _ in trial.epochs(4):
            counter.count += 1
        return counter.count

    link = ScriptedLink()
    link.pause_after_polls = 2
    assert run(counting, tmp_path, link=link).reason == "asked to"
    assert run(counting, tmp_path).returned == 4

    link = ScriptedLink()
    link.pause_after_polls = 2
    assert run(lambda trial: list(trial.epochs(4)), tmp_path / "other", link=link).outcome == "completed"
    assert link.pause_requested == "asked to"


def test_can_pause_says_whether_something_is_kept(tmp_path: Path) -> None:
    link = ScriptedLink()
    trial = new_trial(tmp_path, link)
    trial.report(score=1.0)
    trial.save({"step": 1})
    trial.report(score=1.0)
    assert [fields["can_pause"] for fields in link.all("report")] == [False, True]


def test_means_join_the_next_report(tmp_path: Path) -> None:
    link = ScriptedLink()
    trial = new_trial(tmp_path, link)
    trial.mean("loss", torch.tensor(1.0, requires_grad=True), 3)
    trial.mean("loss", 5.0, torch.tensor(1))
    trial.mean("score", 9.0)
    trial.report(score=0.5)
    trial.report(score=0.6)
    assert link.reports() == [(1, {"loss": 2.0, "score": 0.5}), (2, {"score": 0.6})]


def test_means_end_with_their_epoch(tmp_path: Path) -> None:
    def train(trial: Trial) -> None:
        for epoch in trial.epochs(2):
            trial.mean("loss", float(epoch))
            if epoch == 1:
                trial.report(score=1.0)

    assert run(train, tmp_path).link.reports() == [(2, {"loss": 1.0, "score": 1.0})]


def test_unregistered_state_is_warned_about(tmp_path: Path) -> None:
    def train(trial: Trial) -> None:
        model, criterion = torch.nn.Sequential(torch.nn.Linear(2, 2)), torch.nn.CrossEntropyLoss()
        part, scheduler = model[0], Counter()
        trial.register("model", model)
        list(trial.epochs(1))
        del criterion, part, scheduler

    (warning,) = run(train, tmp_path).link.warnings()
    assert "scheduler (Counter)" in warning and 'trial.register("scheduler", scheduler)' in warning


def test_objects_come_before_epochs(tmp_path: Path) -> None:
    def train(trial: Trial) -> None:
        for _ in trial.epochs(1):
            trial.register("late", Counter())

    with pytest.raises(TrialError, match="inside"):
        run(train, tmp_path)


def test_register_wants_state_methods_and_free_names(tmp_path: Path) -> None:
    trial = new_trial(tmp_path, ScriptedLink())
    with pytest.raises(TrialError, match="lacks state_dict"):
        trial.register("thing", object())  # type: ignore[arg-type]
    one = Counter()
    trial.register("one", one)
    trial.register("one", one)
    with pytest.raises(TrialError, match="taken"):
        trial.register("one", Counter())


@pytest.mark.parametrize("n", [2.0, "3", True])
def test_epochs_wants_an_integer(n: Any, tmp_path: Path) -> None:
    with pytest.raises(TrialError, match="not an integer"):
        new_trial(tmp_path, ScriptedLink()).epochs(n)
    assert list(new_trial(tmp_path, ScriptedLink()).epochs(np.int64(2))) == [0, 1]
