"""`trial.backward` computes the gradients of the whole batch's mean loss."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from shoal.errors import TrialError
from shoal.tests.models.trial.trial_rig import ScriptedLink, new_trial
from shoal.trial_runner.trial import Trial

X = torch.randn(300, 6, generator=torch.Generator().manual_seed(1))
Y = torch.randint(0, 4, (300,), generator=torch.Generator().manual_seed(2))


def prepared(folder: Path, *, shards: int, data: Any = None) -> tuple[Trial, Any, Any, Any]:
    trial = new_trial(folder, ScriptedLink(), shards=shards)
    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = (X, Y) if data is None else data
    return trial, model, optimizer, trial.prepare(model, optimizer, data, batch_size=256, shuffle=False)


def gradients(model: nn.Module) -> list[torch.Tensor]:
    return [p.grad.clone() for p in model.parameters()]


def mean_loss(model: nn.Module) -> Callable[..., Any]:
    return lambda x, y: (F.cross_entropy(model(x), y, reduction="sum"), len(y))


@pytest.mark.parametrize("shards", [1, 2, 4, 8])
def test_gradients_are_those_of_the_plain_loop(shards: int, tmp_path: Path) -> None:
    """Every batch, the last one of 44 samples included."""
    trial, model, optimizer, loader = prepared(tmp_path, shards=shards)
    for step, batch in enumerate(loader):
        optimizer.zero_grad()
        loss = trial.backward(mean_loss(model), batch)
        mine = gradients(model)
        optimizer.zero_grad()
        low = 256 * step
        plain = F.cross_entropy(model(X[low : low + 256]), Y[low : low + 256])
        plain.backward()
        torch.testing.assert_close(loss, plain.detach())
        torch.testing.assert_close(mine, gradients(model))
    assert step == 1


def test_one_shard_is_the_plain_loop_to_the_last_bit(tmp_path: Path) -> None:
    trial, model, optimizer, loader = prepared(tmp_path, shards=1)
    trial.backward(mean_loss(model), next(iter(loader)))
    mine = gradients(model)
    optimizer.zero_grad()
    (F.cross_entropy(model(X[:256]), Y[:256], reduction="sum") / 256).backward()
    assert all(torch.equal(a, b) for a, b in zip(mine, gradients(model), strict=True))


@pytest.mark.parametrize("shards", [1, 4])
def test_weighted_losses_are_divided_by_the_total_weight(shards: int, tmp_path: Path) -> None:
    """Labels that are mostly missing and unevenly spread: a mean of means would be off."""
    labels = torch.where(torch.arange(300) < 70, Y, -100)
    trial, model, optimizer, loader = prepared(tmp_path, shards=shards, data=(X, labels))

    def loss_fn(x: torch.Tensor, y: torch.Tensor) -> Any:
        return F.cross_entropy(model(x), y, ignore_index=-100, reduction="sum"), (y != -100).sum()

    loss = trial.backward(loss_fn, next(iter(loader)))
    mine = gradients(model)
    optimizer.zero_grad()
    plain = F.cross_entropy(model(X[:256]), labels[:256], ignore_index=-100)
    plain.backward()
    torch.testing.assert_close(loss, plain.detach())
    torch.testing.assert_close(mine, gradients(model))


@pytest.mark.parametrize("shards", [1, 4])
@pytest.mark.parametrize("weight", [0, torch.tensor(0)], ids=["number", "tensor"])
def test_a_batch_without_weight_teaches_nothing(shards: int, weight: Any, tmp_path: Path) -> None:
    trial, model, _, loader = prepared(tmp_path, shards=shards)
    loss = trial.backward(lambda x, y: (model(x).sum() * 0.0, weight), next(iter(loader)))
    assert loss.item() == 0.0
    assert all(torch.equal(g, torch.zeros_like(g)) for g in gradients(model))


@pytest.mark.parametrize("shards", [1, 4])
def test_gradients_add_to_those_already_there(shards: int, tmp_path: Path) -> None:
    trial, model, _, loader = prepared(tmp_path, shards=shards)
    batch = next(iter(loader))
    trial.backward(mean_loss(model), batch)
    once = gradients(model)
    kept = model[0].weight.grad
    trial.backward(mean_loss(model), batch)
    torch.testing.assert_close(gradients(model), [2 * g for g in once])
    assert model[0].weight.grad is kept


@pytest.mark.parametrize("shards", [1, 4])
def test_nan_reaches_the_loss_and_the_gradients(shards: int, tmp_path: Path) -> None:
    x = X.clone()
    x[3] = float("nan")
    trial, model, _, loader = prepared(tmp_path, shards=shards, data=(x, Y))
    assert trial.backward(mean_loss(model), next(iter(loader))).isnan()
    assert model[0].weight.grad.isnan().any()


@pytest.mark.parametrize("shards", [1, 4])
def test_sparse_gradients(shards: int, tmp_path: Path) -> None:
    trial = new_trial(tmp_path, ScriptedLink(), shards=shards)
    table = nn.Embedding(10, 3, sparse=True)
    words = torch.arange(256)[:, None] % 10
    loader = trial.prepare(table, torch.optim.SGD(table.parameters(), lr=0.1), words, batch_size=256, shuffle=False)
    trial.backward(lambda w: ((table(w) ** 2).sum(), len(w)), next(iter(loader)))
    mine = table.weight.grad.to_dense()
    table.weight.grad = None
    ((table(words) ** 2).sum() / 256).backward()
    torch.testing.assert_close(mine, table.weight.grad.to_dense())


def test_shards_draw_different_noise_and_leave_one_stream(tmp_path: Path) -> None:
    """Each shard has its own generator state; afterwards all workers would be in the same one."""
    trial, model, _, loader = prepared(tmp_path, shards=4)
    drawn: list[float] = []

    def loss_fn(x: torch.Tensor, y: torch.Tensor) -> Any:
        drawn.append(torch.rand(()).item())
        return model(x).sum(), len(y)

    batch = next(iter(loader))
    trial.backward(loss_fn, batch)
    trial.backward(loss_fn, batch)
    assert len(drawn) == 8 == len(set(drawn))


@pytest.mark.parametrize("shards", [1, 4])
@pytest.mark.parametrize(
    ("loss_fn", "cause"),
    [
        (lambda m, x, y: F.cross_entropy(m(x), y), "returned a Tensor, not a pair"),
        (lambda m, x, y: None, "returned a NoneType, not a pair"),
        (lambda m, x, y: (m(x).sum(), len(y), 1), "returned 3 values"),
        (lambda m, x, y: (m(x), len(y)), r"a Tensor of shape \(.*\), not a tensor of one number"),
        (lambda m, x, y: (m(x).sum().item(), len(y)), "is a float, not a tensor"),
        (lambda m, x, y: (m(x).sum(), "many"), "weight is a str"),
        (lambda m, x, y: (m(x).sum().detach(), len(y)), "has no gradient"),
    ],
)
def test_wrong_losses_are_explained(loss_fn: Any, cause: str, shards: int, tmp_path: Path) -> None:
    trial, model, _, loader = prepared(tmp_path, shards=shards)
    with pytest.raises(TrialError, match=cause) as caught:
        trial.backward(lambda x, y: loss_fn(model, x, y), next(iter(loader)))
    assert caught.value.remedy


def test_a_batch_that_is_not_the_loaders(tmp_path: Path) -> None:
    trial, model, _, _ = prepared(tmp_path, shards=1)
    with pytest.raises(TrialError, match="given a tuple"):
        trial.backward(mean_loss(model), (X, Y))  # type: ignore[arg-type]


def test_post_accumulate_hooks_are_refused(tmp_path: Path) -> None:
    trial, model, _, loader = prepared(tmp_path, shards=1)
    model[0].weight.register_post_accumulate_grad_hook(lambda p: None)
    with pytest.raises(TrialError, match="post-accumulate"):
        trial.backward(mean_loss(model), next(iter(loader)))


def test_an_error_in_the_loss_leaves_gradients_alone(tmp_path: Path) -> None:
    trial, model, _, loader = prepared(tmp_path, shards=4)
    batch = next(iter(loader))
    trial.backward(mean_loss(model), batch)
    before = gradients(model)
    with pytest.raises(ZeroDivisionError):
        trial.backward(lambda x, y: (model(x).sum() / (1 // 0), 1), batch)
    assert all(torch.equal(a, b) for a, b in zip(before, gradients(model), strict=True))


@pytest.mark.parametrize("shards", [1, 4])
def test_evaluate_is_the_mean_over_samples(shards: int, tmp_path: Path) -> None:
    """In evaluation mode, without gradients, without a trace in the generators."""
    trial, model, _, _ = prepared(tmp_path, shards=shards)
    seen = []

    def squared(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        seen.append((model.training, torch.is_grad_enabled(), torch.rand(()).item()))
        return (x**2).sum(1)

    model[1].eval()
    before = torch.get_rng_state()
    value = trial.evaluate(squared, (X, Y), batch_size=64)
    assert value == pytest.approx((X**2).sum(1).double().mean().item(), rel=1e-6)
    assert [entry[:2] for entry in seen] == [(False, False)] * 5
    assert (model.training, model[0].training, model[1].training) == (True, True, False)
    assert torch.equal(before, torch.get_rng_state())
    assert trial.evaluate(lambda x, y: ((y * 2).sum(), len(y) * 2), (X, Y)) == pytest.approx(Y.double().mean().item())
    assert str(trial.evaluate(lambda x, y: (0.0, 0), (X, Y))) == "nan"


@pytest.mark.parametrize("returned", [torch.tensor(1.0), 0.5, None])
def test_evaluate_refuses_what_has_no_weight(returned: object, tmp_path: Path) -> None:
    trial = new_trial(tmp_path, ScriptedLink())
    with pytest.raises(TrialError, match="evaluate's function returned"):
        trial.evaluate(lambda x, y: returned, (X, Y))
