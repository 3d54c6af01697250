"""Several objectives, constraints, first points and another study's results, from a file to `shoal show`."""

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

Shoal = Callable[..., "CompletedProcess[str]"]

GOALS = """
import shoal
from shoal.spaces import Categorical, Float, Space

space = Space(
    x=Float(0.0, 1.0, default=0.5, prior="low"), y=Float(0.0, 1.0),
    kind=Categorical(["a", "b"], default="b", prior="low"),
)

def train(config):
    if config.x > 0.95:
        return config.x, 1.0, 2.0
    return {"loss": (config.x - 0.3) ** 2 + config.y, "size": 1.0 - config.y, "ms": 10 * config.x}

study = shoal.Study(
    space=space, train=train, minimize=["loss", "size"], subject_to={"ms": "<= 5"}, trials=14, reuse_workers=True,
    points_to_evaluate=[{"x": 0.1, "y": 0.2, "kind": "a"}, {"x": 1.0, "y": 0.2, "kind": "a"}],
)
"""

LIKE = """
import shoal
from shoal.spaces import Float, Space

def train(config):
    return (config.x - 0.3) ** 2 + config.z

study = shoal.Study(
    space=Space(x=Float(0.0, 0.45), z=Float(0.0, 1.0, default=0.25)), train=train, minimize="loss", trials=3,
    strategy="random_forest", strategy_options={"n_startup_trials": 3, "random_share": 0.0},
)
"""


def data(shoal: Shoal, *words: str, cwd: Path) -> Any:
    done = shoal(*words, "-o", "json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def folder(shoal: Shoal, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which goals.py has been run."""
    folder = tmp_path_factory.mktemp("goals")
    (folder / "goals.py").write_text(GOALS)
    (folder / "like.py").write_text(LIKE)
    done = shoal("run", "goals.py", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "trials on the front (minimize loss, minimize size):" in done.stdout
    return folder


def test_front_and_constraints_reach_show_and_trials(shoal: Shoal, folder: Path) -> None:
    shown = data(shoal, "show", "goals", cwd=folder)
    assert shown["strategy"]["name"] == "portfolio", "the default"
    assert [one["metric"] for one in shown["objectives"]] == ["loss", "size"]
    assert shown["subject_to"] == ["ms <= 5"]
    trials = data(shoal, "trials", "goals", cwd=folder)
    assert trials[0]["config"] == {"x": 0.1, "y": 0.2, "kind": "a"} and trials[0]["source"] == "enqueued"
    assert trials[1]["failure"] == "BUG" and "not 2 numbers (loss, size)" in trials[1]["message"]
    assert trials[2]["config"] == {"x": 0.5, "y": 0.5, "kind": "b"}, "the space's default comes after what was named"
    able = {t["number"]: t["values"] for t in trials if t["state"] == "completed" and t["feasible"]}
    assert able and all(t["config"]["x"] <= 0.5 for t in trials if t["feasible"])
    for member in shown["front"]:
        own = member["values"]
        assert own == able[member["number"]]
        assert not any(o["loss"] < own["loss"] and o["size"] < own["size"] for o in able.values())
    assert shown["best"]["value"] == min(values["loss"] for values in able.values())
    told = shoal("explain", "goals#0", cwd=folder).stdout
    assert "loss = 0.24, size = 0.8" in told


def test_another_studys_results_are_a_start_and_are_told_again_on_a_resume(shoal: Shoal, folder: Path) -> None:
    assert "Did you mean goals?" in shoal("run", "like.py", "--like", "goal", cwd=folder).stderr
    done = shoal("run", "like.py", "--like", "goals", "--plain", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "results of study goals" in done.stderr and "x is outside of this space" in done.stderr
    assert "it had no z: filled in" in done.stderr
    trials = data(shoal, "trials", "like", cwd=folder)
    assert len(trials) == 3, "what was borrowed is no trial of this study"
    assert trials[0]["source"] == "enqueued" and trials[0]["config"]["z"] == 0.25, "the best of the other study"
    more = shoal("run", "like.py", "--like", "goals", "--trials", "5", "--plain", cwd=folder)
    assert more.returncode == 0 and "begins with" not in more.stderr, "once is enough"
    trials = data(shoal, "trials", "like", cwd=folder)
    assert len(trials) == 5
    assert "forest from" in " ".join(trial_story(shoal, folder, 4)), "the borrowed results stand for a random start"


def trial_story(shoal: Shoal, folder: Path, number: int) -> list[str]:
    return [row["what"] for row in data(shoal, "explain", f"like#{number}", cwd=folder)]


def test_a_strategy_that_cannot_learn_from_it_says_so(shoal: Shoal, folder: Path) -> None:
    done = shoal("run", "like.py", "--like", "goals", "--strategy", "tpe", "--name", "other", cwd=folder)
    assert done.returncode == 2 and "strategy 'tpe' does not learn from other studies" in done.stderr
    wrong = shoal("run", "goals.py", "--set", "strategy.n_startup_trial=3", "--name", "other", cwd=folder)
    assert wrong.returncode == 2 and "Did you mean 'n_startup_trials'?" in wrong.stderr
