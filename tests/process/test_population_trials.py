"""Population-based training with real workers: the donor's state really is what a trial starts from."""

from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal.spaces import Float, Space

OPTIONS = {"population": 3, "interval_epochs": 2}


def counted_down(trial: Any) -> None:
    """The loss after epoch e is 10 - e, if every epoch before it left its trace in the weight."""
    import torch

    model = torch.nn.Linear(1, 1, bias=False)
    with torch.no_grad():
        model.weight.fill_(10.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=trial.config.lr, momentum=trial.config.momentum)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
    trial.prepare(model, optimizer, torch.zeros(64, 1), batch_size=32)
    trial.register("schedule", schedule)
    for epoch in trial.epochs(8):
        rate = optimizer.param_groups[0]["lr"]
        with torch.no_grad():
            model.weight -= 1.0
        schedule.step()
        trial.report(
            loss=float(model.weight), lr=rate / 0.5**epoch, momentum=optimizer.param_groups[0]["momentum"],
        )  # fmt: skip


def stateless(trial: Any) -> None:
    for epoch in trial.epochs(8):
        trial.report(loss=float(epoch))


def without_epochs(config: Any) -> float:
    return float(config.lr)


def study(train: Any, **settings: Any) -> shoal.Study:
    return shoal.Study(
        train=train, space=Space(lr=Float(1e-3, 1e-1, log=True), momentum=Float(0.1, 0.9)), minimize="loss",
        strategy="population", strategy_options=OPTIONS, name="pbt", **settings,
    )  # fmt: skip


@pytest.mark.slow
def test_weights_are_the_donors_and_settings_its_own(tmp_path: Path) -> None:
    """Three members of four stretches each make twelve trials; one that takes over from another that is ahead leaves
    some out, so that fewer are enough, and who is ahead depends on who ends first."""
    seen: dict[int, Any] = {}
    results = study(counted_down, trials=12).run(
        data=tmp_path, logical_gpus=2, on_event=lambda state, event: seen.update(state.trials)
    )
    assert {row["state"] for row in results} == {"completed"}
    trained_in_full = sum(record.metrics[-1][0] == 8 for record in seen.values())
    assert len(results) == 12 or trained_in_full == OPTIONS["population"], "it ends when all are trained, not before"
    for record in seen.values():
        for step, metrics in record.metrics:
            assert metrics["loss"] == 10.0 - step
            assert metrics["lr"] == pytest.approx(record.config["lr"])
            assert metrics["momentum"] == pytest.approx(record.config["momentum"])
    moved = [r for r in seen.values() if r.parent is not None and r.config != seen[r.parent].config]
    assert moved, "somebody took over another's state with other settings"
    assert max(row["epochs"] for row in results) == 8
    kept = tmp_path / "studies" / "pbt" / "trials"
    for record in seen.values():
        if record.parent is not None:
            assert list((kept / f"{record.parent:04d}" / "checkpoints").glob("epoch-*.ckpt")), "the donor's state stays"


@pytest.mark.slow
def test_it_ends_when_the_function_has_returned(tmp_path: Path) -> None:
    """With trials to spare: nobody starts just to find that nothing is left to train."""
    results = study(counted_down, trials=40).run(data=tmp_path, logical_gpus=2)
    assert {row["state"] for row in results} == {"completed"}
    assert len(results) < 40 and max(row["epochs"] for row in results) == 8
    assert not [row for row in results if "nothing was left to train" in row["reason"]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("train", "says"),
    [(stateless, "which has none: it saved none"), (without_epochs, "a function of this kind keeps none")],
)
def test_without_saved_state_it_says_so(train: Any, says: str, tmp_path: Path) -> None:
    results = study(train, trials=20).run(data=tmp_path, logical_gpus=2)
    failed = [row for row in results if row["state"] == "failed"]
    assert len(failed) >= 3 and all(says in row["reason"] for row in failed)
    assert all("trial.prepare" in row["reason"] for row in failed)
    assert len(results) < 20, "it does not go on for ever"
