"""A node with one study, driven the way the head drives it."""

import os
import select
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from shoal.spaces import Float, Space
from shoal.tests.ray_cluster import RayCluster, ray_cluster
from shoal.trial_runner.archive import pack_project
from shoal.trial_runner.messages import (
    AnswerReport,
    Ended,
    LaunchTrial,
    Prepared,
    PrepareStudy,
    Reported,
    RunnerEvent,
    Slot,
    Started,
)
from shoal.trial_runner.node_agent import NodeAgent

PATIENCE_S = 60.0  # a test that waits longer than this has failed; on a loaded machine an import of torch takes 10 s


class Node:
    """A node agent, and everything it has said; `others` are agents that are to run meanwhile."""

    def __init__(self, folder: Path, name: str = "") -> None:
        self.folder = folder
        self.project = folder / "project"
        self.project.mkdir(parents=True, exist_ok=True)
        self.study_dir = folder / "data" / "studies" / "s"
        self.agent = NodeAgent(folder / "data", node=name, host="127.0.0.1" if name else "")
        self.others: list[Node] = []
        self.seen: list[RunnerEvent] = []
        self._unread: deque[RunnerEvent] = deque()

    def study(self, source: str, kind: str = "objective", function: str = "f", **options: Any) -> Prepared:
        """Write the study's only module and prepare it; `options` go to `PrepareStudy`."""
        (self.project / "user_code.py").write_text(source)
        code = pack_project(self.project / "user_code.py", self.folder / "data" / "code")
        command, space = options.pop("command", ""), options.pop("space", Space(x=Float(0, 1)).to_json())
        entry = {"kind": kind, "module": code.module, "function": function, "command": command}
        self.agent.perform(
            PrepareStudy(
                study="s", entry=entry, space=space, code=code.sha, archive=code.path, study_dir=self.study_dir,
                **options,
            )
        )
        return self.wait_for(Prepared)

    def launch(self, number: int = 0, generation: int = 1, **changes: Any) -> None:
        facts: dict[str, Any] = {
            "config": {"x": 0.5}, "seed": 7, "metric": "score", "direction": "maximize", "slots": (Slot(),),
            "max_workers": 1, "max_shards": 1, **changes,
        }
        self.agent.perform(LaunchTrial(study="s", number=number, generation=generation, **facts))

    def turn(self) -> list[RunnerEvent]:
        """Wait for something to happen, a second at most."""
        agents = [self.agent, *(other.agent for other in self.others)]
        due_s = min((at for agent in agents if (at := agent.next_due_s()) is not None), default=1.0)
        select.select([fd for agent in agents for fd in agent.waitables()], [], [], min(due_s, 1.0))
        for other in self.others:
            other.seen += other.agent.drain()
        events = self.agent.drain()
        self.seen += events
        return events

    def turn_until(self, condition: Callable[[], bool], timeout_s: float = PATIENCE_S) -> None:
        """Go on until it is so; `wait_for` finds what is said meanwhile."""
        until = time.monotonic() + timeout_s
        while not condition():
            assert time.monotonic() < until, f"it is not so in {timeout_s} s"
            self._unread.extend(self.turn())

    def wait_for(self, kind: type[Any], number: int | None = None, timeout_s: float = PATIENCE_S) -> Any:
        """The next event of a kind (of one trial); reports on the way are answered "continue"."""
        until = time.monotonic() + timeout_s
        while time.monotonic() < until:
            if not self._unread:
                self._unread.extend(self.turn())
            while self._unread:
                event = self._unread.popleft()
                if isinstance(event, Reported) and kind is not Reported:
                    self.answer(event, "continue")
                if isinstance(event, kind) and (number is None or event.number == number):
                    return event
        raise AssertionError(f"no {kind.__name__} in {timeout_s} s; seen: {self.seen}; logs: {self.logs()}")

    def answer(self, report: Reported, verdict: Any, reason: str = "the test says so") -> None:
        self.agent.perform(
            AnswerReport(
                study="s", number=report.number, generation=report.generation, step=report.step, verdict=verdict,
                reason=reason,
            )
        )

    def run(self, number: int = 0, **changes: Any) -> Ended:
        """Launch a trial and wait for its end."""
        self.launch(number, **changes)
        ended: Ended = self.wait_for(Ended, number)
        return ended

    def pid_of(self, number: int) -> int:
        started: Started = self.wait_for(Started, number)
        return started.pids[0]

    def log(self, number: int = 0) -> str:
        return (self.study_dir / "trials" / f"{number:04d}" / "log.txt").read_text()

    def logs(self) -> dict[str, str]:
        return {str(file): file.read_text()[-2000:] for file in self.study_dir.rglob("*.log")}

    def said(self, number: int = 0, *, seconds: float = PATIENCE_S) -> str:
        """The trial's log once it has a whole line."""
        file = self.study_dir / "trials" / f"{number:04d}" / "log.txt"
        wait_until(lambda: file.exists() and "\n" in file.read_text(), seconds)
        return self.log(number)


def alive(pid: int) -> bool:
    """Is there such a process, other than a zombie?"""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def marked(mark: str) -> list[int]:
    """Processes whose environment at their start held `mark`, zombies aside."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                environment = (folder / "environ").read_bytes()
            except OSError:
                continue
            if mark.encode() in environment and alive(int(folder.name)):
                found.append(int(folder.name))
    return found


def wait_until(condition: Callable[[], bool], seconds: float = PATIENCE_S) -> None:
    """Look again until it is so; fail after `seconds`."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, f"not so after {seconds} s"
        time.sleep(0.01)


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    made = Node(tmp_path)
    yield made
    made.agent.close()


@pytest.fixture(scope="session")
def two_ray_nodes() -> Iterator[RayCluster]:
    """A Ray cluster of two nodes of two pretend GPUs each, for tests that leave the nodes alone."""
    with ray_cluster() as made:
        made.add(gpus=2)
        made.add(gpus=2)
        yield made


@pytest.fixture
def processes() -> Any:
    """Looking at processes: `alive(pid)`, `marked(mark)`, `wait_until(condition, seconds)`."""

    class Processes:
        alive = staticmethod(alive)
        marked = staticmethod(marked)
        wait_until = staticmethod(wait_until)

    return Processes
