"""`shoal run --dashboard` and `shoal dashboard` as processes: they show, they end, and they disturb nobody."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

STUDY = """
import time
import shoal
from shoal.spaces import Float, Space

def objective(config):
    time.sleep(0.05)
    return config.x

study = shoal.Study(space=Space(x=Float(0.0, 1.0)), train=objective, maximize="score", trials=TRIALS, strategy="random")
"""
Started = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Started]:
    """Start `shoal ...` in a folder; every process is ended afterwards."""
    processes: list[subprocess.Popen[str]] = []

    def start(*words: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "shoal", *words],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def write_study(folder: Path, trials: int) -> None:
    (folder / "small.py").write_text(STUDY.replace("TRIALS", str(trials)), encoding="utf-8")


def address_in(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("dashboard: "):
            return line.removeprefix("dashboard: ").strip()
    raise AssertionError("no address")


@contextmanager
def logged_in(address: str) -> Iterator[httpx.Client]:
    base, _, code = address.partition("/login#")
    with httpx.Client(base_url=base, headers={"origin": base}, timeout=30) as client:
        assert client.post("/api/v1/login", json={"code": code}).status_code == 200
        yield client


def until(look: Callable[[], Any], limit_s: float = 60.0) -> Any:
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        found = look()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError("it did not come to pass")


def is_open(address: str) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", int(address.split(":")[2].split("/")[0]))) == 0


def test_it_shows_a_run_and_ends_with_it(started: Started, tmp_path: Path) -> None:
    write_study(tmp_path, trials=400)
    run = started("run", "small.py", "--data", "data", "--plain", "--dashboard")
    address = address_in(run)
    with logged_in(address) as client:
        until(lambda: client.get("/api/v1/studies/small").json().get("settled"))
        reply = client.post("/api/v1/studies/small/commands", json={"verb": "kill"}).json()
        assert reply["acknowledged"] and "are killed" in reply["effect"]
    run.communicate(timeout=60)
    until(lambda: not is_open(address))


def test_it_ends_when_its_run_is_killed(started: Started, tmp_path: Path) -> None:
    """kill -9 of the run leaves no server behind."""
    write_study(tmp_path, trials=400)
    run = started("run", "small.py", "--data", "data", "--plain", "--dashboard")
    address = address_in(run)
    assert is_open(address)
    os.kill(run.pid, signal.SIGKILL)
    until(lambda: not is_open(address))


def test_it_comes_before_the_first_study_and_ends_on_ctrl_c(started: Started, tmp_path: Path) -> None:
    """An open event stream does not hold the server up."""
    shown = started("dashboard", "--data", "data", "--port", "0")
    assert shown.stdout is not None
    address = shown.stdout.readline().strip()
    with logged_in(address) as client, client.stream("GET", "/api/v1/events") as stream:
        lines = stream.iter_lines()
        assert next(lines) == "retry: 1000"
        write_study(tmp_path, trials=3)
        started("run", "small.py", "--data", "data", "--plain").communicate(timeout=60)
        assert any('"studies": ["small"]' in line for line in lines)
        shown.send_signal(signal.SIGINT)
        assert shown.wait(20) in (0, 130)


def test_a_taken_port_is_told(started: Started) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        _, told = started("dashboard", "--port", port).communicate(timeout=60)
    assert f"port {port} is taken" in told


def test_hosts_and_prefixes_are_checked(started: Started) -> None:
    for words in (("--prefix", "no slash"), ("--allow-host", "a b")):
        process = started("dashboard", *words)
        _, told = process.communicate(timeout=60)
        assert process.returncode == 2 and words[0] in told
