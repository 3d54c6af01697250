"""A trial goes over from one node of a Ray cluster to another, in the middle of an epoch, and no bit changes."""

import select
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shoal.service.cluster_nodes import facts_of
from shoal.spaces import Float, Space
from shoal.tests.ray_cluster import RayCluster
from shoal.trial_runner.archive import pack_project
from shoal.trial_runner.cluster.checkpoint_store import CheckpointStore
from shoal.trial_runner.cluster.cluster_runner import ClusterRunner
from shoal.trial_runner.cluster.ports import Holder
from shoal.trial_runner.cluster.ray_fleet import RayFleet, connect, disconnect
from shoal.trial_runner.messages import (
    AnswerReport,
    Ended,
    LaunchTrial,
    Prepared,
    PrepareStudy,
    Reported,
    Resized,
    ResizeTrial,
    Slot,
    Started,
)

pytestmark = pytest.mark.slow

PATIENCE_S = 90.0

USER_CODE = """
import os, time
import torch

def train(trial):
    print("here:", os.environ["SHOAL_GPUS"], flush=True)
    torch.manual_seed(0)
    x = torch.randn(512, 8)
    data = torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True).sin())
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Dropout(0.2), torch.nn.Linear(16, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=trial.config.x)
    loader = trial.prepare(model, optimizer, data, batch_size=32)
    def loss_fn(x, y):
        return torch.nn.functional.mse_loss(model(x), y, reduction="sum"), len(y)
    for epoch in trial.epochs(5):
        for batch in loader:
            optimizer.zero_grad()
            trial.backward(loss_fn, batch)
            optimizer.step()
            time.sleep(0.02)
        trial.report(score=float(torch.cat([p.detach().reshape(-1) for p in model.parameters()]).double().sum()))
"""


class Table:
    """A runner over the cluster's nodes with a study on it."""

    def __init__(self, folder: Path) -> None:
        project = folder / "project"
        project.mkdir()
        (project / "user_code.py").write_text(USER_CODE)
        code = pack_project(project / "user_code.py", folder / "code")
        self.store = folder / "store"
        CheckpointStore(f"file://{self.store}").write("probe", b"")
        holder = Holder(owner=str(folder), fence=1, text="the tests", store=f"file://{self.store}", probe="probe")
        self.runner = ClusterRunner(RayFleet(facts_of), holder)
        self.nodes = [node.node for node in self.runner.open()]
        self.runner.keep(())
        entry = {"kind": "trial", "module": code.module, "function": "train", "command": ""}
        self.runner.perform(
            PrepareStudy(
                study="s", entry=entry, space=Space(x=Float(0.0, 1.0)).to_json(), code=code.sha, archive=code.path,
                study_dir=folder,
            )
        )
        self.seen: list[Any] = []
        self.next(Prepared)

    def next(self, kind: type[Any]) -> Any:
        """The next event of a kind; reports on the way are answered "continue"."""
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            select.select(self.runner.waitables(), [], [], 0.2 if self.runner.next_due_s() is None else 0.0)
            events = self.runner.drain()
            self.seen += events
            for event in events:
                if isinstance(event, Reported):
                    self.answer(event)
            found = [event for event in events if isinstance(event, kind)]
            if found:
                return found[0]
        raise AssertionError(f"no {kind.__name__}; seen: {self.seen}")

    def answer(self, report: Reported) -> None:
        self.runner.perform(
            AnswerReport(
                study="s", number=report.number, generation=1, step=report.step, verdict="continue", reason="x"
            )
        )

    def slots(self, node: str, workers: int) -> tuple[Slot, ...]:
        return tuple(Slot(node=node, gpus=(f"logical-{node}-{index}",)) for index in range(workers))

    def launch(self, number: int, node: str, workers: int) -> None:
        self.runner.perform(
            LaunchTrial(
                study="s", number=number, generation=1, config={"x": 0.01}, seed=7, metric="score",
                direction="maximize", slots=self.slots(node, workers), max_workers=2, max_shards=2,
            )
        )

    def curve(self, number: int) -> list[Any]:
        return [
            (event.step, event.metrics) for event in self.seen if isinstance(event, Reported) and event.number == number
        ]


@pytest.fixture
def table(two_ray_nodes: RayCluster, tmp_path: Path) -> Iterator[Table]:
    connect(two_ray_nodes.address)
    made = Table(tmp_path)
    yield made
    made.runner.close()
    disconnect()


def test_a_trial_moves_to_another_node_within_an_epoch(table: Table) -> None:
    first, second = table.nodes
    table.launch(0, first, workers=2)
    assert table.next(Ended).outcome == "completed"

    table.launch(1, first, workers=1)
    table.next(Started)
    table.next(Reported)
    table.runner.perform(ResizeTrial(study="s", number=1, generation=1, resize=1, slots=table.slots(second, 2)))
    resized = table.next(Resized)
    assert (resized.ok, resized.resize, {slot.node for slot in resized.slots}) == (True, 1, {second})
    assert table.next(Ended).outcome == "completed"

    assert table.curve(1) == table.curve(0)
    assert [step for step, _ in table.curve(1)] == [1, 2, 3, 4, 5]
    log = (table.store / "studies" / "s" / "trials" / "0001" / "log.txt").read_text()
    assert [line.split("-")[-2] for line in log.splitlines() if "here:" in line][:2] == [
        first.split("-")[-1], second.split("-")[-1],
    ]  # fmt: skip
