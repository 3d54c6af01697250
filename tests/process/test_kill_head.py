"""`kill -9` of the program that holds the agent: within 2 s nothing that it started is alive."""

import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest

from shoal.trial_runner.node_agent import NodeAgent
from shoal.trial_runner.process_record import ProcessRecords

HEAD = """
import select, sys
from pathlib import Path
from shoal.spaces import Float, Space
from shoal.trial_runner.archive import pack_project
from shoal.trial_runner.messages import LaunchTrial, PrepareStudy, Slot
from shoal.trial_runner.node_agent import NodeAgent

data, project = Path(sys.argv[1]), Path(sys.argv[2])
agent = NodeAgent(data)
code = pack_project(project / "user_code.py", data / "code")
space = Space(x=Float(0, 1)).to_json()
for study, kind, command in (("s", "objective", ""), ("c", "command", "sleep 1000 & echo score=1; sleep 1000")):
    entry = {"kind": kind, "module": code.module, "function": "f", "command": command}
    agent.perform(PrepareStudy(
        study=study, entry=entry, space=space, code=code.sha, archive=code.path, study_dir=data / "studies" / study,
        standby=2,
    ))
    for number in (0, 1):
        agent.perform(LaunchTrial(
            study=study, number=number, generation=1, config={"x": 0.5}, seed=0, metric="score", direction="maximize",
            slots=(Slot(),), max_workers=1, max_shards=1,
        ))
while True:
    select.select(agent.waitables(), [], [], agent.next_due_s())
    for event in agent.drain():
        print(type(event).__name__, getattr(event, "study", ""), flush=True)
"""

SLEEPERS = """
import subprocess, time
def f(config):
    subprocess.Popen(["sleep", "1000"])
    print("up", flush=True)
    time.sleep(1000)
"""

LOADERS = """
import torch, time
from torch.utils.data import DataLoader, TensorDataset
def f(config):
    loader = DataLoader(TensorDataset(torch.arange(64.0)), batch_size=1, num_workers=2)
    for (x,) in loader:
        print("up", flush=True)
        time.sleep(1000)
"""


class Program:
    """A head of its own, with four running trials, two of them commands; recognised by a mark in the environment."""

    def __init__(self, folder: Path, source: str) -> None:
        project = folder / "project"
        project.mkdir()
        (project / "user_code.py").write_text(source)
        self.data = folder / "data"
        self.mark = f"SHOAL_TEST_MARK={uuid.uuid4().hex}"
        name, _, value = self.mark.partition("=")
        self.head = subprocess.Popen(
            [sys.executable, "-c", HEAD, str(self.data), str(project)], env={**os.environ, name: value},
            stdout=subprocess.PIPE, text=True, start_new_session=True,
        )

    def wait_until_all_run(self, processes: Any) -> None:
        assert self.head.stdout is not None
        seen: list[str] = []
        while seen.count("Started s") < 2 or seen.count("Reported c") < 2:
            line = self.head.stdout.readline()
            assert line, f"the head ended: {seen}"
            seen.append(line.strip())
        for number in ("0000", "0001"):
            log = self.data / "studies" / "s" / "trials" / number / "log.txt"
            processes.wait_until(lambda log=log: "up" in log.read_text())

    def kill(self) -> None:
        self.head.kill()
        self.head.wait()


@pytest.mark.slow
@pytest.mark.parametrize("source", [SLEEPERS, LOADERS], ids=["subprocess", "data-loader"])
def test_nothing_outlives_a_killed_head(tmp_path: Path, processes: Any, source: str) -> None:
    program = Program(tmp_path, source)
    try:
        program.wait_until_all_run(processes)
        assert len(processes.marked(program.mark)) >= 12
    finally:
        program.kill()
    processes.wait_until(lambda: not processes.marked(program.mark), 2.0)


@pytest.mark.slow
def test_the_next_start_sweeps_what_a_kill_of_everything_left(tmp_path: Path, processes: Any) -> None:
    """Head and fork servers die at the same moment, so nobody is left to end what the trials started themselves."""
    program = Program(tmp_path, SLEEPERS)
    try:
        program.wait_until_all_run(processes)
        servers = [pid for pid in processes.marked(program.mark) if os.getsid(pid) == pid and pid != program.head.pid]
        for pid in servers:
            os.kill(pid, signal.SIGSTOP)  # so that they cannot react
    finally:
        program.kill()
    for pid in servers:
        os.kill(pid, signal.SIGKILL)
    processes.wait_until(lambda: not any(processes.alive(pid) for pid in servers))
    assert processes.marked(program.mark), "the test has to leave something for the sweep"
    agent = NodeAgent(program.data)
    assert agent.swept
    agent.close()
    processes.wait_until(lambda: not processes.marked(program.mark), 2.0)


def test_a_record_of_another_process_with_the_same_number_kills_nobody(tmp_path: Path, processes: Any) -> None:
    bystander = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    try:
        records = ProcessRecords(tmp_path / "processes")
        records.add(bystander.pid)
        record = tmp_path / "processes" / str(bystander.pid)
        record.write_text(record.read_text().replace('"start_time": ', '"start_time": 1'))
        assert records.sweep() == []
        assert processes.alive(bystander.pid)
        assert list((tmp_path / "processes").iterdir()) == []
    finally:
        bystander.kill()
        bystander.wait()


def test_a_recorded_group_is_swept_and_a_damaged_record_is_dropped(tmp_path: Path) -> None:
    left = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    records = ProcessRecords(tmp_path / "processes")
    records.add(left.pid)
    (tmp_path / "processes" / "12").write_text('{"pgid": 1')
    assert records.sweep() == [left.pid]
    assert left.wait(5.0) == -signal.SIGKILL
    assert list((tmp_path / "processes").iterdir()) == []
