"""A study over several nodes, of which some die, freeze, and join, ends as on one machine: to the last bit."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shoal.search.events import Event, TrialAssigned, TrialReported
from shoal.search.study_state import StudyState
from shoal.service.cli.study_file import load_studies
from shoal.service.cluster_place import RayPlace
from shoal.service.gpu_leases import LOGICAL
from shoal.service.places import ThisMachine
from shoal.service.running import run_studies
from shoal.tests.ray_cluster import RayCluster, ray_cluster

pytestmark = pytest.mark.slow

STUDY = """
import os, time
import torch
import shoal
from shoal.spaces import Categorical, Float, Space

LAST, MAY_END = 8, {may_end!r}

def train(trial):
    torch.manual_seed(0)
    x = torch.randn(256, 8)
    data = torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True).sin())
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.BatchNorm1d(16), torch.nn.Dropout(0.2),
                                torch.nn.Linear(16, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=trial.config.lr)
    loader = trial.prepare(model, optimizer, data, batch_size=64)
    slow = "slow" in os.environ.get("SHOAL_GPUS", "")
    def loss_fn(x, y):
        return torch.nn.functional.mse_loss(model(x), y, reduction="sum"), len(y)
    for epoch in trial.epochs(4):
        for batch in loader:
            optimizer.zero_grad()
            trial.backward(loss_fn, batch)
            optimizer.step()
        time.sleep(0.3)
        while trial.number == LAST and epoch == 3 and not os.path.exists(MAY_END):
            time.sleep(0.05)
        weights = torch.cat([p.detach().reshape(-1) for p in model.parameters()])
        trial.report(score=float(weights.double().sum()), norm=float(weights.norm()))

study = shoal.Study(space=Space(lr=Float(1e-3, 1e-1, log=True), other=Categorical(["a", "b"])), train=train,
                    maximize="score", trials=LAST + 1, strategy="random", workers={workers}, seed=5, name="bits")
"""


@pytest.fixture
def cluster() -> Iterator[RayCluster]:
    with ray_cluster() as made:
        yield made


class Mischief:
    """Kills a node and adds one, then freezes another, and lets it wake up once it has been given up.

    Each happens at a report, in the middle of somebody's training: the node killed is the last that the trial has, the
    node frozen its first. The study's last trial may end when the added node and the frozen one are in the pool.
    """

    def __init__(self, cluster: RayCluster, may_end: Path, *, gpus: int, kill_at: int, freeze_at: int) -> None:
        self._cluster = cluster
        self._gpus = gpus
        self._may_end = may_end
        self._kill_at, self._freeze_at = kill_at, freeze_at
        self._reports = 0
        self._on: dict[int, list[str]] = {}
        self.most_nodes = 0
        self.killed = self.frozen = self.joined = ""
        self.gone: list[str] = []
        self.up: list[str] = []

    def watch(self, state: StudyState, event: Event) -> None:
        """Called after each event."""
        if isinstance(event, TrialAssigned):
            self._on[event.number] = nodes = [gpu.removeprefix(LOGICAL).rpartition("-")[0] for gpu in event.gpus]
            self.most_nodes = max(self.most_nodes, len(set(nodes)))
        if not isinstance(event, TrialReported):
            return
        self._reports += 1
        if self._reports >= self._kill_at and not self.killed:
            self.killed = self._on[event.number][-1]
            self._cluster.kill(self.killed)
            self.joined = self._cluster.add(gpus=self._gpus)
        elif self._reports >= self._freeze_at and not self.frozen and self.killed not in self._on[event.number]:
            self.frozen = self._on[event.number][0]
            self._cluster.freeze(self.frozen)

    def told(self, text: str) -> None:
        """Called with what the person is told."""
        if " is gone" in text:
            self.gone.append(text.split()[1])
            if self.frozen in self.gone:
                self._cluster.thaw(self.frozen)
        if " is up" in text:
            self.up.append(text.split()[1])
        if {self.joined, self.frozen} <= set(self.up):
            self._may_end.touch()


def rows(results: Any) -> dict[int, Any]:
    """What has to be the same to the last bit."""
    return {row["number"]: (row["state"], row["config"], row["curve"]) for row in results.trials}


@pytest.mark.parametrize(
    ("workers", "gpus", "models", "spans"),
    [("(1, 2)", 2, ("fast", "fast", "slow"), 1), ("2", 1, ("fast", "fast", "fast", "fast"), 2)],
    ids=["on one node each", "over two nodes each"],
)
def test_nodes_die_freeze_and_join_and_no_bit_changes(
    cluster: RayCluster, tmp_path: Path, workers: str, gpus: int, models: tuple[str, ...], spans: int
) -> None:
    file, may_end = tmp_path / "project" / f"bits_{spans}.py", tmp_path / "may-end"
    file.parent.mkdir()
    file.write_text(STUDY.format(may_end=str(may_end), workers=workers))
    may_end.touch()
    here, there = tmp_path / "here", tmp_path / "there"
    studies = load_studies(file)
    (expected,) = run_studies(studies, data=here, place=ThisMachine(studies, here, 2), notice=lambda text: None)
    may_end.unlink()

    for model in models:
        cluster.add(gpus=gpus, model=model)
    mischief = Mischief(cluster, may_end, gpus=gpus, kill_at=6, freeze_at=14)
    place = RayPlace(cluster.address, there)
    (found,) = run_studies(studies, data=there, place=place, observers=[mischief.watch], notice=mischief.told)

    assert {state for state, _, _ in rows(expected).values()} == {"completed"}
    assert rows(found) == rows(expected)
    assert mischief.most_nodes == spans
    assert {mischief.killed, mischief.frozen} <= set(mischief.gone)
    assert {mischief.joined, mischief.frozen} <= set(mischief.up)
    stored = list((there / "studies" / "bits" / "trials").glob("*/checkpoints/*/READY"))
    assert len(stored) == len(rows(expected)), "of every trial the last generation's folder is left"
