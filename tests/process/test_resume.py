"""The whole program is killed (-9) at random moments; what it resumes is the study it would have been.

The long form kills more often: SHOAL's short form is 12 moments in all, chosen by a seeded generator as "after the
n-th event". The clock plays no part in them.
"""

import os
import random
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from shoal.search.events import Event, StudyEnded, TrialAssigned, TrialEnded, TrialProposed, TrialReported
from shoal.search.journal.sqlite_reader import SqliteReader
from shoal.search.replay import read_study

GPUS = 4  # as in the program: so many trials run when it is killed

pytestmark = pytest.mark.slow

PROGRAM = """
import os, sys, time
import shoal
from shoal.spaces import Float, Space

def train(trial):
    for epoch in trial.epochs(int(os.environ["EPOCHS"])):
        time.sleep(0.02)
        with open(os.environ["TRAINED"], "a") as file:
            file.write(f"{trial.number} {epoch + 1}\\n")
        trial.save({"epoch": epoch})
        trial.report(score=1.0 - abs(trial.config.x - 0.3) - 1.0 / (epoch + 2))

def tell(state, event):
    print(type(event).__name__, getattr(event, "number", ""), flush=True)

if __name__ == "__main__":
    strategy, trials, data = sys.argv[1:4]
    study = shoal.Study(
        space=Space(x=Float(0.0, 1.0), y=Float(1e-3, 1.0, log=True)), train=train, maximize="score",
        trials=int(trials), strategy=strategy, name="s", seed=11,
        early_stopping=shoal.ASHA(max_epochs=9) if strategy == "tpe" else None,
        gpus_per_worker=1, cpus_per_worker=0,
    )
    results = study.run(data=data, logical_gpus=4, on_event=tell)
    print("ENDED", results.state, len(results), flush=True)
"""


class Program:
    """One study program that is started and killed again and again over one data directory."""

    def __init__(self, folder: Path, strategy: str, trials: int, epochs: int) -> None:
        self.folder = folder
        folder.mkdir()
        (folder / "program.py").write_text(PROGRAM)
        self.data = folder / "data"
        self.trained = folder / "trained.txt"
        self.trained.touch()
        self.arguments = [strategy, str(trials)]
        self.mark = f"SHOAL_TEST_MARK={uuid.uuid4().hex}"
        name, _, value = self.mark.partition("=")
        self.environment = os.environ | {
            name: value,
            "TRAINED": str(self.trained),
            "EPOCHS": str(epochs),
            "SHOAL_RUNTIME_DIR": str(folder / "run"),
        }

    def start(self) -> "subprocess.Popen[str]":
        command = [sys.executable, "program.py", *self.arguments, str(self.data)]
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=(self.folder / "stderr.txt").open("a"),
            text=True,
            start_new_session=True,
        )

    def run_until(self, events: int | None) -> int | None:
        """Run until so many events were told, then kill -9; None: to its end. Its exit status, None if killed."""
        process = self.start()
        assert process.stdout is not None
        with process.stdout:
            for count, _ in enumerate(process.stdout, start=1):
                if count == events:
                    os.kill(process.pid, signal.SIGKILL)
                    process.wait()
                    return None
        return process.wait()

    def left_alive(self) -> list[str]:
        """What any of these programs started and is still there, whatever became its parent."""
        alive = []
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit():
                continue
            try:
                environment = (folder / "environ").read_bytes()
                state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            if self.mark.encode() in environment and state not in "ZX":
                alive.append(f"{folder.name} {command}")
        return alive

    def assert_nothing_left(self) -> None:
        until = time.monotonic() + 2.0
        while alive := self.left_alive():
            assert time.monotonic() < until, alive
            time.sleep(0.02)

    def events(self) -> list[Event]:
        with closing(SqliteReader(self.data / "journal.db")) as reader:
            return [event for _, event in reader.read("s")]

    def outcome(self) -> dict[int, Any]:
        """(configuration, value, curve, status) of every trial."""
        with closing(SqliteReader(self.data / "journal.db")) as reader:
            study = read_study(reader, "s")
        return {n: (r.config, r.value, r.curve, r.status) for n, r in study.trials.items()}

    def said(self) -> str:
        return (self.folder / "stderr.txt").read_text()


