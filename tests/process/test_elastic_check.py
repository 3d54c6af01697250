"""`shoal check FILE --exact` on code that is exact and on code that is not."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

STUDY = """
import shoal, torch
from torch import nn
from torch.nn import functional as F
from shoal.spaces import Float, Space

def train(trial):
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(1100, 8, generator=generator)
    y = (x.sum(1) > 0).long()
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=trial.config.lr)
    loader = trial.prepare(model, optimizer, (x, y), batch_size=256)
    warm = [0]
    for _ in trial.epochs(3):
        for batch in loader:
            optimizer.zero_grad()
            trial.backward(lambda x, y: (F.cross_entropy(model(x), y, reduction="sum"), len(y)), batch)
            STEP
            optimizer.step()
        trial.report(score=trial.evaluate(lambda x, y: model(x).argmax(1) == y, (x, y)))

space = Space(lr=Float(0.001, 0.1, log=True))
study = shoal.Study(space=space, train=train, maximize="score", trials=3, strategy="random", workers=(1, 2))
"""


def check(folder: Path, step: str) -> Any:
    (folder / "study.py").write_text(STUDY.replace("STEP", step))
    command = [sys.executable, "-m", "shoal", "check", "study.py", "--exact", "--sample", "1", "-o", "json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)[0]["exactness"]


@pytest.mark.slow
def test_ordinary_code_is_exact(tmp_path: Path) -> None:
    assert check(tmp_path, "nn.utils.clip_grad_norm_(model.parameters(), 1.0)")["exact"] is True


@pytest.mark.slow
@pytest.mark.parametrize(
    ("step", "differs", "tensor"),
    [
        ("model[0].bias.data += 0.01 * trial.rank", "its two workers", "model.0.bias"),
        ("warm[0] += float(model[0].bias[0]); model[3].bias.data += warm[0]", "a pause at step 3", "model.3.bias"),
    ],
)
def test_what_differs_first_is_named(tmp_path: Path, step: str, differs: str, tensor: str) -> None:
    """Work that depends on the rank; a variable of the loop that is computed from the model."""
    found = check(tmp_path, step)
    assert found["exact"] is False
    assert (found["differs"], found["first_tensor"]) == (differs, tensor)
    assert found["likely_cause"]
