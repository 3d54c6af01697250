"""`shoal note` and `shoal tag`, on studies that run and on those that have ended."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

Shoal = Callable[..., "subprocess.CompletedProcess[str]"]
HARM = "<img src=x onerror=harm()> [bold]rich[/bold] & ünï"

STUDY = """
import time
import shoal
from shoal.spaces import Float, Space

def train(trial):
    for epoch in trial.epochs(EPOCHS):
        time.sleep(0.02)
        trial.report(score=trial.config.x)

study = shoal.Study(space=Space(x=Float(0.0, 1.0)), train=train, maximize="score", trials=3, strategy="random")
"""


@pytest.fixture(scope="module")
def finished(shoal: Shoal, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished study "short", and the file of a study "long"."""
    folder = tmp_path_factory.mktemp("remarks")
    for name, epochs in (("short", 1), ("long", 10_000)):
        (folder / f"{name}.py").write_text(STUDY.replace("EPOCHS", str(epochs)))
    assert shoal("run", "short.py", "--plain", cwd=folder).returncode == 0
    return folder


@pytest.fixture
def running(shoal: Shoal, finished: Path) -> Iterator[Path]:
    """The same while a run of the study "long" is going on."""
    words = [sys.executable, "-m", "shoal", "run", "long.py", "--plain"]
    program = subprocess.Popen(words, cwd=finished, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 60
        while shoal("show", "long#0", cwd=finished).returncode and time.monotonic() < until:
            time.sleep(0.05)
        yield finished
    finally:
        program.send_signal(signal.SIGINT)
        program.wait(60)


def shown(shoal: Shoal, *words: str, cwd: Path) -> Any:
    done = shoal(*words, "--output", "json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_finished_study_is_written_on_and_shown(shoal: Shoal, finished: Path) -> None:
    before = shown(shoal, "show", "short", cwd=finished)
    told = shown(shoal, "note", "short", f"  {HARM}\nsecond line ", cwd=finished)
    assert told == {"study": "short", "acknowledged": True, "effect": "study short: note written"}
    assert shown(shoal, "tag", "short/1", "+good", "+old", cwd=finished)["effect"] == "trial short#1: tags +good +old"
    assert shown(shoal, "tag", "short#1", "-old", cwd=finished)["effect"] == "trial short#1: tags -old"
    study = shown(shoal, "show", "short", cwd=finished)
    assert study["note"] == f"{HARM}\nsecond line" and study["state"] == "completed"
    assert {**study, "note": ""} == before
    assert shown(shoal, "show", "short", "1", cwd=finished)["tags"] == ["good"]
    (row,) = shown(shoal, "trials", "short", "--tag", "good", cwd=finished)
    assert row["number"] == 1
    table = shoal("show", "short", cwd=finished).stdout
    assert HARM in table and "second line" in table
    assert "good" in shoal("trials", "short", cwd=finished).stdout
    assert "tags +good +old by shoal tag" in shoal("explain", "short#1", cwd=finished).stdout
    shown(shoal, "note", "short", "", cwd=finished)
    assert shown(shoal, "show", "short", cwd=finished) == before


def test_a_run_goes_on_while_its_studies_are_written_on(shoal: Shoal, running: Path) -> None:
    """Its own study, and one in the same journal that has ended."""
    assert shown(shoal, "note", "long#0", "looks good", cwd=running)["acknowledged"] is True
    assert shown(shoal, "tag", "long", "+night", cwd=running)["acknowledged"] is True
    assert shown(shoal, "tag", "short", "+baseline", cwd=running)["acknowledged"] is True
    assert shown(shoal, "show", "long", "0", cwd=running)["note"] == "looks good"
    assert shown(shoal, "show", "long", cwd=running)["tags"] == ["night"]
    assert shown(shoal, "show", "short", cwd=running)["tags"] == ["baseline"]
    assert shown(shoal, "show", "long", cwd=running)["state"] == "running"


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["note", "shart", "x"], 3, "Did you mean short?"),
        (["note", "short#9", "x"], 3, "It has trials 0 to 2"),
        (["note", "short", "x" * 4001], 2, "4001 characters"),
        (["note", "short", "\x1b[31mred"], 2, "control character"),
        (["note", "short"], 2, "Missing argument 'text'"),
        (["tag", "short"], 2, "Missing argument '+TAG/-TAG'"),
        (["tag", "short", "good"], 2, "Write +good"),
        (["tag", "short", "+two words"], 2, "not one word"),
        (["tag", "short", "-old"], 2, "no tag 'old'"),
        (["tag", "short", "+a", "-a"], 2, "added and removed"),
        (["tag", "short", "--good"], 2, "tag '-good' is not one word"),
        (["tag", "short", *(f"+t{n}" for n in range(21))], 2, "more than 20"),
        (["trials", "short", "--tag", "bad"], 3, "no trial of short has the tag 'bad'"),
        (["show", "short#1", "--importance"], 2, "about a study"),
    ],
)
def test_mistakes_are_told_and_change_nothing(
    shoal: Shoal, finished: Path, words: list[str], code: int, says: str
) -> None:
    before = shown(shoal, "show", "short", cwd=finished)
    done = shoal(*words, cwd=finished)
    assert done.returncode == code and says in done.stderr and "Traceback" not in done.stderr, done.stderr
    assert shown(shoal, "show", "short", cwd=finished) == before
