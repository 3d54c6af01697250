"""What changing the workers of a running trial costs, and what exactness costs a step.

    python -m benchmarks.elastic --json [--small] [--record]

| key | meaning |
|---|---|
| `resize_pause_ms_p50` | 2 -> 4 and 4 -> 2 workers in place: the gap in training, less a step, ms |
| `resize_up_pause_ms_p50`, `resize_down_pause_ms_p50` | the same by direction |
| `warm_restart_ms_p50` | all 4 workers killed -> first step of new forks, from the checkpoint, ms |
| `cold_restart_ms_p50` | the same with new interpreters |
| `ratio_warm`, `ratio_cold` | these, over `resize_up_pause_ms_p50` |
| `recover_ms_p50` | SIGKILL of one of 4 workers -> the next finished step, ms |
| `recover_steps_p50` | the same in steps of the 4 workers before |
| `step_overhead_default_v` | a step on one worker, default V, over the plain loop |
| `step_overhead_v4` | the same with V forced to 4 |
| `step_overhead_exact_vs_ddp` | a step on two workers over DistributedDataParallel |
| `step_cpu_exact_vs_ddp` | the same in processor time |

Keys without a suffix are those of a model of 0.09 M parameters, `_17m` of one of 16.3 M (left out with `--small`).
Pauses are read off the times at which rank 0 finished its steps, the newcomers' way into the epoch included.
"""

import argparse
import contextlib
import json
import os
import select
import shutil
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

from shoal.spaces import Categorical, Space
from shoal.trial_runner.archive import pack_project
from shoal.trial_runner.messages import (
    Ended,
    KillTrial,
    LaunchTrial,
    Prepared,
    PrepareStudy,
    Resized,
    ResizeTrial,
    RunnerEvent,
    Slot,
    Started,
)
from shoal.trial_runner.node_agent import NodeAgent

from .recording import record

PATIENCE_S = 300.0
RESIZES, RECOVERIES, WARM, COLD = 8, 4, 3, 2


class Node:
    """An agent with one trial on it, whose steps can be looked at."""

    def __init__(self, folder: Path, size: str) -> None:
        self._folder = folder
        self._large = size == "_17m"
        self._study_dir = folder / "data" / "studies" / "s"
        self._resizes = 0
        self.generation = 0
        self.pids: tuple[int, ...] = ()
        self.agent = self._open()

    def reopen(self) -> None:
        """New interpreters for everything."""
        self.agent.close()
        self.agent = self._open()

    def launch(self, workers: int) -> None:
        self.generation += 1
        self.agent.perform(
            LaunchTrial(
                study="s", number=0, generation=self.generation, config={"large": self._large}, seed=1, metric="score",
                direction="maximize", slots=(Slot(),) * workers, max_workers=4, max_shards=4,
            )
        )

    def resize(self, workers: int) -> float:
        """Go over to so many workers; the gap in training that it cost, ms."""
        self._resizes += 1
        ordered_at = time.monotonic()
        order = ResizeTrial(
            study="s", number=0, generation=self.generation, resize=self._resizes, slots=(Slot(),) * workers
        )
        self.agent.perform(order)
        resized = self.wait(Resized)
        assert resized.ok, resized
        return self._gap_ms(ordered_at, time.monotonic())

    def recover(self) -> tuple[float, float]:
        """Kill one worker other than rank 0; until the next finished step, in ms and in steps before."""
        killed_at = time.monotonic()
        ordinary_s = statistics.median(later - earlier for earlier, later in pairwise(self.steps()[-4:]))
        os.kill(self.pids[-1], signal.SIGKILL)
        self.wait(Resized)
        took_s = self.step_after(killed_at, further=1) - killed_at
        return took_s * 1e3, took_s / ordinary_s

    def restart(self, *, cold: bool) -> float:
        """Kill every worker, launch again from the checkpoint; until the first finished step, ms."""
        killed_at = time.monotonic()
        for pid in self.pids:
            os.kill(pid, signal.SIGKILL)
        self.wait(Ended)
        if cold:
            self.reopen()
        self.launch(4)
        self.pids = self.wait(Started).pids
        return (self.step_after(killed_at, further=1) - killed_at) * 1e3

    def wait(self, kind: type[Any]) -> Any:
        """The next event of a kind."""
        return self._turn_until(lambda events: next((event for event in events if isinstance(event, kind)), None))

    def step_after(self, at: float, *, further: int) -> float:
        """When the step number `further` after `at` was finished."""

        def finished(_: list[RunnerEvent]) -> float | None:
            later = [done for done in self.steps() if done > at]
            return later[further - 1] if len(later) >= further else None

        return float(self._turn_until(finished))

    def steps(self) -> list[float]:
        file = self._study_dir / "trials" / "0000" / "checkpoints" / "steps.txt"
        lines = file.read_text().splitlines(keepends=True) if file.exists() else []
        return [float(line) for line in lines if line.endswith("\n")]

    def epoch_is_kept(self) -> None:
        """Wait for the next checkpoint."""
        folder = self._study_dir / "trials" / "0000" / "checkpoints"
        newest = max(folder.glob("epoch-*.ckpt"), default=None)
        self._turn_until(lambda _: max(folder.glob("epoch-*.ckpt"), default=None) != newest or None)

    def kill(self) -> None:
        self.agent.perform(KillTrial(study="s", number=0, generation=self.generation, reason="measured"))
        self.wait(Ended)

    def _gap_ms(self, ordered_at: float, resized_at: float) -> float:
        """The longest time between two steps around the resize, less that of an ordinary step after it."""
        self.step_after(resized_at, further=4)
        around = [at for at in self.steps() if at > ordered_at - 1.0]
        after = [later - earlier for earlier, later in pairwise(around) if earlier > resized_at]
        gap = max(
            later - earlier for earlier, later in pairwise(around) if later > ordered_at and earlier < resized_at
        )
        return max(gap - statistics.median(after), 0.0) * 1e3

    def _open(self) -> NodeAgent:
        agent = NodeAgent(self._folder / "data")
        project = self._folder / "project"
        project.mkdir(exist_ok=True)
        shutil.copy(Path(__file__).with_name("elastic_trials.py"), project)
        code = pack_project(project / "elastic_trials.py", self._folder / "data" / "code")
        entry = {"kind": "trial", "module": code.module, "function": "endless", "command": ""}
        agent.perform(
            PrepareStudy(
                study="s", entry=entry, space=Space(large=Categorical([False, True])).to_json(), code=code.sha,
                archive=code.path, study_dir=self._study_dir, standby=4,
            )
        )
        self.agent = agent
        assert self.wait(Prepared).ok
        return agent

    def _turn_until(self, found: Callable[[list[RunnerEvent]], Any]) -> Any:
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            due_s = self.agent.next_due_s()
            select.select(self.agent.waitables(), [], [], 0.02 if due_s is None else min(due_s, 0.02))
            result = found(self.agent.drain())
            if result is not None:
                return result
        raise TimeoutError(f"nothing in {PATIENCE_S} s")


