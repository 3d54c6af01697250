"""The promise: final state and reports are the same bits however many workers train, and whatever happens to them."""

import os
import random
import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from shoal.spaces import Categorical, Space
from shoal.tests.process.conftest import Node, alive
from shoal.tests.unit.trial import trainings
from shoal.tests.unit.trial.trial_rig import differences
from shoal.trial_runner.messages import Ended, FailAt, PauseTrial, Reported, Resized, ResizeTrial, Slot, Started

MODELS = ("mlp", "cnn", "transformer")
OPTIMIZERS = ("sgd", "adamw")
COMBINATIONS = [f"{model} {optimizer}" for model in MODELS for optimizer in OPTIMIZERS]
AWKWARD = [train.__name__ for train in trainings.ALL]

USER_CODE = """
import time
import torch
from torch import nn
from torch.nn import functional as F
from shoal.spaces import Float, Space
from shoal.tests.unit.trial import trainings

MODELS = {
    "mlp": lambda: nn.Sequential(
        nn.Linear(16, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 4)),
    "cnn": lambda: nn.Sequential(
        nn.Unflatten(1, (1, 4, 4)), nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(16, 4)),
    "transformer": lambda: nn.Sequential(
        nn.Unflatten(1, (4, 4)), nn.Linear(4, 8),
        nn.TransformerEncoderLayer(8, 2, dim_feedforward=16, dropout=0.1, batch_first=True),
        nn.Flatten(), nn.Linear(32, 4)),
}
OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.01),
}

def f(trial):
    how = trial.config.how
    end = train(trial, *how.split()) if " " in how else awkward(trial, getattr(trainings, how))
    if trial.rank == 0:
        torch.save(end, trial.checkpoint_dir / "end.pt")

def train(trial, model, optimizer):
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(1100, 16, generator=generator)  # 4 batches of 256 and one of 76
    y = (x[:, :4]).argmax(1)
    model = MODELS[model]()
    optimizer = OPTIMIZERS[optimizer](model.parameters())
    loader = trial.prepare(model, optimizer, (x, y), batch_size=256)
    loss_fn = lambda x, y: (F.cross_entropy(model(x), y, reduction="sum"), len(y))
    for _ in trial.epochs(trial.config.epochs):
        for batch in loader:
            time.sleep(trial.config.step_s)
            optimizer.zero_grad()
            trial.mean("loss", trial.backward(loss_fn, batch), len(batch))
            optimizer.step()
        trial.report(score=trial.evaluate(lambda x, y: model(x).argmax(1) == y, (x, y)))
    return [model.state_dict(), optimizer.state_dict()]

class WithLearningRate:
    def __init__(self, trial):
        self._trial = trial
        self.config = Space(lr=Float(1e-4, 1.0)).configuration({"lr": 0.01})

    def __getattr__(self, name):
        return getattr(self._trial, name)

def awkward(trial, train):
    return train(WithLearningRate(trial))
"""


