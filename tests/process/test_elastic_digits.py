"""The digits example, from the command line, on one logical GPU and on four: the same trials, values and best one."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "digits_mlp.py"


@pytest.mark.slow
def test_four_gpus_end_as_one_does(tmp_path: Path) -> None:
    source = EXAMPLE.read_text()
    assert "workers=(1, 4)" in source
    (tmp_path / "digits.py").write_text(source.replace("trial.epochs(27)", "trial.epochs(4)"))
    one, four = (studied(tmp_path, gpus) for gpus in (1, 4))
    assert [trial["config"] for trial in one] == [trial["config"] for trial in four]
    assert [(trial["value"], trial["best_step"]) for trial in one] == [
        (trial["value"], trial["best_step"]) for trial in four
    ]
    assert {trial["state"] for trial in four} == {"completed"}
    story = shoal(tmp_path, "explain", "digits#0", "--data", "data-4")
    assert "2 workers" in story or "4 workers" in story, story


def studied(folder: Path, gpus: int) -> Any:
    """The study's trials, by number."""
    shoal(
        folder, "run", "digits.py", "--data", f"data-{gpus}", "--logical-gpus", str(gpus), "--strategy", "random",
        "--trials", "2", "--set", "early_stopping=none", "--plain",
    )  # fmt: skip
    return json.loads(shoal(folder, "trials", "digits", "--data", f"data-{gpus}", "-o", "json"))


def shoal(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "shoal", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    return done.stdout