def changes(size: str) -> dict[str, float]:
    """Everything about changing workers, for one model."""
    with tempfile.TemporaryDirectory() as folder:
        node = Node(Path(folder), size)
        node.launch(2)
        node.wait(Started)
        node.step_after(0.0, further=4)
        up, down = [], []
        for _ in range(RESIZES):
            up.append(node.resize(4))
            down.append(node.resize(2))
        node.kill()
        recoveries = []
        for _ in range(RECOVERIES):
            node.launch(4)
            node.pids = node.wait(Started).pids
            node.step_after(time.monotonic(), further=4)
            recoveries.append(node.recover())
            node.kill()
        node.launch(4)
        node.pids = node.wait(Started).pids
        warm, cold = [], []
        for restarts, count, is_cold in ((warm, WARM, False), (cold, COLD, True)):
            for _ in range(count):
                node.epoch_is_kept()
                restarts.append(node.restart(cold=is_cold))
        node.kill()
        node.agent.close()
    pause = statistics.median(up)
    found = {
        "resize_pause_ms_p50": statistics.median([*up, *down]),
        "resize_up_pause_ms_p50": pause,
        "resize_down_pause_ms_p50": statistics.median(down),
        "warm_restart_ms_p50": statistics.median(warm),
        "cold_restart_ms_p50": statistics.median(cold),
        "ratio_warm": statistics.median(warm) / pause,
        "ratio_cold": statistics.median(cold) / pause,
        "recover_ms_p50": statistics.median(took_ms for took_ms, _ in recoveries),
        "recover_steps_p50": statistics.median(steps for _, steps in recoveries),
    }
    return {key + size: value for key, value in found.items()}


def overheads(size: str) -> dict[str, float]:
    """Everything about steps, for one model."""
    import torch

    from . import elastic_steps

    torch.set_num_threads(1)
    over_ddp, cpu_over_ddp = elastic_steps.over_ddp(size)
    return {
        f"step_overhead_default_v{size}": elastic_steps.over_plain(size, 1),
        f"step_overhead_v4{size}": elastic_steps.over_plain(size, 4),
        f"step_overhead_exact_vs_ddp{size}": over_ddp,
        f"step_cpu_exact_vs_ddp{size}": cpu_over_ddp,
    }


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.elastic", description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    parser.add_argument("--small", action="store_true", help="leave out the model of 16.3 M parameters")
    parser.add_argument("--record", action="store_true", help="keep the result under benchmarks/results/")
    flags = parser.parse_args(arguments)
    result: dict[str, float] = {}
    for size in ("",) if flags.small else ("", "_17m"):
        with contextlib.redirect_stdout(sys.stderr):  # what the measured trials print
            measured = changes(size) | overheads(size)
        result |= {key: round(value, 3) for key, value in measured.items()}
    if flags.record:
        print(f"kept in {record('elastic', result)}", file=sys.stderr)
    if flags.json:
        print(json.dumps(result))
    else:
        for key, value in result.items():
            print(f"{key:32} {value}")


if __name__ == "__main__":
    main(sys.argv[1:])
