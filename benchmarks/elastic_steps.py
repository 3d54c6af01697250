"""What a step of a prepared loop costs, against the same loop in plain torch. Used by `benchmarks.elastic`."""

import multiprocessing
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from shoal.spaces import Float, Space
from shoal.trial_runner.group import Group
from shoal.trial_runner.mesh import Places, connect_all
from shoal.trial_runner.socket_group import SocketGroup
from shoal.trial_runner.trial import Trial

from . import elastic_trials

ROUNDS = 5
EPOCHS = {"": 12, "_17m": 1}  # a round


class NoStudy:
    """The wire of a trial that nobody listens to."""

    pause_requested: str | None = None

    def send(self, kind: str, **fields: Any) -> None:
        """Nobody listens."""

    def receive(self, kind: str) -> dict[str, Any]:
        raise AssertionError("these trials report nothing")

    def poll(self) -> None:
        """Nothing arrives."""


def over_plain(size: str, shards: int) -> float:
    """One worker, `shards` shards: median of the rounds' ratios of median step times, the two loops taking turns."""
    ratios = []
    for _ in range(ROUNDS):
        plain = statistics.median(elastic_trials.plain_steps(size, EPOCHS[size]))
        ratios.append(statistics.median(_exact(size, shards, None)) / plain)
    return statistics.median(ratios)


def over_ddp(size: str) -> tuple[float, float]:
    """Two workers, two shards, against DistributedDataParallel on the same two processes: ratios of median step times,
    and of processor time, which other programs on the machine disturb less."""
    with tempfile.TemporaryDirectory() as folder:
        queue: Any = multiprocessing.get_context("fork").Queue()
        workers = [
            multiprocessing.get_context("fork").Process(target=_pair, args=(rank, folder, size, queue))
            for rank in range(2)
        ]
        for worker in workers:
            worker.start()
        ratios = [queue.get(timeout=600) for _ in range(ROUNDS)]
        for worker in workers:
            worker.join()
    elapsed, used = zip(*ratios, strict=True)
    return statistics.median(elapsed), statistics.median(used)


def _pair(rank: int, folder: str, size: str, queue: Any) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", store=dist.FileStore(f"{folder}/ddp", 2), rank=rank, world_size=2)
    group = SocketGroup(rank, connect_all(dist.FileStore(f"{folder}/exact", 2), 1, rank, Places(nodes=["", ""])))
    for _ in range(ROUNDS):
        began = time.process_time()
        ddp = statistics.median(elastic_trials.plain_steps(size, EPOCHS[size], rank=rank, workers=2))
        middle = time.process_time()
        exact = statistics.median(_exact(size, 2, group))
        if rank == 0:
            queue.put((exact / ddp, (time.process_time() - middle) / (middle - began)))
    group.leave()
    dist.destroy_process_group()


def _exact(size: str, shards: int, group: Group | None) -> list[float]:
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(
            config=Space(x=Float(0.0, 1.0)).configuration({"x": 0.5}), number=0, seed=1, link=NoStudy(),
            checkpoint_dir=Path(folder), max_workers=shards, max_shards=shards, metric="score", direction="maximize",
            group=group,
        )  # fmt: skip
        return elastic_trials.exact_steps(trial, size, EPOCHS[size])
