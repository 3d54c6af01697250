"""Trials of several workers in real processes: they start together, change their number, and survive losses."""

import os
import signal
import time
from typing import Any

import pytest
import torch

from shoal.tests.models.trial.trial_rig import differences
from shoal.trial_runner.messages import Ended, FailAt, PauseTrial, Reported, Resized, ResizeTrial, Slot, Started

USER_CODE = """
import time
import torch
from torch import nn
from torch.nn import functional as F

def f(trial):
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(1100, 8, generator=generator)
    y = (x.sum(1) > 0).long()
    model = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.99)
    loader = trial.prepare(model, optimizer, (x, y), batch_size=256)
    trial.register("scheduler", scheduler)
    loss_fn = lambda x, y: (F.cross_entropy(model(x), y, reduction="sum"), len(y))
    for epoch in trial.epochs(EPOCHS):
        for step, batch in enumerate(loader):
            time.sleep(STEP_S)
            if step % 2 == 0:  # a local variable decides what a step does
                optimizer.zero_grad()
            trial.mean("loss", trial.backward(loss_fn, batch), len(batch))
            if step % 2 == 1:
                optimizer.step()
                scheduler.step()
        trial.report(score=trial.evaluate(lambda x, y: model(x).argmax(1) == y, (x, y)))
    if trial.rank == 0:
        end = [model.state_dict(), optimizer.state_dict(), scheduler.state_dict()]
        torch.save(end, trial.checkpoint_dir / "end.pt")
"""


def slots(k: int) -> tuple[Slot, ...]:
    return (Slot(),) * k


def prepare(node: Any, *, epochs: int = 3, step_s: float = 0.0) -> None:
    source = f"EPOCHS, STEP_S = {epochs}, {step_s}\n{USER_CODE}"
    assert node.study(source, kind="trial", standby=2).ok


def launch(node: Any, number: int, k: int, **more: Any) -> None:
    node.launch(number, slots=slots(k), max_workers=8, max_shards=8, seed=7, **more)


def end(node: Any, number: int) -> tuple[Any, Any]:
    """The trial's state and its reports, once it has ended well."""
    ended = node.wait_for(Ended, number)
    assert ended.outcome == "completed", (ended, node.log(number))
    return state(node, number), reports(node, number)


def state(node: Any, number: int) -> Any:
    return torch.load(node.study_dir / "trials" / f"{number:04d}" / "checkpoints" / "end.pt", weights_only=False)


def reports(node: Any, number: int) -> Any:
    said = [event for event in node.seen if isinstance(event, Reported) and event.number == number]
    return [(report.step, dict(report.metrics)) for report in said]


def resize(node: Any, number: int, k: int, resize: int) -> Resized:
    node.agent.perform(ResizeTrial(study="s", number=number, generation=1, resize=resize, slots=slots(k)))
    resized: Resized = node.wait_for(Resized, number)
    return resized


def members(node: Any, processes: Any, number: int) -> list[int]:
    """The pids of a trial's first workers that are still there, by rank."""
    started = [event for event in node.seen if isinstance(event, Started) and event.number == number][-1]
    return [pid for pid in started.pids if processes.alive(pid)]


def same(one: tuple[Any, Any], other: tuple[Any, Any]) -> None:
    assert differences(one[0], other[0]) == []
    assert one[1] == other[1]


def test_a_trial_on_several_workers_ends_as_on_one(node: Any) -> None:
    prepare(node)
    ends = []
    for number, k in enumerate((1, 2, 4)):
        launch(node, number, k)
        ends.append(end(node, number))
    same(ends[0], ends[1])
    same(ends[0], ends[2])
    assert len(ends[0][1]) == 3


def test_resizes_in_the_middle_of_epochs_leave_no_trace(node: Any) -> None:
    """T58: every sample once an epoch, whoever comes and goes: the weights show it."""
    prepare(node, epochs=30, step_s=0.01)
    launch(node, 0, 1)
    undisturbed = end(node, 0)
    launch(node, 1, 1)
    node.wait_for(Reported, 1)
    node.answer(node.seen[-1], "continue")
    for number, k in enumerate((4, 2, 8), start=1):
        resized = resize(node, 1, k, number)
        assert (resized.ok, len(resized.slots), resized.resize) == (True, k, number), resized
    same(undisturbed, end(node, 1))


