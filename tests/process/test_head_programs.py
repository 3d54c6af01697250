"""Whole programs over real processes: what is shared between them, what is said when something is wrong."""

import os
import signal
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal.errors import CodeError, JournalLocked, PoolError, SpecError
from shoal.search.events import CommandDone, TrialAssigned
from shoal.search.journal.sqlite import SqliteJournal
from shoal.search.journal.sqlite_reader import SqliteReader
from shoal.search.replay import read_study
from shoal.service.commands import Command
from shoal.spaces import Float, Space

pytestmark = pytest.mark.slow

SPACE = Space(x=Float(0.0, 1.0))


@pytest.fixture(autouse=True)
def _own_runtime_dir(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SHOAL_RUNTIME_DIR", str(tmp_path / "run"))


def study(train: Any, **settings: Any) -> shoal.Study:
    given: dict[str, Any] = {"space": SPACE, "train": train, "maximize": "score", "trials": 4, "name": "s"}
    given["strategy"] = "random"
    return shoal.Study(**(given | settings))


def test_a_function_of_a_notebook(tmp_path: Path) -> None:
    """A closure has no importable name: it travels as a pickle that only workers load."""
    offset = 2.0
    results = study(lambda config: config.x + offset).run(data=tmp_path / "data")
    assert (results.state, len(results)) == ("completed", 4)
    assert results.value is not None and results.value > 2.0
    assert results.config["x"] == pytest.approx(results.value - offset)
    assert [row["state"] for row in results.to_rows()] == ["completed"] * 4


def test_workers_that_are_used_again(tmp_path: Path) -> None:
    def worker(config: Any) -> float:
        return float(os.getpid())

    results = study(worker, trials=12, reuse_workers=True).run(data=tmp_path / "data", logical_gpus=1)
    assert len({row["value"] for row in results.trials}) <= 2  # one, and one that stands by
    fresh = study(worker, trials=3).run(data=tmp_path / "other", logical_gpus=1)
    assert len({row["value"] for row in fresh.trials}) == 3


def test_logical_gpus_are_never_shared(tmp_path: Path) -> None:
    held: set[str] = set()
    most = 0

    def watch(state: Any, event: Any) -> None:
        nonlocal most
        if isinstance(event, TrialAssigned):
            assert not held & set(event.gpus)
            held.update(event.gpus)
            most = max(most, len(held))
        elif type(event).__name__ == "TrialEnded":
            held.difference_update(gpus[event.number])

    gpus: dict[int, tuple[str, ...]] = {}

    def remember(state: Any, event: Any) -> None:
        if isinstance(event, TrialAssigned):
            gpus[event.number] = event.gpus
        watch(state, event)

    results = study(lambda config: config.x, trials=12).run(data=tmp_path / "data", logical_gpus=3, on_event=remember)
    assert len(results) == 12
    assert most == 3


def test_gpus_on_a_machine_without_any(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    with pytest.raises(PoolError, match="no GPU"):
        study(lambda config: config.x, gpus_per_worker=1).run(data=tmp_path / "data")
    assert not (tmp_path / "data").exists()


def test_two_runs_over_one_journal(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with (
        closing(SqliteJournal(data / "journal.db")),
        pytest.raises(JournalLocked, match=str(os.getpid())),
    ):
        study(lambda config: config.x).run(data=data)


def test_what_may_not_change(tmp_path: Path) -> None:
    data = tmp_path / "data"
    study(lambda config: config.x).run(data=data)
    with pytest.raises(SpecError, match="objective"):
        study(lambda config: config.x, maximize=None, minimize="score", trials=9).run(data=data)
    with pytest.raises(SpecError, match="exists"):
        study(lambda config: config.x).run(data=data, resume=False)


def test_code_that_no_worker_can_import(tmp_path: Path) -> None:
    """It runs here only because this process has already imported what a worker cannot find."""
    script = tmp_path / "project" / "program.py"
    script.parent.mkdir()
    script.write_text(
        "import sys, types\n"
        "if __name__ == '__main__':\n"
        "    sys.modules['only_here'] = types.ModuleType('only_here')\n"
        "import only_here, shoal\n"
        "from shoal.spaces import Float, Space\n"
        "def objective(config):\n"
        "    return only_here.value\n"
        "if __name__ == '__main__':\n"
        "    space = Space(x=Float(0, 1))\n"
        "    study = shoal.Study(space=space, train=objective, maximize='y', trials=2, strategy='random')\n"
        "    try:\n"
        "        study.run(data=sys.argv[1])\n"
        "    except shoal.ShoalError as error:\n"
        "        print(type(error).__name__, error.cause)\n"
    )
    command = [sys.executable, script.name, str(tmp_path / "data")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=script.parent)
    assert done.stdout.startswith(CodeError.__name__), done.stderr
    assert "only_here" in done.stdout


def test_a_script_that_runs_its_study_when_imported(tmp_path: Path) -> None:
    """Its function is sent as a pickle, so the script is not imported again and nothing recurses."""
    script = tmp_path / "project" / "program.py"
    script.parent.mkdir()
    (script.parent / "sibling.py").write_text("def double(x):\n    return 2 * x\n")
    script.write_text(
        "import sys, shoal\n"
        "from sibling import double\n"
        "from shoal.spaces import Float, Space\n"
        "def objective(config):\n"
        "    return double(config.x)\n"
        "study = shoal.Study(space=Space(x=Float(1, 2)), train=objective, maximize='y', trials=3, strategy='random')\n"
        "results = study.run(data=sys.argv[1])\n"
        "print(results.state, len(results), results.value >= 2.0)\n"
    )
    command = [sys.executable, script.name, str(tmp_path / "data")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=script.parent)
    assert done.stdout == "completed 3 True\n", done.stderr


def test_failures_of_the_users_are_theirs(tmp_path: Path) -> None:
    """Trials that raise, return no number, or never report fail one by one; the study goes on."""

    def objective(config: Any) -> Any:
        if config.x < 0.3:
            raise ValueError("too small")
        return "a text" if config.x < 0.6 else config.x

    results = study(objective, trials=12).run(data=tmp_path / "data")
    failed = [row for row in results.trials if row["state"] == "failed"]
    assert results.state == "completed"
    assert {row["failure"] for row in failed} == {"BUG"}
    assert any("ValueError: too small" in row["reason"] for row in failed)
    assert any("str" in row["reason"] for row in failed)
    assert results.exit_code == 0


def test_t74_all_trials_fail(tmp_path: Path) -> None:
    """T74: exit code 5, and not running for ever."""

    def objective(config: Any) -> float:
        raise RuntimeError("no")

    results = study(objective).run(data=tmp_path / "data")
    assert (results.state, results.exit_code, results.best) == ("failed", 5, None)


def test_a_command_reaches_a_running_program(tmp_path: Path) -> None:
    """Another process writes into the commands table; the head acknowledges and the study stops."""
    data = tmp_path / "data"

    def objective(config: Any) -> float:
        import time

        time.sleep(0.05)
        return float(config.x)

    acknowledged: list[CommandDone] = []

    def watch(state: Any, event: Any) -> None:
        if isinstance(event, TrialAssigned) and event.number == 3:
            with closing(SqliteReader(data / "journal.db")) as reader:
                reader.put_command("s", Command(verb="stop", who="shoal stop").to_json())
        if isinstance(event, CommandDone):
            acknowledged.append(event)

    results = study(objective, trials=500).run(data=data, logical_gpus=2, on_event=watch)
    assert results.state == "stopped"
    assert len(acknowledged) == 1
    assert acknowledged[0].ok
    assert sum(row["state"] == "completed" for row in results.trials) < 100


def test_ctrl_c_keeps_what_can_be_kept(tmp_path: Path) -> None:
    data = tmp_path / "data"

    def train(trial: shoal.Trial) -> None:
        import time

        for epoch in trial.epochs(200):
            time.sleep(0.02)
            trial.save(epoch)
            trial.report(score=float(epoch))

    def interrupt(state: Any, event: Any) -> None:
        if type(event).__name__ == "TrialReported" and event.step == 3:
            signal.raise_signal(signal.SIGINT)

    assert threading.current_thread() is threading.main_thread()
    with pytest.raises(KeyboardInterrupt):
        study(train, trials=2).run(data=data, logical_gpus=1, on_event=interrupt)
    with closing(SqliteReader(data / "journal.db")) as reader:
        kept = read_study(reader, "s")
    assert kept.status == "running"
    assert 3 <= kept.trials[0].last_step <= 6
    assert kept.trials[0].status == "queued"


def test_a_time_limit_for_each_trial(tmp_path: Path) -> None:
    def objective(config: Any) -> float:
        import time

        time.sleep(60)
        return 0.0

    results = study(objective, trials=2, trial_time_limit_s=0.3).run(data=tmp_path / "data")
    assert {row["failure"] for row in results.trials} == {"TIMEOUT"}
