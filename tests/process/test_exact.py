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
from shoal.tests.models.trial import trainings
from shoal.tests.models.trial.trial_rig import differences
from shoal.tests.process.conftest import PATIENCE_S, Node, alive, wait_until
from shoal.trial_runner.messages import Ended, FailAt, PauseTrial, Reported, Resized, ResizeTrial, Slot, Started

MODELS = ("mlp", "cnn", "transformer")
OPTIMIZERS = ("sgd", "adamw")
COMBINATIONS = [f"{model} {optimizer}" for model in MODELS for optimizer in OPTIMIZERS]
AWKWARD = [train.__name__ for train in [*trainings.ALL, trainings.augmentation_in_processes]]
PACE_S = 0.05

USER_CODE = """
import time
import torch
from torch import nn
from torch.nn import functional as F
from shoal.spaces import Float, Space
from shoal.tests.models.trial import trainings

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

class Slowly:
    # the trial, with a learning rate, and with time between its steps for things to happen

    def __init__(self, trial):
        self._trial = trial
        self.config = Space(lr=Float(1e-4, 1.0)).configuration({"lr": 0.01})

    def __getattr__(self, name):
        return getattr(self._trial, name)

    def backward(self, *args):
        time.sleep(self._trial.config.step_s)
        return self._trial.backward(*args)

def awkward(trial, train):
    trainings.SAMPLES, trainings.BATCH = 515, 256  # V = 8; the last batch has 3 samples, fewer than shards
    trainings.EPOCHS = trial.config.epochs
    return train(Slowly(trial))
"""


class Exact:
    """A node with the study of this file; trials are numbered as they come."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.number = -1
        space = Space(
            how=Categorical([*COMBINATIONS, *AWKWARD]), epochs=Categorical([3, 24]), step_s=Categorical([0.0, 0.005])
        )
        assert node.study(USER_CODE, kind="trial", standby=4, space=space.to_json()).ok
        self._config: dict[str, Any] = {}
        self.generation = 1

    def begin(self, how: str, workers: int, *, long: bool = False, fail_at: FailAt | None = None) -> None:
        self.number, self.generation = self.number + 1, 1
        self._config = {"how": how, "epochs": 24 if long else 3, "step_s": 0.005 if long else 0.0}
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
        resized = self._resized()
        assert (resized.ok, len(resized.slots)) == (True, workers), resized

    def kill_one(self, chosen: random.Random, workers: int) -> int:
        """Any of so many workers, rank 0 included; how many are left."""
        wait_until(lambda: sum(map(alive, self._pids())) == workers)  # those that were left out have gone
        victim = chosen.choice([pid for pid in self._pids() if alive(pid)])
        os.kill(victim, signal.SIGKILL)
        resized = self._resized()
        assert resized.resize == 0
        return len(resized.slots)

    def _resized(self) -> Resized:
        """The next change; epochs pass slowly meanwhile, or the trial would be over before new workers are ready."""
        found: list[Resized] = []
        until = time.monotonic() + PATIENCE_S
        while not found:
            assert time.monotonic() < until, self.node.seen[-20:]
            for event in self.node.turn():
                if isinstance(event, Reported):
                    time.sleep(PACE_S)
                    self.node.answer(event, "continue")
                found += [event] if isinstance(event, Resized) else []
        return found[0]

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
            max_shards=8, fail_at=fail_at, reported_step=known[-1][0] if known else 0,
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
@pytest.mark.parametrize("how", [*COMBINATIONS, *AWKWARD])
def test_any_number_of_workers(exact: Exact, how: str) -> None:
    """V = 8 shards on 1, 2, 4 and 8 workers; on 4, one is killed in the middle of the second epoch."""
    exact.begin(how, 1)
    alone = exact.end()
    assert len(alone[1]) == 3
    for workers in (2, 4, 8):
        exact.begin(how, workers, fail_at=FailAt(rank=2, epoch=1, step=2) if workers == 4 else None)
        same(alone, exact.end())


@pytest.mark.slow
@pytest.mark.parametrize("how", [*COMBINATIONS, *AWKWARD])
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
    left = 8
    for _ in range(3):
        exact.next_report()
        time.sleep(chosen.uniform(0.0, 0.05))
        left = exact.kill_one(chosen, left)
    same(undisturbed, exact.end())


@pytest.mark.slow
@pytest.mark.parametrize("how", AWKWARD)
def test_a_pause_in_the_middle_of_an_epoch(exact: Exact, how: str) -> None:
    exact.begin(how, 1)
    undisturbed = exact.end()
    exact.begin(how, 1, fail_at=FailAt(rank=0, how="pause", epoch=1, step=2))
    exact.is_paused()
    exact.go_on(2)
    same(undisturbed, exact.end())
