"""k = 1, 2 and 4 workers end with the same state and the same metrics, to the last bit."""

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch

from shoal.tests.models.trial import trainings
from shoal.tests.models.trial.trial_rig import differences

PROGRAM = """
import os, sys, traceback
from datetime import timedelta
from pathlib import Path
import torch
import torch.distributed as dist
from shoal.tests.models.trial import trainings
from shoal.tests.models.trial.trial_rig import run, run_in_pieces
from shoal.trial_runner.flats import Flats
from shoal.trial_runner.mesh import Places, connect_all
from shoal.trial_runner.socket_group import SocketGroup

folder = Path(sys.argv[1])

def work(k, rank):
    store = dist.FileStore(str(folder / f"store{k}"), k)
    group = SocketGroup(rank, connect_all(store, 1, rank, Places(nodes=[""] * k)))
    ends = {"sums": sums(group)}
    for train in trainings.ALL:
        whole = run(train, folder / f"{k}" / train.__name__, shards=4, group=group)
        ends[train.__name__] = (whole.returned, repr(whole.link.reports()))
    pieces = run_pieces_together(trainings.mlp_adamw, folder / f"{k}" / "pieces", group)
    ends["paused"] = (pieces, "")
    torch.save(ends, folder / f"{k}-{rank}.pt")
    group.leave()

def sums(group):
    # of four workers, a megabyte and more goes by halves, less whole; odd lengths halve unevenly
    found = {}
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        for length in (1, 7, 40001, 600001):
            noise = torch.randn(length, generator=torch.Generator().manual_seed(group.rank))
            flat = (1e3 * noise).to(dtype)
            group.tree_sum(Flats.of(flat))
            found[f"{dtype} {length}"] = flat
    assert group.agree({"from": group.rank}) == {"from": 0}
    return found

def run_pieces_together(train, folder, group):
    # every worker is told by rank 0 alone: the others' links would say something else
    known, always = 0, dict.fromkeys(range(100), "pause" if group.rank == 0 else "stop")
    while True:
        piece = run(train, folder, shards=4, reported_step=known, verdicts=always, group=group)
        known += 1
        if piece.outcome == "completed":
            return piece.returned
        assert piece.outcome == "paused", piece

workers = []
for k in (1, 2, 4):
    for rank in range(k):
        pid = os.fork()
        if pid == 0:
            try:
                torch.set_num_threads(1)
                work(k, rank)
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        workers.append(pid)
    failed = [pid for pid in workers if os.waitpid(pid, 0)[1] != 0]
    workers.clear()
    if failed:
        sys.exit(1)
"""


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[int, int], Any]:
    """What every rank of every group ended with, by (k, rank)."""
    folder = tmp_path_factory.mktemp("groups")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder)], capture_output=True, text=True, timeout=280,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return {
        (k, rank): torch.load(folder / f"{k}-{rank}.pt", weights_only=True) for k in (1, 2, 4) for rank in range(k)
    }


@pytest.mark.slow
@pytest.mark.parametrize("train", trainings.ALL, ids=lambda train: train.__name__)
def test_any_number_of_workers(train: Callable[..., Any], ends: dict[tuple[int, int], Any]) -> None:
    """State on every rank, and the reports of rank 0."""
    alone, reports = ends[1, 0][train.__name__]
    for (k, rank), all_ends in ends.items():
        state, mine = all_ends[train.__name__]
        assert differences(alone, state) == [], f"rank {rank} of {k}"
        assert mine == (reports if rank == 0 else "[]")


@pytest.mark.slow
def test_sums_over_workers_are_tree_sums(ends: dict[tuple[int, int], Any]) -> None:
    """Of every length and type: what adding rank by rank in the fixed tree gives, the same on every rank."""
    alone = [ends[4, rank]["sums"] for rank in range(4)]
    for name in alone[0]:
        length, dtype = int(name.split()[1]), alone[0][name].dtype
        parts = [
            (1e3 * torch.randn(length, generator=torch.Generator().manual_seed(rank))).to(dtype) for rank in range(4)
        ]
        assert differences(ends[2, 0]["sums"][name], parts[0] + parts[1]) == []
        for rank in range(4):
            assert differences(alone[rank][name], (parts[0] + parts[1]) + (parts[2] + parts[3])) == [], name


@pytest.mark.slow
def test_all_ranks_pause_together(ends: dict[tuple[int, int], Any]) -> None:
    """T67: rank 0 hears the answer, every rank obeys it at the same epoch; paused runs end like undisturbed ones."""
    alone, _ = ends[1, 0]["mlp_adamw"]
    for all_ends in ends.values():
        assert differences(alone, all_ends["paused"][0]) == []
