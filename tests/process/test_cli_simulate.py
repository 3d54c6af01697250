"""`shoal simulate` as a person uses it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Shoal = Callable[..., "subprocess.CompletedProcess[str]"]

STUDY = """
import shoal
from shoal.spaces import Float, Space

def train(trial):
    for epoch in trial.epochs(9):
        trial.report(score=trial.config.x * epoch)

study = shoal.Study(
    space=Space(x=Float(0.0, 1.0)), train=train, maximize="score", trials=18,
    early_stopping=shoal.ASHA(max_epochs=9), workers=(1, 2),
)
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "climb.py"
    path.write_text(STUDY)
    return path


def test_several_sizes_and_policies(shoal: Shoal, file: Path) -> None:
    done = shoal("simulate", file.name, "--gpus", "2,8", "--policy", "elastic,fifo", "-o", "json", cwd=file.parent)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert [(row["policy"], row["gpus"]) for row in rows] == [
        ("elastic", 2),
        ("elastic", 8),
        ("fifo", 2),
        ("fifo", 8),
    ]
    assert rows[1]["makespan_s"] < rows[0]["makespan_s"]
    assert "epochs of 60 s on one GPU" in done.stderr
    table = shoal("simulate", file.name, "--gpus", "2", cwd=file.parent)
    assert table.stdout.split()[:4] == ["gpus", "policy", "makespan_s", "time_to_best_s"]


def test_like_a_study_that_has_run(shoal: Shoal, file: Path) -> None:
    ran = shoal("run", file.name, cwd=file.parent)
    assert ran.returncode == 0, ran.stderr
    done = shoal("simulate", file.name, "--like", "climb", "--gpus", "2", "-o", "json", cwd=file.parent)
    assert done.returncode == 0, done.stderr
    assert "as in study climb" in done.stderr
    (row,) = json.loads(done.stdout)
    assert row["trained_in_full"] >= 1
    unknown = shoal("simulate", file.name, "--like", "clim", cwd=file.parent)
    assert unknown.returncode == 3
    assert "Did you mean climb?" in unknown.stderr


@pytest.mark.parametrize(
    ("words", "cause", "remedy"),
    [
        (("--gpus", "many"), "--gpus 'many' is not a number of GPUs", "--gpus 8,16,32"),
        (("--policy", "elastik"), "policy 'elastik' is unknown. Did you mean 'elastic'?", "fifo"),
        (("--set", "early_stopping=none"), "how long a trial of study climb trains is not known", "--epochs 27"),
        (("--samples", "1000"), "no architecture in its space", "--epoch-s 60"),
        (("--set", "min_workers=2", "--gpus", "1"), "a pool of 1 GPU on one node has too few", "larger pool"),
        (("--gpus", "0"), "--gpus '0' is not a number of GPUs: a pool has at least 1", "--gpus 8"),
        (("--gpus", "8,²"), "--gpus '²' is not a number of GPUs", "--gpus 8"),
        (("--policy", "fifo", "--set", "min_workers=2", "--gpus-per-node", "1"), "on nodes of 1 has too few", "larger"),
    ],
)
def test_mistakes(shoal: Shoal, file: Path, words: tuple[str, ...], cause: str, remedy: str) -> None:
    done = shoal("simulate", file.name, *words, cwd=file.parent)
    assert done.returncode in (1, 2)
    assert done.stdout == ""
    assert cause in done.stderr
    assert remedy in done.stderr


def test_files_that_are_no_studies(shoal: Shoal, file: Path) -> None:
    (file.parent / "empty.py").write_text("x = 1\n")
    (file.parent / "notes.txt").write_text("a study\n")
    for name, cause, remedy in (
        ("absent.py", "there is no file absent.py", "shoal init"),
        ("empty.py", "empty.py defines no study", "study = shoal.Study("),
        ("notes.txt", "notes.txt is not a Python file", ".py file"),
        (".", "there is no file .", "shoal init"),
    ):
        done = shoal("simulate", name, cwd=file.parent)
        assert done.returncode != 0 and done.stdout == "", done
        assert cause in done.stderr and remedy in done.stderr, done.stderr
        assert "Traceback" not in done.stderr
