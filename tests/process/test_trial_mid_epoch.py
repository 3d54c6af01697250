"""A pause in the middle of an epoch: the loop is gone through again, the training is not."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from shoal.errors import TrialError
from shoal.tests.models.trial import trainings
from shoal.tests.models.trial.trial_rig import ScriptedLink, differences, run
from shoal.trial_runner.messages import FailAt
from shoal.trial_runner.trial import Trial

PLACES = [(epoch, step) for epoch in range(3) for step in (1, 2, 3)]


def pause_at(epoch: int, step: int) -> FailAt:
    return FailAt(rank=0, epoch=epoch, step=step, how="pause")


def reported(link: ScriptedLink) -> int:
    reports = link.reports()
    return reports[-1][0] if reports else 0


@pytest.mark.parametrize(("epoch", "step"), PLACES)
@pytest.mark.parametrize("train", [trainings.mlp_adamw, trainings.accumulation], ids=lambda train: train.__name__)
def test_wherever_it_is_paused(train: Callable[[Trial], Any], epoch: int, step: int, tmp_path: Path) -> None:
    """Also where gradients of the steps before are waiting to be used."""
    whole = run(train, tmp_path / "whole", shards=4)
    first = run(train, tmp_path / "parts", shards=4, fail_at=pause_at(epoch, step))
    assert first.outcome == "paused"
    second = run(train, tmp_path / "parts", shards=4, reported_step=reported(first.link))
    assert differences(whole.returned, second.returned) == []
    assert first.link.reports() + second.link.reports() == whole.link.reports()


def test_paused_twice_in_one_epoch(tmp_path: Path) -> None:
    train = trainings.mlp_adamw
    whole = run(train, tmp_path / "whole", shards=4)
    for step in (2, 3):
        assert run(train, tmp_path / "parts", shards=4, fail_at=pause_at(0, step)).outcome == "paused"
    assert differences(whole.returned, run(train, tmp_path / "parts", shards=4).returned) == []


def test_what_the_loop_was_told_is_told_again(tmp_path: Path) -> None:
    """Losses and evaluations, in the middle of an epoch, without computing them again."""
    told: list[list[float]] = []

    def train(trial: Trial) -> None:
        computed.append(0)
        model = trainings.mlp()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        loader = trial.prepare(model, optimizer, trainings.samples(), batch_size=trainings.BATCH)

        def loss_fn(x: torch.Tensor, y: torch.Tensor) -> Any:
            computed[-1] += 1
            return trainings.sum_loss(model)(x, y)

        for _ in trial.epochs(1):
            told.append([])
            for batch in loader:
                optimizer.zero_grad()
                told[-1] += [float(trial.backward(loss_fn, batch)), trainings.score(trial, model)]
                optimizer.step()

    computed: list[int] = []
    run(train, tmp_path / "whole")
    run(train, tmp_path / "parts", fail_at=pause_at(0, 3))
    run(train, tmp_path / "parts")
    assert told[0] == told[2] and told[1] == told[0][:4]
    assert computed == [3, 2, 1]


def test_an_epoch_that_takes_another_way_is_refused(tmp_path: Path) -> None:
    """The second time the loop breaks off before the step at which it was paused."""
    steps = iter([3, 1])

    def train(trial: Trial) -> None:
        model = trainings.mlp()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        loader = trial.prepare(model, optimizer, trainings.samples(), batch_size=trainings.BATCH)
        most = next(steps)
        for _ in trial.epochs(2):
            for step, batch in enumerate(loader, start=1):
                optimizer.zero_grad()
                trial.backward(trainings.sum_loss(model), batch)
                optimizer.step()
                if step == most:
                    break

    assert run(train, tmp_path, fail_at=pause_at(0, 3)).outcome == "paused"
    with pytest.raises(TrialError, match="left at step 3 ended at step 1"):
        run(train, tmp_path)