def test_a_pause_in_the_middle_of_an_epoch_leaves_no_trace(node: Any) -> None:
    prepare(node, epochs=12, step_s=0.01)
    launch(node, 0, 1)
    undisturbed = end(node, 0)
    generation, known = 1, 0
    launch(node, 1, 2)
    for k in (1, 4):
        node.answer(node.wait_for(Reported, 1), "continue")
        time.sleep(0.03)  # into the epoch; wherever it lands, the end must be the same
        node.agent.perform(PauseTrial(study="s", number=1, generation=generation, reason="for the test"))
        ended = node.wait_for(Ended, 1)
        assert (ended.outcome, ended.reason) == ("paused", "for the test")
        generation, known = generation + 1, reports(node, 1)[-1][0]
        launch(node, 1, k, generation=generation, reported_step=known)
    same(undisturbed, end(node, 1))


@pytest.mark.parametrize("rank", [0, 3])
def test_a_killed_worker_leaves_no_trace(node: Any, rank: int) -> None:
    """T56, T57: the others go on within seconds, rank 0 or not; new ones come in later."""
    prepare(node, epochs=30, step_s=0.01)
    launch(node, 0, 1)
    undisturbed = end(node, 0)
    launch(node, 1, 4, fail_at=FailAt(rank=rank, epoch=2, step=3))
    resized = node.wait_for(Resized, 1)
    assert (resized.resize, resized.ok, len(resized.slots)) == (0, True, 2)
    assert resized.stall_s < 30
    assert resize(node, 1, 4, 1).ok
    same(undisturbed, end(node, 1))


def test_workers_killed_at_any_moment_leave_no_trace(node: Any, processes: Any) -> None:
    prepare(node, epochs=20, step_s=0.01)
    launch(node, 0, 1)
    undisturbed = end(node, 0)
    launch(node, 1, 8)
    for delay_s, size in ((0.013, 4), (0.031, 2), (0.007, 1)):
        node.answer(node.wait_for(Reported, 1), "continue")
        time.sleep(delay_s)
        victim = members(node, processes, 1)[-1 if size > 1 else 0]
        os.kill(victim, signal.SIGKILL)
        assert len(node.wait_for(Resized, 1).slots) == size
    same(undisturbed, end(node, 1))


def test_a_stopped_worker_is_found(node: Any) -> None:
    """It is there and answers nothing; the others go on without it."""
    prepare(node, epochs=8)
    launch(node, 0, 1)
    undisturbed = end(node, 0)
    launch(node, 1, 2, fail_at=FailAt(rank=1, epoch=1, step=2, how="stop"))
    assert len(node.wait_for(Resized, 1).slots) == 1
    same(undisturbed, end(node, 1))


def test_when_all_are_lost_the_trial_is_and_goes_on_from_its_checkpoint(node: Any, processes: Any) -> None:
    prepare(node, epochs=6, step_s=0.01)
    launch(node, 0, 1)
    undisturbed = end(node, 0)
    launch(node, 1, 2)
    node.answer(node.wait_for(Reported, 1), "continue")
    node.answer(node.wait_for(Reported, 1), "continue")
    for pid in members(node, processes, 1):
        os.kill(pid, signal.SIGKILL)
    ended = node.wait_for(Ended, 1)
    assert (ended.outcome, ended.failure) == ("failed", "LOST")
    launch(node, 1, 4, generation=2, reported_step=reports(node, 1)[-1][0])
    same(undisturbed, end(node, 1))


def test_an_error_on_any_worker_is_the_trials(node: Any) -> None:
    prepare(node)
    launch(node, 0, 2, fail_at=FailAt(rank=1, epoch=0, step=2, how="raise"))
    ended = node.wait_for(Ended, 0)
    assert (ended.outcome, ended.failure) == ("failed", "BUG")
    assert "told to fail" in ended.reason
    launch(node, 1, 2)
    assert node.wait_for(Ended, 1).outcome == "completed"


def test_what_cannot_be_resized_says_so(node: Any) -> None:
    prepare(node, epochs=8, step_s=0.01)
    launch(node, 0, 2)
    node.answer(node.wait_for(Reported, 0), "continue")
    refused = resize(node, 0, 3, 1)
    assert (refused.ok, len(refused.slots)) == (False, 2)
    assert "no power of two" in refused.reason
    assert end(node, 0)
