"""Where a trial goes on after a pause or a crash."""

from pathlib import Path
from typing import Any

import pytest

from shoal.errors import TrialError
from shoal.tests.models.trial.trial_rig import ScriptedLink, new_trial, run, run_in_pieces
from shoal.trial_runner.trial import Trial


class Tally:
    """Remembers what happened, as plain data of many kinds."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def state_dict(self) -> dict[str, Any]:
        return {"seen": self.seen, 3: (1, 2.5, None)}

    def load_state_dict(self, state: dict[Any, Any]) -> None:
        assert state[3] == (1, 2.5, None)
        self.seen = state["seen"]


def crash_at(epoch: int) -> Any:
    def train(trial: Trial) -> list[Any]:
        tally = Tally()
        trial.register("tally", tally)
        for now in trial.epochs(5):
            if now == epoch and trial.number == 7:
                raise KeyboardInterrupt
            tally.seen.append(now)
            trial.report(score=now)
        return tally.seen

    return train


def test_a_crash_costs_the_unfinished_epoch_only(tmp_path: Path) -> None:
    train = crash_at(3)
    with pytest.raises(KeyboardInterrupt):
        run(train, tmp_path)
    resumed = run(train, tmp_path, reported_step=3, number=8)
    assert resumed.returned == [0, 1, 2, 3, 4]
    assert [step for step, _ in resumed.link.reports()] == [4, 5]


def test_a_damaged_newest_checkpoint_falls_back_to_the_one_before(tmp_path: Path) -> None:
    """T49: the newest is cut short; the run goes on from the one before it, not from scratch."""
    train = crash_at(4)
    with pytest.raises(KeyboardInterrupt):
        run(train, tmp_path)
    newest = tmp_path / "checkpoints" / "epoch-00000004.ckpt"
    newest.write_bytes(newest.read_bytes()[:-7])
    resumed = run(train, tmp_path, reported_step=4, number=8)
    assert resumed.returned == [0, 1, 2, 3, 4]
    assert any("epoch-00000004.ckpt" in text and "older one" in text for text in resumed.link.warnings())


def test_two_loops_count_their_own_epochs_and_common_steps(tmp_path: Path) -> None:
    def train(trial: Trial) -> list[Any]:
        tally = Tally()
        trial.register("tally", tally)
        for phase, epochs in (("warm-up", 2), ("main", 3)):
            for epoch in trial.epochs(epochs):
                tally.seen.append((phase, epoch))
                trial.report(score=epoch)
        return tally.seen

    expected = [("warm-up", 0), ("warm-up", 1), ("main", 0), ("main", 1), ("main", 2)]
    whole = run(train, tmp_path / "whole")
    returned, reports = run_in_pieces(train, tmp_path / "pieces")
    assert whole.returned == returned == expected
    assert whole.link.reports() == reports
    assert [step for step, _ in reports] == [1, 2, 3, 4, 5]


def test_saved_state_without_epochs(tmp_path: Path) -> None:
    """A loop of one's own: save, report, and go on from what load gives back."""

    def train(trial: Trial) -> list[int]:
        done: list[int] = trial.load() or []
        while len(done) < 4:
            done.append(len(done))
            trial.save(done)
            trial.report(score=len(done))
        return done

    returned, reports = run_in_pieces(train, tmp_path)
    assert returned == [0, 1, 2, 3]
    assert [step for step, _ in reports] == [1, 2, 3, 4]


def test_load_without_a_past(tmp_path: Path) -> None:
    assert new_trial(tmp_path, ScriptedLink()).load() is None


def test_saved_inside_epochs_never_runs_ahead(tmp_path: Path) -> None:
    """What was saved in the epoch that crashed goes with that epoch."""

    def train(trial: Trial) -> Any:
        for epoch in trial.epochs(3):
            trial.save({"epoch": epoch})
            if epoch == 1 and trial.number == 7:
                raise KeyboardInterrupt
        return trial.load()

    with pytest.raises(KeyboardInterrupt):
        run(train, tmp_path)
    assert new_trial(tmp_path, ScriptedLink()).load() == {"epoch": 0}
    assert run(train, tmp_path, number=8).returned == {"epoch": 2}


def test_what_does_not_pickle_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TrialError, match="generator that cannot be pickled"):
        new_trial(tmp_path, ScriptedLink()).save(x for x in ())


def test_other_objects_than_before_are_refused(tmp_path: Path) -> None:
    def train(trial: Trial) -> None:
        trial.register("tally" if trial.number == 7 else "other", Tally())
        for epoch in trial.epochs(2):
            trial.report(score=epoch)

    assert run(train, tmp_path, verdicts={1: "pause"}).outcome == "paused"
    with pytest.raises(TrialError, match=r"also holds \['tally'\], and lacks \['other'\]"):
        run(train, tmp_path, reported_step=1, number=8)


def test_unregistered_trials_start_over(tmp_path: Path) -> None:
    """Nothing is kept, so nothing can be skipped."""

    def train(trial: Trial) -> list[int]:
        return list(trial.epochs(2))

    assert run(train, tmp_path).returned == run(train, tmp_path).returned == [0, 1]
    assert not (tmp_path / "checkpoints").exists()
