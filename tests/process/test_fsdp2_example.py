"""The second path: code that is not prepared saves itself, and begins again with another number of workers."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "fsdp2.py"


def trained(folder: Path, workers: int, epochs: int) -> list[tuple[int, float, int]]:
    """Train to so many epochs, from the last checkpoint in the folder; (epoch, loss, workers) of each one."""
    folder.mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, str(EXAMPLE), str(folder), "32", "0.01"], capture_output=True, text=True, timeout=200,
        env={**os.environ, "WORKERS": str(workers), "EPOCHS": str(epochs), "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    reports = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return [(report["step"], report["loss"], report["workers"]) for report in reports]


@pytest.mark.slow
def test_four_workers_hand_over_to_two(tmp_path: Path) -> None:
    whole = trained(tmp_path / "whole", 2, 4)
    parts = trained(tmp_path / "parts", 4, 2) + trained(tmp_path / "parts", 2, 4)
    assert [(epoch, workers) for epoch, _, workers in parts] == [(1, 4), (2, 4), (3, 2), (4, 2)]
    assert [loss for _, loss, _ in parts] == pytest.approx([loss for _, loss, _ in whole], rel=1e-4)
    assert whole[-1][1] < whole[0][1]
