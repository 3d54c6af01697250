"""Studies on real workers: what their policy decided, decided again from what it was told."""

import importlib.util
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal.errors import SpecError
from shoal.scheduler.elastic_policy import ElasticPolicy
from shoal.scheduler.recording import decision_of, first_difference
from shoal.service.running import run_studies

pytestmark = pytest.mark.slow

SOURCE = """
import time
import shoal
from shoal.spaces import Float, Space

def train(trial):
    for epoch in trial.epochs(9):
        time.sleep(0.1)
        trial.save({"epoch": epoch})
        trial.report(score=trial.config.x - 1 / (epoch + 1))

def study(name, **settings):
    return shoal.Study(space=Space(x=Float(0.0, 1.0)), train=train, maximize="score", name=name, trials=12,
                       strategy="random", workers=(1, 2), early_stopping=shoal.ASHA(max_epochs=9), **settings)
"""


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """Makes studies of a file of their own."""
    monkeypatch.setenv("SHOAL_RUNTIME_DIR", str(tmp_path / "run"))
    file = tmp_path / "replayed_study.py"
    file.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    yield module.study
    del sys.modules[file.stem]


def test_a_fresh_policy_decides_a_live_pool_again(make: Any, tmp_path: Path) -> None:
    """Invariant 5, live: two studies of other weights, rungs, ticks, and questions of the head in between."""
    file = tmp_path / "decisions.jsonl"
    studies: list[shoal.Study] = [make("heavy", weight=2.0), make("light")]
    found = run_studies(studies, data=tmp_path / "data", logical_gpus=4, notice=lambda text: None, decisions=file)
    assert all(results.state == "completed" for results in found)
    lines = file.read_text().splitlines()
    assert first_difference(lines, ElasticPolicy()) == ""
    decisions = [decision_of(line) for line in lines]
    told = Counter(type(event).__name__ for events, _ in decisions for event in events)
    done = Counter(type(action).__name__ for _, actions in decisions for action in actions)
    assert told["Tick"] >= 2 and told["RungReached"] >= 24 and told["TrialStarted"] == done["Start"] >= 24
    assert done["Pause"] and done["Start"] > 24, "those who were paused come back"
    without = [line for line in lines if "RungReached" not in line]
    assert first_difference(without, ElasticPolicy()) != "", "what the policy was told matters"


def test_two_runs_are_not_written_into_one_recording(make: Any, tmp_path: Path) -> None:
    file = tmp_path / "decisions.jsonl"
    file.write_text("of another run\n")
    with pytest.raises(SpecError, match="decisions cannot be written"):
        run_studies([make("s")], data=tmp_path / "data", logical_gpus=1, decisions=file)
    assert file.read_text() == "of another run\n"
    assert not (tmp_path / "data" / "studies").exists(), "nothing has been begun"
