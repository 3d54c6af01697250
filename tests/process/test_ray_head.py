"""The head dies while trials run on other nodes: they go on, and the next head takes them over."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from shoal.search.events import HeadOpened, TrialEnded, TrialReported
from shoal.search.journal.sqlite_reader import SqliteReader
from shoal.tests.ray_cluster import RayCluster

pytestmark = pytest.mark.slow

EPOCHS = 8
TRIALS = 6

STUDY = """
import os, time
import shoal
from shoal.spaces import Float, Space

def train(trial):
    total = trial.load() or 0.0
    for epoch in trial.epochs({epochs}):
        while epoch == {epochs} - 2 and not os.path.exists({may_end!r}):
            time.sleep(0.02)
        time.sleep(0.1)
        total += trial.config.x
        print("epoch", epoch, flush=True)
        trial.save(total)
        trial.report(score=total)

study = shoal.Study(space=Space(x=Float(0.0, 1.0)), train=train, maximize="score", trials={trials},
                    strategy="random", seed=3, name="sums"{more})
"""


class Program:
    """`shoal run` of the study, which can be killed and started again; `may_end` lets trials reach their end."""

    def __init__(self, folder: Path, cluster: RayCluster, more: str = "") -> None:
        self.data, self.may_end = folder / "data", folder / "may-end"
        self._file = folder / "project" / "sums.py"
        self._file.parent.mkdir()
        source = STUDY.format(epochs=EPOCHS, trials=TRIALS, may_end=str(self.may_end), more=more)
        self._file.write_text(source)
        self._address = cluster.address

    def start(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "shoal", "run", str(self._file), "--data", str(self.data), "--plain"]
        return subprocess.Popen([*command, "--ray", self._address], stderr=subprocess.PIPE, text=True)

    def run_until(self, reports: int) -> None:
        """Start a head, and kill it when it has told so many reports."""
        with self.start() as head:
            assert head.stderr is not None
            told: list[str] = []
            while sum(" epoch " in line for line in told) < reports:
                line = head.stderr.readline()
                assert line, f"the head ended: {told}"
                told.append(line)
            head.kill()

    def finish(self) -> str:
        """Start a head and wait for its end; what it said."""
        with self.start() as head:
            _, said = head.communicate(timeout=120)
        assert head.returncode == 0, said
        return said

    def events(self) -> list[Any]:
        with SqliteReader(self.data / "journal.db") as reader:
            return [event for _, event in reader.read("sums")]

    def log(self, number: int) -> str:
        file = self.data / "studies" / "sums" / "trials" / f"{number:04d}" / "log.txt"
        return file.read_text() if file.exists() else ""


def check_that_nothing_is_lost_and_nothing_twice(events: list[Any]) -> None:
    for number in range(TRIALS):
        steps = [event.step for event in events if isinstance(event, TrialReported) and event.number == number]
        assert steps == list(range(1, EPOCHS + 1)), number
        (ended,) = (event for event in events if isinstance(event, TrialEnded) and event.number == number)
        assert (ended.outcome, ended.generation) == ("completed", 1)


def test_trials_go_on_without_a_head_and_the_next_one_takes_them_over(
    two_ray_nodes: RayCluster, tmp_path: Path, processes: Any
) -> None:
    program = Program(tmp_path, two_ray_nodes)
    program.run_until(reports=4)
    known = max(event.step for event in program.events() if isinstance(event, TrialReported))
    assert known < EPOCHS - 3
    processes.wait_until(lambda: f"epoch {EPOCHS - 3}" in program.log(0))  # much further than the journal knows
    program.may_end.touch()
    program.finish()
    events = program.events()
    check_that_nothing_is_lost_and_nothing_twice(events)
    first, second = (event for event in events if isinstance(event, HeadOpened))
    assert list(first.kept) == []
    assert list(second.kept) == [0, 1, 2, 3]


def test_heads_may_die_at_any_moment(two_ray_nodes: RayCluster, tmp_path: Path) -> None:
    """With a rule that judges every report, trials wait for the next head instead of going on."""
    program = Program(tmp_path, two_ray_nodes, ', early_stopping=shoal.Threshold(upper=1e9)')
    program.may_end.touch()
    for reports in (1, 6, 9):
        program.run_until(reports)
    program.finish()
    events = program.events()
    check_that_nothing_is_lost_and_nothing_twice(events)
    assert sum(isinstance(event, HeadOpened) for event in events) == 4
