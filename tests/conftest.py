"""What every test can use."""

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .postgres_server import Server, is_installed, running_server

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = str(Path(sys.executable).with_name("shoal"))
LIMIT_S = 180

IN_THIS_PROCESS = (
    *("init", "ls", "show", "trials", "logs", "explain", "export", "doctor"),
    *("pause", "resume", "stop", "kill", "enqueue", "note", "tag"),
)
"""Commands that load no user code: called here they take milliseconds, a process of its own takes half a second."""

Shoal = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository's root: the folder that is the package."""
    return ROOT


@pytest.fixture(scope="session")
def shoal() -> Shoal:
    """Run the command line in a folder: `shoal("show", "digits", cwd=folder)`; further keywords are environment."""
    return run_shoal


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server: `postgres.database()` is the address of an empty database."""
    if not is_installed():
        told = "PostgreSQL is missing: apt-get install postgresql"
        if os.environ.get("CI"):
            pytest.fail(told)
        pytest.skip(told)
    with running_server() as server:
        yield server


def run_shoal(*words: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """The finished command with what it wrote."""
    if words and words[0] in IN_THIS_PROCESS and not env:
        return _called(words, cwd)
    return subprocess.run(
        [PROGRAM, *words],
        cwd=cwd,
        env={**os.environ, "COLUMNS": "200", **env},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        stdin=subprocess.DEVNULL,
    )


def _called(words: tuple[str, ...], cwd: Path) -> subprocess.CompletedProcess[str]:
    from shoal.service.cli import run

    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(cwd), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(words)
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())


@pytest.fixture(autouse=True)
def _no_user_settings(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Settings of the person who runs the tests must not change them."""
    for name in [name for name in os.environ if name.startswith("SHOAL_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.getbasetemp() / "no-config"))