class Exact:
    """A node with the study of this file; trials are numbered as they come."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.number = -1
        space = Space(
            how=Categorical([*COMBINATIONS, *AWKWARD]), epochs=Categorical([3, 40]), step_s=Categorical([0.0, 0.01])
        )
        assert node.study(USER_CODE, kind="trial", standby=4, space=space.to_json()).ok
        self._config: dict[str, Any] = {}
        self._shards = 8
        self.generation = 1

    def begin(self, how: str, workers: int, *, long: bool = False, fail_at: FailAt | None = None) -> None:
        self.number, self.generation = self.number + 1, 1
        self._config = {"how": how, "epochs": 40 if long else 3, "step_s": 0.01 if long else 0.0}
        self._shards = 8 if " " in how else 4
        self._launch(workers, fail_at)

    def go_on(self, workers: int) -> None:
        """After a pause or a loss."""
        self.generation += 1
        self._launch(workers, None)

    def end(self) -> tuple[Any, Any]:
        """The trial's final state and its reports."""
        ended = self.node.wait_for(Ended, self.number)
        assert ended.outcome == "completed", (ended, self.node.log(self.number))
        file = self.node.study_dir / "trials" / f"{self.number:04d}" / "checkpoints" / "end.pt"
        return torch.load(file, weights_only=False), self.reports()

    def pause(self) -> None:
        self.node.agent.perform(PauseTrial(study="s", number=self.number, generation=self.generation, reason="test"))
        self.is_paused()

    def is_paused(self) -> None:
        ended = self.node.wait_for(Ended, self.number)
        assert ended.outcome == "paused", (ended, self.node.log(self.number))

    def resize(self, workers: int) -> None:
        self.node.agent.perform(
            ResizeTrial(
                study="s", number=self.number, generation=self.generation, resize=workers, slots=(Slot(),) * workers
            )
        )
        resized = self.node.wait_for(Resized, self.number)
        assert (resized.ok, len(resized.slots)) == (True, workers), resized

    def kill_one(self, chosen: random.Random) -> None:
        """Any worker, rank 0 included."""
        victim = chosen.choice([pid for pid in self._pids() if alive(pid)])
        os.kill(victim, signal.SIGKILL)
        assert self.node.wait_for(Resized, self.number).resize == 0

    def next_report(self) -> None:
        self.node.answer(self.node.wait_for(Reported, self.number), "continue")

    def reports(self) -> list[tuple[int, dict[str, float]]]:
        seen = [event for event in self.node.seen if isinstance(event, Reported) and event.number == self.number]
        return [(report.step, dict(report.metrics)) for report in seen]

    def _pids(self) -> tuple[int, ...]:
        started = [event for event in self.node.seen if isinstance(event, Started) and event.number == self.number]
        return started[-1].pids

    def _launch(self, workers: int, fail_at: FailAt | None) -> None:
        known = self.reports()
        self.node.launch(
            self.number, self.generation, config=self._config, slots=(Slot(),) * workers, max_workers=8,
            max_shards=self._shards, fail_at=fail_at, reported_step=known[-1][0] if known else 0,
        )


@pytest.fixture(scope="module")
def exact(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Exact]:
    node = Node(tmp_path_factory.mktemp("exact"))
    yield Exact(node)
    node.agent.close()


def same(one: tuple[Any, Any], other: tuple[Any, Any]) -> None:
    assert differences(one[0], other[0]) == []
    assert repr(one[1]) == repr(other[1])


@pytest.mark.slow
@pytest.mark.parametrize("how", COMBINATIONS)
def test_any_number_of_workers(exact: Exact, how: str) -> None:
    """V = 8 shards on 1, 2, 4 and 8 workers."""
    ends = []
    for workers in (1, 2, 4, 8):
        exact.begin(how, workers)
        ends.append(exact.end())
    assert len(ends[0][1]) == 3
    for other in ends[1:]:
        same(ends[0], other)


@pytest.mark.slow
@pytest.mark.parametrize("how", COMBINATIONS)
def test_whatever_happens_to_the_workers(exact: Exact, how: str) -> None:
    """1 -> 4 -> 2 -> 8 workers, then a pause, then three of eight killed at random moments."""
    chosen = random.Random(how)
    exact.begin(how, 1, long=True)
    undisturbed = exact.end()
    exact.begin(how, 1, long=True)
    exact.next_report()
    for workers in (4, 2, 8):
        exact.resize(workers)
    exact.next_report()
    exact.pause()
    exact.go_on(8)
    for _ in range(3):
        exact.next_report()
        time.sleep(chosen.uniform(0.0, 0.2))
        exact.kill_one(chosen)
    same(undisturbed, exact.end())


@pytest.mark.slow
@pytest.mark.parametrize("how", AWKWARD)
def test_awkward_training_code(exact: Exact, how: str) -> None:
    """A worker of four killed, and a pause, in the middle of the second epoch."""
    middle = {"epoch": 1, "step": 2}
    exact.begin(how, 1)
    undisturbed = exact.end()
    exact.begin(how, 4, fail_at=FailAt(rank=2, **middle))
    same(undisturbed, exact.end())
    exact.begin(how, 1, fail_at=FailAt(rank=0, how="pause", **middle))
    exact.is_paused()
    exact.go_on(2)
    same(undisturbed, exact.end())
