"""The command line as a person uses it: real processes, a real data directory."""

import csv
import io
import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

LIMIT_S = 120
PROGRAM = str(Path(sys.executable).with_name("shoal"))

Shoal = Callable[..., "subprocess.CompletedProcess[str]"]

QUICK = """
import shoal
from shoal.spaces import Categorical, Float, Space

space = Space(x=Float(-1.0, 1.0), kind=Categorical([True, False, "c", "b"]))

def objective(config):
    print("trying", config.x)
    return -(config.x - 0.5) ** 2

study = shoal.Study(space=space, train=objective, maximize="score", trials=5, strategy="random", reuse_workers=True)
"""

SLOW = """
import time
import shoal
from shoal.spaces import Float, Space

def train(trial):
    trial.save({})
    for epoch in trial.epochs(1000):
        time.sleep(0.05)
        trial.report(score=trial.config.x)

study = shoal.Study(space=Space(x=Float(0.0, 1.0)), train=train, maximize="score", trials=4, strategy="random")
"""


def data(shoal: Shoal, *words: str, cwd: Path) -> Any:
    done = shoal(*words, "-o", "json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def finished(shoal: Shoal, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with quick.py and its finished study."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "quick.py").write_text(QUICK)
    done = shoal("run", "quick.py", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def running(tmp_path: Path) -> Iterator[tuple[Path, "subprocess.Popen[str]"]]:
    """A folder in which `shoal run slow.py` is going on with its first trials at work."""
    (tmp_path / "slow.py").write_text(SLOW)
    program = subprocess.Popen(
        [PROGRAM, "run", "slow.py", "--plain"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert program.stderr is not None
    for line in program.stderr:
        if "epoch 1:" in line:
            break
    yield tmp_path, program
    program.kill()
    program.communicate(timeout=LIMIT_S)


def test_init_check_run(shoal: Shoal, tmp_path: Path) -> None:
    assert shoal("init", "forest.py", cwd=tmp_path).returncode == 0
    again = shoal("init", "forest.py", cwd=tmp_path)
    assert again.returncode == 2 and "exists already" in again.stderr
    (report,) = data(shoal, "check", "forest.py", cwd=tmp_path)
    assert report["name"] == "forest" and len(report["samples"]) == 5 and report["budget"] == {"trials": 20}
    assert not (tmp_path / ".shoal").exists()
    done = shoal("run", "forest.py", "--trials", "2", "--strategy", "random", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "best accuracy = 0." in done.stdout and "data: .shoal" in done.stdout


def test_show_has_the_documented_keys(shoal: Shoal, finished: Path) -> None:
    shown = data(shoal, "show", "quick", cwd=finished)
    assert shown["state"] == "completed"
    assert shown["trials"]["completed"] == 5 and shown["trials"]["failed"] == 0
    assert set(shown["best"]) == {"number", "value", "config"}
    assert shown["objective"] == {"metric": "score", "direction": "maximize"}
    assert shown["gpu_seconds"] == 0 and shown["epochs_trained"] >= 0
    best = max(data(shoal, "trials", "quick", cwd=finished), key=lambda trial: trial["value"])
    assert (best["number"], best["value"], best["config"]) == tuple(shown["best"].values())


def test_show_tells_what_mattered(shoal: Shoal, finished: Path, tmp_path: Path) -> None:
    (tmp_path / "matters.py").write_text(QUICK.replace("trials=5", "trials=24"))
    assert shoal("run", "matters.py", cwd=tmp_path).returncode == 0
    found = data(shoal, "show", "matters", "--importance", cwd=tmp_path)
    assert (found["evaluator"], found["metric"], found["completed"], found["stopped"]) == ("ped_anova", "score", 24, 0)
    first, second = found["parameters"]
    assert first["path"] == "x" and first["share"] > second["share"] and first["trials"] == 24
    assert 0 <= first["low"] <= first["share"] <= first["high"] <= 1
    table = shoal("show", "matters", "--importance", "--evaluator", "mdi", cwd=tmp_path)
    assert "mdi for score over 24 completed trials" in table.stderr and table.stdout.startswith("path")
    for words, told in (
        (["--evaluator", "shap"], "Use one of ped_anova, fanova, mdi."),
        (["--metric", "loss"], "It has score."),
    ):
        refused = shoal("show", "matters", "--importance", *words, cwd=tmp_path)
        assert refused.returncode in (2, 3) and told in refused.stderr
    few = shoal("show", "quick", "--importance", cwd=finished)
    assert few.returncode == 2 and "at least 10 ended trials" in few.stderr


def test_types_survive_the_journal(shoal: Shoal, finished: Path) -> None:
    """T08, T72: True and "c" come back as what they are."""
    kinds = [trial["config"]["kind"] for trial in data(shoal, "trials", "quick", cwd=finished)]
    assert all(kind is True or kind is False or kind in ("c", "b") for kind in kinds)


def test_lists(shoal: Shoal, finished: Path) -> None:
    (row,) = data(shoal, "ls", cwd=finished)
    assert (row["name"], row["state"], row["trials"], row["budget"]) == ("quick", "completed", 5, 5)
    for command in (["ls"], ["show", "quick"], ["trials", "quick"], ["show", "quick", "--origin"]):
        done = shoal(*command, cwd=finished)
        assert done.returncode == 0 and "quick" in done.stdout + " ".join(command)
    assert data(shoal, "trials", "quick", "--state", "failed", cwd=finished) == []
    wrong = shoal("trials", "quick", "--state", "failled", cwd=finished)
    assert wrong.returncode == 2 and "completed" in wrong.stderr


def test_export(shoal: Shoal, finished: Path) -> None:
    out = shoal("export", "quick", "--csv", cwd=finished).stdout
    rows = list(csv.DictReader(io.StringIO(out)))
    assert len(rows) == 5 and {"number", "value", "params.x", "params.kind"} <= set(rows[0])
    to_file = shoal("export", "quick", "--csv", "--out", "trials.csv", cwd=finished)
    assert to_file.returncode == 0 and (finished / "trials.csv").read_text() == out


@pytest.mark.parametrize("words", [["quick#0"], ["quick/0"], ["quick", "0"]])
def test_a_trials_log_and_story(shoal: Shoal, finished: Path, words: list[str]) -> None:
    assert "trying" in shoal("logs", *words, cwd=finished).stdout
    told = shoal("explain", *words, cwd=finished)
    assert told.returncode == 0 and len(told.stdout.splitlines()) >= 3


def test_follow_the_log_of_an_ended_trial(shoal: Shoal, finished: Path) -> None:
    assert "trying" in shoal("logs", "quick#0", "-f", cwd=finished).stdout


def test_watch_a_finished_study(shoal: Shoal, finished: Path) -> None:
    assert shoal("watch", "quick", cwd=finished).returncode == 0


def test_debug_runs_a_trial_here(shoal: Shoal, finished: Path) -> None:
    value = data(shoal, "trials", "quick", cwd=finished)[0]["value"]
    again = shoal("debug", "quick#0", cwd=finished)
    assert again.returncode == 0, again.stderr
    assert again.stdout.splitlines()[0].startswith("trying") and float(again.stdout.splitlines()[1]) == value


def test_run_again_and_extend(shoal: Shoal, tmp_path: Path) -> None:
    """T45: a finished study is left alone, and extended when its budget grows; nothing is repeated."""
    (tmp_path / "quick.py").write_text(QUICK)
    first = shoal("run", "quick.py", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    before = data(shoal, "trials", "quick", cwd=tmp_path)
    same = shoal("run", "quick.py", cwd=tmp_path)
    assert same.returncode == 0 and "finished already" in same.stderr
    more = shoal("run", "quick.py", "--trials", "8", cwd=tmp_path)
    assert more.returncode == 0, more.stderr
    after = data(shoal, "trials", "quick", cwd=tmp_path)
    assert len(after) == 8 and after[:5] == before
    assert len({trial["config"]["x"] for trial in after}) == 8
    new = shoal("run", "quick.py", "--new", "--trials", "2", cwd=tmp_path)
    assert new.returncode == 0, new.stderr
    assert [row["name"] for row in data(shoal, "ls", cwd=tmp_path)] == ["quick", "quick-2"]


def test_dry_run_writes_nothing(shoal: Shoal, tmp_path: Path) -> None:
    (tmp_path / "quick.py").write_text(QUICK)
    done = shoal("run", "quick.py", "--dry-run", "--trials", "7", cwd=tmp_path)
    assert done.returncode == 0 and "budget.trials" in done.stdout and "7" in done.stdout
    assert sorted(p.name for p in tmp_path.iterdir() if p.name != "__pycache__") == ["quick.py"]


def test_settings_from_a_file(shoal: Shoal, tmp_path: Path) -> None:
    (tmp_path / "quick.py").write_text(QUICK)
    (tmp_path / "shoal.toml").write_text('data = "elsewhere"\n')
    assert shoal("run", "quick.py", "--trials", "1", cwd=tmp_path).returncode == 0
    assert (tmp_path / "elsewhere" / "journal.db").is_file()
    shown = data(shoal, "show", "quick", "--origin", cwd=tmp_path)
    assert shown["settings"]["data"] == {"value": "elsewhere", "origin": "./shoal.toml"}


def test_output_into_a_closed_pipe(shoal: Shoal, finished: Path) -> None:
    command = f"{shlex.quote(PROGRAM)} trials quick | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], cwd=finished, capture_output=True, text=True, timeout=LIMIT_S)
    assert done.stdout.strip() == "0" and "Traceback" not in done.stderr


def test_steering_a_run(shoal: Shoal, running: tuple[Path, "subprocess.Popen[str]"]) -> None:
    """Each command is acknowledged by the running head and says what it touched."""
    folder, program = running
    for words in (["pause", "slow"], ["resume", "slow"], ["kill", "slow#0"], ["enqueue", "slow", "x=0.25"]):
        told = data(shoal, *words, cwd=folder)
        assert told["acknowledged"] is True and told["effect"], told
    cancelled = [row for row in data(shoal, "trials", "slow", cwd=folder) if row["state"] == "cancelled"]
    assert [row["number"] == 0 for row in cancelled] == [True, False]
    assert "made room" in cancelled[1]["reason"]  # for the enqueued one: the budget holds
    again = shoal("kill", "slow#0", cwd=folder)
    assert again.returncode == 2 and "cancelled already" in again.stderr
    told = data(shoal, "kill", "slow", cwd=folder)
    assert told["acknowledged"] is True
    program.communicate(timeout=LIMIT_S)
    assert data(shoal, "show", "slow", cwd=folder)["state"] == "stopped"


def test_ctrl_c_keeps_the_study(shoal: Shoal, running: tuple[Path, "subprocess.Popen[str]"]) -> None:
    """T73: after Ctrl-C the study is shown, and the same command goes on with it."""
    folder, program = running
    program.send_signal(signal.SIGINT)
    _, said = program.communicate(timeout=LIMIT_S)
    assert program.returncode == 130 and "the same command goes on" in said and "Traceback" not in said
    shown = data(shoal, "show", "slow", cwd=folder)
    assert shown["state"] == "running" and shown["ended_at"] is None
    told = data(shoal, "stop", "slow", cwd=folder)
    assert told["acknowledged"] is False and "next opens it" in told["effect"]


def test_a_second_run_is_refused(shoal: Shoal, running: tuple[Path, "subprocess.Popen[str]"]) -> None:
    """Two runs of the same study at once: the second names the first and writes nothing."""
    folder, program = running
    second = shoal("run", "slow.py", cwd=folder)
    assert second.returncode == 1 and str(program.pid) in second.stderr and "Traceback" not in second.stderr


def test_watch_from_another_terminal(shoal: Shoal, running: tuple[Path, "subprocess.Popen[str]"]) -> None:
    folder, _ = running
    watcher = subprocess.Popen(
        [PROGRAM, "watch", "slow", "--plain"], cwd=folder, stderr=subprocess.PIPE, text=True
    )
    assert watcher.stderr is not None
    assert any("epoch" in line for line in watcher.stderr)
    watcher.send_signal(signal.SIGINT)
    _, said = watcher.communicate(timeout=LIMIT_S)
    assert watcher.returncode == 0 and "slow goes on" in said


def test_looking_at_a_study_executes_nothing_of_it(shoal: Shoal, finished: Path, tmp_path: Path) -> None:
    """T80: pickles in the data directory with code inside stay closed when a study is listed, shown or exported."""
    import pickle
    import shutil

    shutil.copytree(finished, tmp_path / "copy")
    mark = tmp_path / "executed"

    class Evil:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.system, (f"touch {mark}",)

    folder = tmp_path / "copy" / ".shoal" / "studies" / "quick" / "trials" / "0000" / "checkpoints"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "epoch-00000001.ckpt").write_bytes(pickle.dumps(Evil()))
    for words in (["ls"], ["show", "quick"], ["trials", "quick"], ["explain", "quick#0"], ["logs", "quick#0"]):
        assert shoal(*words, cwd=tmp_path / "copy").returncode == 0
    assert not mark.exists()
