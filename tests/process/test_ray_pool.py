"""`shoal pool up|status|drain|down` and runs on the pool, as a person types them."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from shoal.search.events import HeadOpened, TrialAssigned, TrialEnded
from shoal.search.journal.sqlite_reader import SqliteReader
from shoal.service.cluster_start import recorded, stop
from shoal.tests.conftest import Shoal

pytestmark = pytest.mark.slow

STUDY = """
import os, time
import shoal
from shoal.spaces import Float, Space

def train(trial):
    total = trial.load() or 0.0
    for epoch in trial.epochs(6):
        while epoch == 3 and not os.path.exists({may_end!r}):
            time.sleep(0.02)
        time.sleep(0.05)
        total += trial.config.x
        trial.save(total)
        trial.report(score=total)

study = shoal.Study(space=Space(x=Float(0.0, 1.0)), train=train, maximize="score", trials=3, name="sums")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("HOME", str(tmp_path))  # Ray keeps a token there
    (tmp_path / "sums.py").write_text(STUDY.format(may_end=str(tmp_path / "may-end")))
    yield tmp_path
    left = recorded(tmp_path / ".shoal")
    if left is not None:
        stop(tmp_path / ".shoal", left)


def started(folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "shoal", "run", "sums.py", "--ray", "start", "--plain"]
    return subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)


def read_until(run: subprocess.Popen[str], text: str) -> list[str]:
    assert run.stderr is not None
    said: list[str] = []
    while not said or text not in said[-1]:
        said.append(run.stderr.readline())
        assert said[-1], said[-10:]
    return said


def events(folder: Path) -> list[Any]:
    with SqliteReader(folder / ".shoal" / "journal.db") as reader:
        return [event for _, event in reader.read("sums")]


def test_a_pool_from_up_to_down(folder: Path, shoal: Shoal) -> None:
    up = shoal("pool", "up", "--logical-gpus", "2", "-o", "json", cwd=folder)
    assert up.returncode == 0, up.stderr
    (node,) = json.loads(up.stdout)
    assert (node["gpus"], node["holder"], node["stays"]) == (2, None, True)

    with started(folder) as run:
        read_until(run, "epoch 3")
        busy = shoal("pool", "down", cwd=folder)
        assert (busy.returncode, "trials are running, for sums" in busy.stderr) == (2, True)
        (held,) = json.loads(shoal("pool", "status", "-o", "json", cwd=folder).stdout)
        assert held["trials"] == ["sums#0", "sums#1"]

        drained = shoal("pool", "drain", node["node"][:4], cwd=folder)
        assert (drained.returncode, "2 trials are on it now" in drained.stderr) == (0, True)
        (folder / "may-end").touch()
        read_until(run, "is being emptied")
        undone = shoal("pool", "drain", node["node"], "--undo", cwd=folder)
        assert undone.returncode == 0, undone.stderr
        run.communicate(timeout=100)
        assert run.returncode == 0

    unknown = shoal("pool", "drain", "nothing", cwd=folder)
    assert (unknown.returncode, node["node"] in unknown.stderr) == (3, True)
    down = shoal("pool", "down", cwd=folder)
    assert down.returncode == 0, down.stderr
    again = shoal("pool", "status", cwd=folder)
    assert (again.returncode, "shoal pool up" in again.stderr) == (3, True)
    ends = [event for event in events(folder) if isinstance(event, TrialEnded) and event.outcome == "completed"]
    assert sorted(event.number for event in ends) == [0, 1, 2]


def test_a_batch_system_that_wants_the_nodes_back(folder: Path, shoal: Shoal) -> None:
    """SIGUSR1: trials save themselves, the command ends with 130 and the same command goes on, with nothing left
    behind."""
    with started(folder) as run:
        read_until(run, "epoch 3")
        run.send_signal(signal.SIGUSR1)
        read_until(run, "interrupted")
        (folder / "may-end").touch()
        run.communicate(timeout=100)
    assert run.returncode == 130
    assert recorded(folder / ".shoal") is None, "the cluster was the run's own"
    with started(folder) as run, suppress(subprocess.TimeoutExpired):
        run.communicate(timeout=100)
    assert run.returncode == 0
    heads = [event for event in events(folder) if isinstance(event, HeadOpened)]
    assert len(heads) == 2
    assert max(event.generation for event in events(folder) if isinstance(event, TrialAssigned)) == 2
    lost = [event for event in events(folder) if isinstance(event, TrialEnded) and event.failure == "LOST"]
    assert lost == []
