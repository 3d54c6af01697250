"""Every mistake ends in a line of cause, one of remedy and the documented exit code; nothing is half-written."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Shoal = Callable[..., "subprocess.CompletedProcess[str]"]

HEAD = """
import shoal
from shoal.spaces import Float, Space
space = Space(x=Float(0.0, 1.0))
def objective(config):
    return config.x
"""

GOOD = HEAD + (
    'study = shoal.Study(space=space, train=objective, maximize="score", trials=3, strategy="random", '
    "reuse_workers=True)\n"
)


def complaint(done: subprocess.CompletedProcess[str]) -> tuple[str, str]:
    """The lines of cause and remedy, which must be the only ones of their kind."""
    causes = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    remedies = [line for line in done.stderr.splitlines() if line.startswith("remedy: ")]
    assert len(causes) == len(remedies) == 1, done.stderr
    assert "Traceback" not in done.stderr
    return causes[0], remedies[0]


STUDY = "study = shoal.Study(space=space, train=objective, {more})\n"

FILES = {
    "no study": ("x = 1\n", "defines no study", "shoal.Study("),
    "syntax": ("def broken(:\n", "bad.py:1 cannot be imported: SyntaxError", "python"),
    "raises": ("import os\nraise ValueError('no data')\n", "bad.py:2 cannot be imported: ValueError: no data", ""),
    "exits": ("import sys\nsys.exit(3)\n", "bad.py:2 cannot be imported: SystemExit", ""),
    "missing module": ("import no_such_module\n", "bad.py:1 cannot be imported: ModuleNotFoundError", ""),
    "bound": ("from shoal.spaces import Float\nx = Float(1.0, -1.0)\n", "bad.py:2", ""),
    "log": ("from shoal.spaces import Float\nx = Float(0.0, 1.0, log=True)\n", "bad.py:2", ""),
    "strategy": (HEAD + STUDY.format(more='maximize="s", strategy="randon"'), "'randon'", "random"),
    "stopping": (HEAD + STUDY.format(more='maximize="s", early_stopping="ashaa"'), "'ashaa'", "asha"),
    "no objective": (HEAD + STUDY.format(more="trials=3"), "no objective", "maximize="),
    "both": (HEAD + STUDY.format(more='maximize="a", minimize="a"'), "'a' is given twice", "each once"),
    "constraint": (HEAD + STUDY.format(more='maximize="a", subject_to={"b": "5"}'), "'5', which is not", "'<= 5'"),
    "point": (HEAD + STUDY.format(more='maximize="a", points_to_evaluate=[{"x": 9}]'), "points_to_evaluate[0]", "x"),
    "workers": (HEAD + STUDY.format(more='maximize="s", workers=3'), "power of two", "1, 2, 4"),
    "trials": (HEAD + STUDY.format(more='maximize="s", trials=0'), "trials=0", "1 or more"),
    "name": (HEAD + STUDY.format(more='maximize="s", name="a/b"'), "'a/b'", "letters"),
    "two of a name": (
        HEAD + STUDY.format(more='maximize="s", name="a"') + "other" + STUDY.format(more='maximize="s", name="a"')[5:],
        "two studies are called 'a'",
        "name",
    ),
}


@pytest.mark.parametrize("case", FILES)
def test_bad_files(shoal: Shoal, case: str, tmp_path: Path) -> None:
    text, cause, remedy = FILES[case]
    (tmp_path / "bad.py").write_text(text)
    done = shoal("run", "bad.py", cwd=tmp_path)
    said = complaint(done)
    assert done.returncode == 2
    assert cause in said[0] and remedy in " ".join(said)
    assert not (tmp_path / ".shoal").exists()


@pytest.mark.parametrize(
    ("words", "code", "cause", "remedy"),
    [
        (["run", "missing.py"], 3, "no file missing.py", "shoal init"),
        (["run", "notes.txt"], 2, "not a Python file", ".py"),
        (["run", "."], 3, "no file .", "shoal init"),
        (["run", "random.py"], 2, "module 'random'", "Rename"),
        (["check", "missing.py"], 3, "no file missing.py", "shoal init"),
        (["run"], 2, "Missing argument", "--help"),
        (["rnu"], 2, "'rnu'", "Did you mean run?"),
        (["run", "good.py", "--treials", "3"], 2, "--treials", "--trials?"),
        (["run", "good.py", "--trials", "few"], 2, "'--trials'", "--help"),
        (["run", "good.py", "--trials", "0"], 2, "trials=0", "1 or more"),
        (["run", "good.py", "--strategy", "tpee"], 2, "'tpee'", "tpe"),
        (["run", "good.py", "--set", "max_failure=3"], 2, "'max_failure'", "Did you mean max_failures?"),
        (["run", "good.py", "--logical-gpus", "0"], 2, "--logical-gpus", "--help"),
        (["run", "good.py", "-o", "yaml"], 2, "'yaml'", "json"),
        (["show", "good"], 3, "no journal", "--data"),
        (["logs", "good"], 2, "names a study", "good#7"),
        (["init", "study.txt"], 2, "study.txt", ".py"),
        (["init", "no/such/folder/study.py"], 2, "cannot be written", "folder"),
        (["export", "good"], 2, "no export format", "--csv"),
    ],
)
def test_bad_words(shoal: Shoal, words: list[str], code: int, cause: str, remedy: str, tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / "random.py").write_text(GOOD)
    (tmp_path / "notes.txt").write_text("notes")
    done = shoal(*words, cwd=tmp_path)
    said = complaint(done)
    assert done.returncode == code, done.stderr
    assert cause in said[0] and remedy in said[1]
    assert not (tmp_path / ".shoal").exists()


def test_bad_settings(shoal: Shoal, tmp_path: Path) -> None:
    (tmp_path / "shoal.toml").write_text('dta = "x"\n')
    done = shoal("ls", cwd=tmp_path)
    assert done.returncode == 2 and "Did you mean data?" in complaint(done)[1]
    (tmp_path / "shoal.toml").unlink()
    assert shoal("ls", cwd=tmp_path, SHOAL_OUTPUT="xml").returncode == 2


@pytest.fixture(scope="module")
def finished(shoal: Shoal, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("good")
    (folder / "good.py").write_text(GOOD)
    done = shoal("run", "good.py", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize(
    ("words", "code", "cause", "remedy"),
    [
        (["show", "goood"], 3, "'goood'", "Did you mean good?"),
        (["show", "entirely-else"], 3, "'entirely-else'", "Known: good."),
        (["explain", "good#99"], 3, "no trial 99", "0 to 2"),
        (["logs", "good", "99"], 3, "no trial 99", "0 to 2"),
        (["pause", "good"], 2, "completed already", "--trials N extends"),
        (["kill", "good#0"], 2, "completed already", "shoal trials"),
        (["enqueue", "good", "x"], 2, "not NAME=VALUE", "lr=0.1"),
        (["enqueue", "good", "y=1"], 2, "'y' is not in the space", "Known: x."),
        (["enqueue", "good", "x=7"], 2, "x=7", "Give a value"),
        (["explain", "good#1#2"], 2, "names no study or trial", "STUDY#7"),
    ],
)
def test_bad_names(shoal: Shoal, finished: Path, words: list[str], code: int, cause: str, remedy: str) -> None:
    done = shoal(*words, cwd=finished)
    said = complaint(done)
    assert done.returncode == code, done.stderr
    assert cause in said[0] and remedy in said[1]


def test_debug_shows_the_traceback(shoal: Shoal, tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(FILES["raises"][0])
    for words in (["--debug", "run", "bad.py"], ["run", "bad.py", "--debug"]):
        done = shoal(*words, cwd=tmp_path)
        assert done.returncode == 2 and "Traceback" in done.stderr and "error: " in done.stderr


def test_what_a_file_prints_is_no_data(shoal: Shoal, tmp_path: Path) -> None:
    (tmp_path / "chatty.py").write_text('print("hello")\n' + GOOD)
    done = shoal("check", "chatty.py", "-o", "json", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.startswith("[") and "hello" in done.stderr


def test_all_trials_fail(shoal: Shoal, tmp_path: Path) -> None:
    """T74: the study ends as failed, exit code 5; each trial's traceback is in its log."""
    (tmp_path / "failing.py").write_text(GOOD.replace("return config.x", 'raise KeyError("no such column")'))
    done = shoal("run", "failing.py", cwd=tmp_path)
    assert done.returncode == 5, done.stderr
    assert "failed" in done.stdout
    log = shoal("logs", "failing#0", cwd=tmp_path).stdout
    assert "Traceback" in log and "no such column" in log
    assert "no such column" in shoal("explain", "failing#0", cwd=tmp_path).stdout