def check_story(program: Program, trials: int, *, interruptions: int = 0) -> None:
    """Exact budget, every trial ends once, no epoch is told twice, and only interruptions had any trained again."""
    events = program.events()
    proposed = [event.number for event in events if isinstance(event, TrialProposed)]
    assert proposed == list(range(trials))
    ended = [e for e in events if isinstance(e, TrialEnded) and e.outcome != "paused" and e.failure != "PREEMPTED"]
    ends = Counter(event.number for event in ended)
    assert not [number for number, count in ends.items() if count > 1]
    generations = [(event.number, event.generation) for event in events if isinstance(event, TrialAssigned)]
    assert len(generations) == len(set(generations))
    told = [(event.number, event.step) for event in events if isinstance(event, TrialReported)]
    assert len(told) == len(set(told))
    assert isinstance(events[-1], StudyEnded)
    trained = [tuple(map(int, line.split())) for line in program.trained.read_text().splitlines()]
    assert set(trained) == set(told)
    assert len(trained) - len(told) <= interruptions * GPUS


@pytest.mark.timeout(280)
def test_a_random_study_ends_as_if_it_had_not_been_killed(tmp_path: Path) -> None:
    trials, epochs = 16, 3
    undisturbed = Program(tmp_path / "undisturbed", "random", trials, epochs)
    assert undisturbed.run_until(None) == 0, undisturbed.said()

    killed = Program(tmp_path / "killed", "random", trials, epochs)
    rng = random.Random(5)
    for _ in range(6):
        killed.run_until(rng.randrange(1, 60))
        killed.assert_nothing_left()
    assert killed.run_until(None) == 0, killed.said()
    killed.assert_nothing_left()
    assert killed.outcome() == undisturbed.outcome()
    check_story(killed, trials, interruptions=6)


@pytest.mark.timeout(280)
def test_asha_and_tpe_keep_their_exact_budget(tmp_path: Path) -> None:
    trials = 18
    program = Program(tmp_path / "killed", "tpe", trials, 9)
    rng = random.Random(6)
    for _ in range(6):
        program.run_until(rng.randrange(1, 90))
        program.assert_nothing_left()
    assert program.run_until(None) == 0, program.said()
    program.assert_nothing_left()
    assert len(program.outcome()) == trials
    assert {status for *_, status in program.outcome().values()} <= {"completed", "stopped"}
    check_story(program, trials, interruptions=6)


@pytest.mark.timeout(120)
def test_t45_a_finished_study_is_extended(tmp_path: Path) -> None:
    """T45: 20 trials finished, 50 wanted: 30 new ones, none repeated."""
    program = Program(tmp_path / "study", "random", 20, 1)
    assert program.run_until(None) == 0, program.said()
    before = program.outcome()
    assert program.run_until(None) == 0
    assert "has finished already (20 trials)" in program.said()
    assert program.outcome() == before

    program.arguments = ["random", "50"]
    assert program.run_until(None) == 0, program.said()
    after = program.outcome()
    assert len(after) == 50
    assert {number: after[number] for number in before} == before
    assert len({str(config) for config, *_ in after.values()}) == 50
    check_story(program, 50)


@pytest.mark.timeout(120)
def test_t44_ctrl_c_and_resume_with_a_model(tmp_path: Path) -> None:
    """T44: interrupted on the way; a new process goes on with the model's history to exactly the budget."""
    program = Program(tmp_path / "study", "tpe", 20, 3)
    process = program.start()
    assert process.stdout is not None
    with process.stdout:
        ended = 0
        for line in process.stdout:
            if line.startswith("TrialEnded"):
                ended += 1
                if ended == 6:
                    process.send_signal(signal.SIGINT)
    assert process.wait() != 0
    assert "KeyboardInterrupt" in program.said()
    program.assert_nothing_left()
    interrupted = [e for e in program.events() if isinstance(e, TrialEnded) and e.failure == "PREEMPTED"]
    assert 0 < len(interrupted) <= 4
    assert program.run_until(None) == 0, program.said()
    assert len(program.outcome()) == 20
    check_story(program, 20, interruptions=1)
