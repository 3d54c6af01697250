"""Trials on real GPUs; skipped where there is none."""

from typing import Any

import pytest
import torch

from shoal.tests.process.test_elastic_trials import end, same
from shoal.trial_runner.messages import Ended, FailAt, Slot

GPUS = torch.cuda.device_count() if torch.cuda.is_available() else 0

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(GPUS == 0, reason="needs a CUDA device; this machine has none"),
]
two_gpus = pytest.mark.skipif(GPUS < 2, reason=f"needs two CUDA devices; this machine has {GPUS}")

USER_CODE = """
import torch
from torch import nn
from torch.nn import functional as F

def f(trial):
    assert trial.device.type == "cuda"
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(1100, 8, generator=generator)
    y = (x.sum(1) > 0).long()
    model = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 2))
    model.to(trial.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    loader = trial.prepare(model, optimizer, (x, y), batch_size=256, exact=EXACT)
    loss_fn = lambda x, y: (F.cross_entropy(model(x), y, reduction="sum"), len(y))
    for epoch in trial.epochs(3):
        for batch in loader:
            optimizer.zero_grad()
            trial.mean("loss", trial.backward(loss_fn, batch), len(batch))
            optimizer.step()
        trial.report(score=trial.evaluate(lambda x, y: model(x).argmax(1) == y, (x, y)))
    if trial.rank == 0:
        torch.save([model.state_dict(), optimizer.state_dict()], trial.checkpoint_dir / "end.pt")
"""

FILLS_MEMORY = """
import torch

def f(trial):
    free, total = torch.cuda.mem_get_info()
    torch.empty(int(total * SHARE), dtype=torch.uint8, device=trial.device)
    trial.report(score=1.0)
"""


def slots(k: int) -> tuple[Slot, ...]:
    """One process a GPU."""
    return tuple(Slot(gpus=(str(gpu),)) for gpu in range(k))


def launch(node: Any, number: int, k: int, **more: Any) -> None:
    node.launch(number, slots=slots(k), max_workers=2, max_shards=2, seed=7, **more)


def test_a_pause_on_a_gpu_leaves_no_trace(node: Any) -> None:
    assert node.study(USER_CODE.replace("EXACT", "True"), kind="trial").ok
    launch(node, 0, 1)
    undisturbed = end(node, 0)
    launch(node, 1, 1, fail_at=FailAt(rank=0, epoch=1, step=2, how="pause"))
    assert node.wait_for(Ended, 1).outcome == "paused"
    launch(node, 1, 1, generation=2, reported_step=1)
    same(undisturbed, end(node, 1))


@two_gpus
def test_two_gpus_end_as_one(node: Any) -> None:
    assert node.study(USER_CODE.replace("EXACT", "True"), kind="trial").ok
    launch(node, 0, 1)
    launch(node, 1, 2)
    same(end(node, 0), end(node, 1))


@two_gpus
def test_data_parallel_over_nccl(node: Any) -> None:
    assert node.study(USER_CODE.replace("EXACT", "False"), kind="trial").ok
    launch(node, 0, 2)
    end(node, 0)


@pytest.mark.parametrize(("needs", "outcome"), [(0.3, "completed"), (0.7, "failed")])
def test_a_shared_gpu_gives_each_its_share(node: Any, needs: float, outcome: str) -> None:
    assert node.study(FILLS_MEMORY.replace("SHARE", str(needs)), kind="trial").ok
    ended = node.run(0, slots=(Slot(gpus=("0",), gpu_share=0.5),))
    assert ended.outcome == outcome
    assert ended.failure in (None, "OOM")
