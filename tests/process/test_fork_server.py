"""The fork server: what it may fork, what it must not, and what happens when it dies."""

import os
import signal
import subprocess
from typing import Any

import pytest

from shoal.trial_runner.messages import Ended, Prepared


def children_of(pid: int) -> list[int]:
    listed = subprocess.run(["pgrep", "-P", str(pid)], stdout=subprocess.PIPE, text=True).stdout
    return [int(child) for child in listed.split()]


def servers() -> list[int]:
    """Fork servers that this test's process started."""
    own = []
    for pid in children_of(os.getpid()):
        try:
            with open(f"/proc/{pid}/cmdline") as file:
                if "fork_server_main" in file.read():
                    own.append(pid)
        except FileNotFoundError:
            continue
    return own


def test_workers_stand_by_and_are_replaced(node: Any, processes: Any) -> None:
    node.study("def f(config):\n    return 1", standby=2)
    [server] = servers()
    processes.wait_until(lambda: len(children_of(server)) == 2)
    node.run(0)

    def replaced() -> bool:
        node.agent.drain()
        return len(children_of(server)) == 2

    processes.wait_until(replaced)


def test_a_server_killed_in_the_middle_loses_its_trials_and_is_replaced(node: Any, processes: Any) -> None:
    node.study("import os, time\ndef f(config):\n    print(os.getpid())\n    time.sleep(1000 * config.x)\n    return 1")
    node.launch()
    worker = int(node.said())
    [server] = servers()
    os.kill(server, signal.SIGKILL)
    ended = node.wait_for(Ended)
    assert (ended.outcome, ended.failure) == ("failed", "LOST")
    assert not processes.alive(worker)
    assert node.run(1, config={"x": 0.0}).outcome == "completed"
    assert servers() != [server]


def test_a_server_that_keeps_dying_is_given_up(node: Any) -> None:
    source = "import os, signal, time\ndef f(config):\n    os.kill(os.getppid(), signal.SIGKILL)\n    time.sleep(1000)"
    node.study(source)
    outcomes = [node.run(number).failure for number in range(4)]
    assert outcomes == ["LOST"] * 4
    prepared = [event for event in node.seen if isinstance(event, Prepared)]
    assert not prepared[-1].ok and "killed by SIGKILL" in prepared[-1].note


def test_code_that_kills_the_server_while_it_is_imported_is_refused(node: Any) -> None:
    prepared = node.study("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)")
    assert not prepared.ok
    assert "importing the code" in prepared.note and "SIGSEGV" in prepared.note


def test_a_module_that_starts_a_thread_gets_fresh_interpreters(node: Any) -> None:
    source = """
import threading, time
threading.Thread(target=time.sleep, args=(1000,), daemon=True, name="watcher").start()
def f(config):
    return config.x
"""
    prepared = node.study(source)
    assert prepared.ok and "fresh interpreter" in prepared.note and "watcher" in prepared.note
    assert node.run().value == 0.5
    assert node.run(1).outcome == "completed"


def test_an_import_that_only_works_in_the_server_fails_the_trial_with_its_cause(node: Any) -> None:
    source = """
import sys, threading, time
if "fork_server_main" not in " ".join(sys.orig_argv):
    raise RuntimeError("not here")
threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
def f(config):
    return config.x
"""
    assert node.study(source).ok
    ended = node.run()
    assert ended.failure == "BUG" and "RuntimeError: not here" in ended.reason


def test_what_functions_import_is_imported_before_the_fork(node: Any) -> None:
    source = "import sys\ndef f(config):\n    print('scipy.stats' in sys.modules)\n    import scipy.stats\n    return 1"
    node.study(source)
    node.run()
    assert node.log() == "True\n"


@pytest.mark.slow
def test_torch_imported_inside_the_function_is_ready_and_computes_with_threads(node: Any) -> None:
    source = """
import sys
def f(config):
    print("torch" in sys.modules, "torch._dynamo" in sys.modules)
    import torch
    torch.optim.AdamW([torch.ones(2, requires_grad=True)])
    print(torch.get_num_threads(), torch.cuda.is_initialized())
    return float((torch.ones(300, 300) @ torch.ones(300, 300)).mean())
"""
    assert node.study(source, threads_per_worker=2).note == "fork server"
    assert node.run().value == 300.0
    assert node.log() == "True True\n2 False\n"


@pytest.mark.slow
def test_a_module_that_computes_while_it_is_imported_does_not_hang_its_trials(node: Any) -> None:
    source = """
import torch
torch.set_num_threads(2)
torch.ones(500, 500) @ torch.ones(500, 500)
def f(config):
    torch.set_num_threads(2)
    return float((torch.ones(500, 500) @ torch.ones(500, 500)).mean())
"""
    prepared = node.study(source)
    assert prepared.ok and "fresh interpreter" in prepared.note
    assert node.run().value == 500.0


@pytest.mark.slow
def test_a_data_loader_with_workers_runs_inside_a_trial(node: Any) -> None:
    source = """
import torch
from torch.utils.data import DataLoader, TensorDataset
def f(config):
    loader = DataLoader(TensorDataset(torch.arange(64.0)), batch_size=8, num_workers=2)
    return float(sum(x.sum() for (x,) in loader))
"""
    node.study(source)
    assert node.run().value == 2016.0
