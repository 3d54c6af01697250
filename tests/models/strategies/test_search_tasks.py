"""The benchmark's own parts: where the data are missing it says so; how runs are compared with anchors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from shoal.benchmarks.multi_fidelity import DOWN, FULL_TRAININGS, READ_AT, OneDevice, one_run
from shoal.benchmarks.search_tasks import SIX, SMOKE, TWELVE, MissingDataError, Task, anchors
from shoal.benchmarks.search_tasks.curves import CurveTask
from shoal.benchmarks.search_tasks.data import folder
from shoal.benchmarks.search_tasks.tables import looked_up
from shoal.search import strategies
from shoal.search.spec import Budget, Chosen, EntryPoint, StudySpec
from shoal.search.study_state import StudyState
from shoal.spaces import Categorical, Configuration, Float, Ordinal, Space

LINES = """method,task,seed,regret_25,regret_50,regret_100,median_ask_cpu_ms
tpe,cash_1501,0,0.5,0.4,0.30,5
tpe,cash_1501,1,0.5,0.4,0.20,5
tpe,xgb_1501,0,0.5,0.4,0.10,5
"""


def test_missing_data_is_said_clearly(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SHOAL_SEARCH_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(MissingDataError, match="SHOAL_SEARCH_DATA"):
        folder()


def test_groups_of_tasks() -> None:
    assert set(SMOKE) < set(SIX) < set(TWELVE) and (len(SIX), len(TWELVE)) == (6, 12)


def test_comparison_with_an_anchor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Wins, ties at one half, and only blocks that both have."""
    (tmp_path / "anchors").mkdir()
    (tmp_path / "anchors" / "single_fidelity.csv").write_text(LINES)
    monkeypatch.setenv("SHOAL_SEARCH_DATA", str(tmp_path))
    ours = {("cash_1501", 0): {100: 0.1}, ("cash_1501", 1): {100: 0.2}, ("nb201_cifar100", 0): {100: 0.0}}
    found = anchors().compared("tpe", ours, 100, SIX)
    assert found is not None
    assert (found["wins"], found["blocks"], found["mean"]) == (0.75, 2, 0.25)
    assert anchors().compared("tpe", {("rosen_d6", 0): {100: 0.0}}, 100, TWELVE) is None


def test_tables_are_read_in_the_order_of_the_grid() -> None:
    """Rows in the order of the last parameter first; seeds that are missing are never reported."""
    space = Space(size=Ordinal([1, 2, 4]), kind=Categorical(["a", "b"]))
    losses = np.array([[0.0, 0.0], [1.0, 3.0], [2.0, np.nan], [3.0, 3.0], [4.0, 4.0], [5.0, 5.0]])
    task: Task = looked_up("small", space, losses, 0.0, 2.5)
    rng = np.random.default_rng(0)
    assert [task.true(config) for config in space.grid(1)] == [0.0, 2.0, 2.0, 3.0, 4.0, 5.0]
    second = space.configuration({"size": 1, "kind": "b"})
    assert {task.noisy(second, rng) for _ in range(40)} == {1.0, 3.0}
    assert {task.noisy(space.configuration({"size": 2, "kind": "a"}), rng) for _ in range(20)} == {2.0}
    assert task.regret(5.0) == 2.0 and task.regret(-1.0) == 0.0


def test_a_study_on_one_device_pays_every_epoch_once() -> None:
    """A paused trial goes on where it was; the budget is met to the epoch; the regret is of the best epoch so far."""
    space = Space(x=Float(0.0, 1.0))
    trained: list[float] = []

    def curve(config: Configuration) -> np.ndarray:
        trained.append(config["x"])
        return abs(config["x"] - 0.3) + 1.0 / np.arange(1, 10)

    task = CurveTask(name="made up", space=space, epochs=9, curve=curve, best=1.0 / 9, median=0.5)
    regrets = one_run(task, "random", {}, "asha", {}, seed=1)
    assert list(regrets) == list(READ_AT) and sorted(regrets.values(), reverse=True) == list(regrets.values())
    assert len(set(trained)) > 2 * FULL_TRAININGS, "most trials were not trained in full"
    spec = StudySpec(
        name="s", space=space.to_json(), objectives=DOWN, entry=EntryPoint(kind="trial", module="m", function="f"),
        strategy=Chosen(name="random"), early_stopping=Chosen(name="asha", options={"max_epochs": 9}),
        budget=Budget(trials=None, study_time_limit_s=1e9), seed=1,
    )  # fmt: skip
    state = StudyState.create(spec)
    losses = OneDevice(task, state, strategies.make(spec.strategy, space, DOWN, seed=1)).losses(100)
    assert len(losses) == 100 == sum(record.last_step for record in state.trials.values())
    assert any(record.generation > 1 for record in state.trials.values())
