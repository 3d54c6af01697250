"""A trial's process is killed in the middle of an epoch; the next one ends with the same bits."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from shoal.tests.models.trial import trainings
from shoal.tests.models.trial.trial_rig import differences, run

PROGRAM = """
import os, signal, sys
from pathlib import Path
import torch
from shoal.tests.models.trial import trainings
from shoal.tests.models.trial.trial_rig import ScriptedLink, run

class Killed(ScriptedLink):
    def send(self, kind, **fields):
        super().send(kind, **fields)
        if kind == "report" and fields["step"] == int(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)

ended = run(trainings.mlp_adamw, Path(sys.argv[1]), shards=4, link=Killed(), reported_step=int(sys.argv[3]))
torch.save(ended.returned, Path(sys.argv[1]) / "ended.pt")
"""


@pytest.mark.slow
def test_kill_9_between_report_and_checkpoint(tmp_path: Path) -> None:
    """Killed at the second report, before its checkpoint: the epoch is trained again, its report not sent twice."""

    def start(kill_at: int, known: int) -> int:
        return subprocess.run(
            [sys.executable, "-c", PROGRAM, str(tmp_path), str(kill_at), str(known)], timeout=120, capture_output=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        ).returncode  # fmt: skip

    assert start(2, 0) == -signal.SIGKILL
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["epoch-00000001.ckpt"]
    assert start(99, 2) == 0
    whole = run(trainings.mlp_adamw, tmp_path / "whole", shards=4)
    assert differences(whole.returned, torch.load(tmp_path / "ended.pt", weights_only=True)) == []


def test_a_trial_without_torch_stays_light(tmp_path: Path) -> None:
    """epochs, register, save, load, mean and report import neither torch nor optuna."""
    program = f"""
import sys
from pathlib import Path
from shoal.trial_runner.let_go import TrialLetGo
from shoal.trial_runner.trial import Trial

class Link:
    pause_requested = None
    reports = []
    def send(self, kind, **fields):
        self.reports += [fields["step"]] if kind == "report" else []
    def receive(self, kind):
        return {{"step": self.reports[-1], "verdict": "pause", "reason": "rung"}}
    def poll(self):
        pass

class Counter:
    def __init__(self): self.count = 0
    def state_dict(self): return {{"count": self.count}}
    def load_state_dict(self, state): self.count = state["count"]

runs = 0
while True:
    trial = Trial(config=None, number=0, seed=1, link=Link(), checkpoint_dir=Path({str(tmp_path)!r}), metric="score",
                  direction="maximize", reported_step=runs)
    counter, runs = Counter(), runs + 1
    trial.register("counter", counter)
    try:
        for _ in trial.epochs(3):
            counter.count += 1
            trial.mean("score", counter.count)
            trial.save([counter.count])
            trial.report()
        break
    except TrialLetGo:
        pass
assert (runs, counter.count, trial.load()) == (3, 3, [3])
loaded = {{"torch", "optuna", "ray", "sklearn"}} & set(sys.modules)
assert not loaded, loaded
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
