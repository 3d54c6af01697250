"""A trial that runs out of memory begins again with smaller shards, or ends as OOM."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from shoal.tests.process.conftest import alive
from shoal.trial_runner.messages import Ended, Started

NEEDS_MEMORY = """
import torch
from torch import nn

def f(trial):
    x = torch.randn(256, 4)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = trial.prepare(model, optimizer, (x,), batch_size=256)
    def loss_fn(x):
        if len(x) > MOST:
            RAISE
        return model(x).square().sum(), len(x)
    for _ in trial.epochs(2):
        for batch in loader:
            optimizer.zero_grad()
            trial.backward(loss_fn, batch)
            optimizer.step()
        trial.report(score=1.0)
"""

STUDY = """
import shoal
from shoal.spaces import Float, Space

study = shoal.Study(space=Space(lr=Float(0.1, 1.0)), train=f, maximize="score", trials=1)
"""

ERRORS = (
    "raise MemoryError()",
    "raise torch.OutOfMemoryError('CUDA out of memory. Tried to allocate 2 GiB')",
    "torch.empty(1 << 60)",  # what the allocator of the CPU raises
)


def code(*, most: int, error: str) -> str:
    return NEEDS_MEMORY.replace("MOST", str(most)).replace("RAISE", error)


@pytest.mark.parametrize("error", ERRORS)
def test_it_ends_as_out_of_memory_and_says_its_shards(node: Any, error: str) -> None:
    assert node.study(code(most=64, error=error), kind="trial").ok
    ended = node.run(0, max_shards=2)
    assert (ended.outcome, ended.failure, ended.shards) == ("failed", "OOM", 2), ended
    assert node.run(1, max_shards=2, split=2).outcome == "completed"
    assert "V=4 shards of 64 samples (x 2: it ran out of memory before)" in node.log(1)


def test_what_smaller_shards_cannot_help(node: Any) -> None:
    """It has reported before, or has been split often enough, or prepared nothing."""
    assert node.study(code(most=0, error="raise MemoryError()"), kind="trial").ok
    assert node.run(0, reported_step=1).shards is None
    assert node.run(1, split=8).shards is None
    source = "def f(trial):\n    raise MemoryError()\n"
    assert node.study(source, kind="trial").ok
    ended = node.run(2)
    assert (ended.failure, ended.shards) == ("OOM", None)


def test_a_checkpoint_with_other_shards_is_not_gone_on_from(node: Any) -> None:
    assert node.study(code(most=512, error="pass"), kind="trial").ok
    assert node.run(0).outcome == "completed"
    node.launch(0, 2, split=2)
    node.wait_for(Ended, 0)
    assert node.log(0).count("samples") == 2
    assert sorted(event.step for event in node.seen if type(event).__name__ == "Reported") == [1, 1, 2, 2]


def test_a_worker_above_its_limit_is_ended(node: Any) -> None:
    source = "import time\ndef f(trial):\n    kept = b'x' * (700 << 20)\n    time.sleep(60)\n"
    assert node.study(source, kind="trial").ok
    node.launch(0, memory_gib=0.5)
    pid = node.wait_for(Started, 0).pids[0]
    ended = node.wait_for(Ended, 0)
    assert (ended.outcome, ended.failure) == ("failed", "OOM")
    assert "more than memory_gib=0.5 allows" in ended.reason
    assert not alive(pid)
    assert node.run(1, memory_gib=0.5).failure == "OOM"  # the first one's memory is free again: it gets as far


@pytest.mark.slow
def test_the_study_tries_again_with_more_shards(tmp_path: Path) -> None:
    (tmp_path / "study.py").write_text(code(most=64, error="raise MemoryError('no more')") + STUDY)
    done = shoal(tmp_path, "run", "study.py")
    assert done.returncode == 0, done.stderr
    (trial,) = json.loads(shoal(tmp_path, "trials", "study", "-o", "json").stdout)
    assert (trial["state"], trial["split"]) == ("completed", 4)
    story = shoal(tmp_path, "explain", "study#0").stdout
    assert "to be tried with 2 shards a batch" in story
    assert "to be tried with 4 shards a batch" in story


@pytest.mark.slow
def test_or_ends_it(tmp_path: Path) -> None:
    (tmp_path / "study.py").write_text(code(most=0, error="raise MemoryError('no more')") + STUDY)
    assert shoal(tmp_path, "run", "study.py").returncode != 0
    (trial,) = json.loads(shoal(tmp_path, "trials", "study", "-o", "json").stdout)
    assert (trial["state"], trial["failure"], trial["split"]) == ("failed", "OOM", 8)


def shoal(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "shoal", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
