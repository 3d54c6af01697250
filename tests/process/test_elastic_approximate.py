"""Trials with `exact=False`: torch's DistributedDataParallel behind the same interface."""

from typing import Any

import pytest
import torch

from shoal.tests.process.test_elastic_trials import end, resize, slots
from shoal.trial_runner.messages import Ended, FailAt, Reported, Resized

USER_CODE = """
import time
import torch
from torch import nn
from torch.nn import functional as F

def f(trial):
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(1000, 8, generator=generator)
    y = (x.sum(1) > 0).long()
    model = nn.ModuleDict({"used": nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2)), "no": nn.Linear(2, 2)})
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    loader = trial.prepare(model, optimizer, (x, y), batch_size=HOW)
    loss_fn = lambda x, y: (F.cross_entropy(model["used"](x), y, reduction="sum"), len(y))
    for epoch in trial.epochs(EPOCHS):
        time.sleep(EPOCH_S)
        for batch in loader:
            optimizer.zero_grad()
            trial.mean("loss", trial.backward(loss_fn, batch), len(batch))
            optimizer.step()
        assert model["no"].weight.grad is None
        trial.report(score=trial.evaluate(lambda x, y: model["used"](x).argmax(1) == y, (x, y)))
    if trial.rank == 0:
        torch.save([model.state_dict(), optimizer.state_dict()], trial.checkpoint_dir / "end.pt")
"""


def prepare(node: Any, how: str, epochs: int = 3, epoch_s: float = 0.0) -> None:
    source = USER_CODE.replace("HOW", how).replace("EPOCHS", str(epochs)).replace("EPOCH_S", str(epoch_s))
    assert node.study(source, kind="trial", standby=2).ok


def launch(node: Any, number: int, k: int, **more: Any) -> None:
    node.launch(number, slots=slots(k), max_workers=4, max_shards=4, seed=7, **more)


def near(one: tuple[Any, Any], other: tuple[Any, Any], tolerance: float) -> None:
    """The same training, up to the order of sums: weights, and losses of every epoch."""
    torch.testing.assert_close(one[0][0], other[0][0], rtol=0.0, atol=tolerance)
    losses = [[report["loss"] for _, report in reports] for _, reports in (one, other)]
    assert losses[0] == pytest.approx(losses[1], abs=tolerance)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "tolerance"),
    [("exact=False", 1e-5), ("exact=False, comm_hook='fp16'", 5e-3), ("exact=False, comm_hook='powersgd'", 0.3)],
)
def test_workers_train_the_same_model_nearly(node: Any, options: str, tolerance: float) -> None:
    prepare(node, f"256, {options}")
    launch(node, 0, 1)
    alone = end(node, 0)
    for number, k in ((1, 2), (2, 4)):
        launch(node, number, k)
        near(alone, end(node, number), tolerance)
    ended = [event for event in node.seen if isinstance(event, Ended)]
    assert [event.approximate for event in ended] == [True] * 3
    assert "exact=False" in node.log(0)


@pytest.mark.slow
def test_they_grow_shrink_and_survive(node: Any) -> None:
    prepare(node, "256, exact=False", epochs=30, epoch_s=0.2)  # long enough to be resized twice
    launch(node, 0, 1)
    undisturbed = end(node, 0)
    launch(node, 1, 1)
    node.answer(node.wait_for(Reported, 1), "continue")
    assert resize(node, 1, 4, 1).ok
    assert resize(node, 1, 2, 2).ok
    near(undisturbed, end(node, 1), 1e-3)
    launch(node, 2, 4, fail_at=FailAt(rank=1, epoch=1, step=2))
    assert len(node.wait_for(Resized, 2).slots) == 2
    near(undisturbed, end(node, 2), 1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("options", ["comm_hook='fp16'", "exact=False, comm_hook='int8'"])
def test_hooks_that_there_are_not(node: Any, options: str) -> None:
    prepare(node, f"256, {options}")
    ended = node.run(0)
    assert (ended.outcome, ended.failure) == ("failed", "BUG")
    assert "comm_hook=" in ended.reason