def test_max_failures_ends_the_study(shoal: Shoal, tmp_path: Path) -> None:
    body = 'raise ValueError("bad")'
    (tmp_path / "failing.py").write_text(GOOD.replace("return config.x", body).replace("trials=3", "trials=50"))
    done = shoal("run", "failing.py", "--set", "max_failures=2", cwd=tmp_path)
    assert done.returncode == 5
    assert "max_failures" in done.stdout


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ('return "high"', "str"),
        ("return None", "None"),
        ("return (1.0, 2.0)", "tuple"),
        ('return {"loss": 1.0}', "score"),
    ],
)
def test_results_that_are_no_numbers(shoal: Shoal, tmp_path: Path, body: str, told: str) -> None:
    """T29: the trial fails and its message names what came instead."""
    (tmp_path / "odd.py").write_text(GOOD.replace("return config.x", body))
    assert shoal("run", "odd.py", "--trials", "1", cwd=tmp_path).returncode == 5
    assert told in shoal("trials", "odd", cwd=tmp_path).stdout


def test_a_metric_that_is_never_reported(shoal: Shoal, tmp_path: Path) -> None:
    text = GOOD.replace("objective(config)", "objective(trial)").replace("return config.x", "trial.report(acc=1.0)")
    (tmp_path / "silent.py").write_text(text)
    assert shoal("run", "silent.py", "--trials", "1", cwd=tmp_path).returncode == 5
    assert "score" in shoal("explain", "silent#0", cwd=tmp_path).stdout


def test_the_objective_may_not_be_turned_around(shoal: Shoal, finished: Path, tmp_path: Path) -> None:
    """T76: opening a maximising study as a minimising one is an error."""
    import shutil

    shutil.copytree(finished, tmp_path / "copy")
    (tmp_path / "copy" / "good.py").write_text(GOOD.replace("maximize=", "minimize="))
    done = shoal("run", "good.py", cwd=tmp_path / "copy")
    assert done.returncode == 2
    assert "imize" in complaint(done)[0]


def test_a_damaged_journal(shoal: Shoal, finished: Path, tmp_path: Path) -> None:
    """Cut short: one line says so, and the file is left as it is."""
    import shutil

    shutil.copytree(finished, tmp_path / "copy")
    journal = tmp_path / "copy" / ".shoal" / "journal.db"
    journal.write_bytes(journal.read_bytes()[:3000])
    before = journal.read_bytes()
    for words in (["run", "good.py", "--trials", "9"], ["show", "good"], ["ls"]):
        done = shoal(*words, cwd=tmp_path / "copy")
        assert done.returncode == 1, (words, done.stderr)
        assert "journal.db" in complaint(done)[0]
    assert journal.read_bytes() == before


def test_secrets_are_not_shown(shoal: Shoal, tmp_path: Path) -> None:
    """T81: tokens and database passwords in the environment reach neither trials, nor logs, nor `doctor`."""
    nosy = GOOD.replace("return config.x", "import os; print(dict(os.environ)); return config.x")
    (tmp_path / "nosy.py").write_text(nosy)
    secrets = {"DATABASE_URL": "postgresql://me:hunter2@host/db", "HUB_TOKEN": "hunter2"}
    done = shoal("run", "nosy.py", "--trials", "1", cwd=tmp_path, **secrets)
    assert done.returncode == 0, done.stderr
    logged = shoal("logs", "nosy#0", cwd=tmp_path).stdout
    doctor = shoal("doctor", cwd=tmp_path, **secrets).stdout
    assert "PATH" in logged and "hunter2" not in logged + doctor + done.stdout + done.stderr
