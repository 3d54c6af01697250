"""Studies that share a pool of logical GPUs, with real workers that come, go and are killed."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal.search.events import (
    Event,
    TrialAssigned,
    TrialDecided,
    TrialEnded,
    TrialReported,
    TrialResized,
    TrialResizing,
)
from shoal.search.journal.sqlite_reader import SqliteReader
from shoal.search.replay import read_study
from shoal.service.commands import Command
from shoal.service.pool_view import read_pool
from shoal.service.running import run_studies

pytestmark = pytest.mark.slow

TRAINED = """
import os, sys, time
import torch
from torch import nn
from torch.nn import functional as F
import shoal
from shoal.spaces import Float, Space

def train(trial):
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(640, 8, generator=generator)
    y = (x.sum(1) > 0).long()
    time.sleep(BUILD_S)
    model = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=trial.config.lr)
    loader = trial.prepare(model, optimizer, (x, y), batch_size=128)
    loss_fn = lambda x, y: (F.cross_entropy(model(x), y, reduction="sum"), len(y))
    for epoch in trial.epochs(EPOCHS):
        if epoch == DIES_AT and trial.world_size > 1 and trial.rank == 1 and not os.path.exists(MARK):
            open(MARK, "w").close()
            os.kill(os.getpid(), 9)
        for batch in loader:
            time.sleep(STEP_S / trial.world_size if trial.number else 0.0)  # the first trial is soon out of the way
            optimizer.zero_grad()
            trial.mean("loss", trial.backward(loss_fn, batch), len(batch))
            optimizer.step()
        trial.report(score=trial.evaluate(lambda x, y: model(x).argmax(1) == y, (x, y)))
    if trial.rank == 0:
        torch.save(model.state_dict(), trial.checkpoint_dir / "end.pt")

study = shoal.Study(
    space=Space(lr=Float(0.001, 0.03, log=True)), train=train, maximize="score", trials=TRIALS, strategy="random",
    workers=(1, 4), name="s",
)

if __name__ == "__main__":
    study.run(data=sys.argv[1], logical_gpus=int(sys.argv[2]))
"""

SLEEPS = """
import time
import shoal
from shoal.spaces import Float, Space

def train(trial):
    for epoch in trial.epochs(EPOCHS):
        time.sleep(0.15)
        trial.save({"epoch": epoch})
        trial.report(score=trial.config.x)

def study(name, trials, **settings):
    return shoal.Study(space=Space(x=Float(0.0, 1.0)), train=train, maximize="score", trials=trials, name=name,
                       strategy="random", **settings)
"""


@pytest.fixture(autouse=True)
def _own_runtime_dir(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SHOAL_RUNTIME_DIR", str(tmp_path / "run"))


class Project:
    """A study's file in a folder of its own."""

    def __init__(self, folder: Path, source: str, **constants: Any) -> None:
        folder.mkdir()
        self.file = folder / f"elastic_{folder.name}.py"
        lines = "".join(f"{name} = {value!r}\n" for name, value in constants.items())
        self.file.write_text(lines + source)

    def study(self) -> Any:
        """The module, imported under a name of its own."""
        import importlib.util

        spec = importlib.util.spec_from_file_location(self.file.stem, self.file)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[self.file.stem] = module
        spec.loader.exec_module(module)
        return module


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Any]:
    made: list[str] = []

    def make(name: str, source: str = TRAINED, **constants: Any) -> Project:
        given = {"BUILD_S": 0.0, "EPOCHS": 5, "DIES_AT": -1, "STEP_S": 1.2, "TRIALS": 2, "MARK": str(tmp_path / name)}
        given["MARK"] += ".died"
        project = Project(tmp_path / name, source, **(given | constants if source is TRAINED else constants))
        made.append(project.file.stem)
        return project

    yield make
    for name in made:
        sys.modules.pop(name, None)


def run(studies: Sequence[shoal.Study], data: Path, gpus: int, on_event: Any = None) -> list[tuple[str, Event]]:
    """Run to the end; (study, event) of everything, in order."""
    events: list[tuple[str, Event]] = []

    def observe(state: Any, event: Event) -> None:
        events.append((state.name, event))
        if on_event is not None:
            on_event(state, event)

    run_studies(studies, data=data, logical_gpus=gpus, observers=(observe,), notice=lambda text: None)
    return events


def of_kind(events: Sequence[tuple[str, Event]], kind: type[Event]) -> list[Any]:
    return [event for _, event in events if isinstance(event, kind)]


def outcome(data: Path, number: int = 1) -> tuple[list[Any], Any]:
    """A trial's reports and its weights, to be compared bit by bit."""
    import torch

    folder = data / "studies" / "s" / "trials" / f"{number:04d}" / "checkpoints"
    weights = torch.load(folder / "end.pt", weights_only=True)
    with closing(SqliteReader(data / "journal.db")) as journal:
        record = read_study(journal, "s").trials[number]
    return [record.steps, record.columns], {name: tensor.numpy().tobytes() for name, tensor in weights.items()}


def ask(data: Path, study: str, **command: Any) -> None:
    with closing(SqliteReader(data / "journal.db")) as journal:
        journal.put_command(study, Command(**command).to_json())


def test_a_study_that_grows_in_its_tail_ends_as_on_one_gpu(tmp_path: Path, project: Any) -> None:
    run([project("alone", STEP_S=0.0).study().study], tmp_path / "one", 1)
    events = run([project("grown").study().study], tmp_path / "four", 4)
    started = {event.number: event.workers for event in of_kind(events, TrialAssigned)}
    grown = [event for event in of_kind(events, TrialResized) if event.ok and event.workers > started[event.number]]
    assert {event.number for event in grown} == {1}
    assert all(event.reason for event in of_kind(events, TrialResizing))
    for number in range(2):
        assert outcome(tmp_path / "one", number) == outcome(tmp_path / "four", number)


def test_two_studies_share_by_weight(tmp_path: Path, project: Any) -> None:
    make = project("shared", SLEEPS, EPOCHS=4).study().study
    views: list[Any] = []

    def look(state: Any, event: Event) -> None:
        if isinstance(event, TrialReported):
            with closing(SqliteReader(tmp_path / "data" / "journal.db")) as journal:
                views.append(read_pool(journal))

    events = run([make("two", 24, weight=2), make("one", 24)], tmp_path / "data", 6, look)
    running: Counter[str] = Counter()
    left = {"two": 24, "one": 24}
    shares: Counter[tuple[int, int]] = Counter()
    for name, event in events:
        if isinstance(event, TrialAssigned):
            running[name] += 1
            left[name] -= 1
        elif isinstance(event, TrialEnded):
            running[name] -= 1
        if all(left.values()) and isinstance(event, TrialReported):
            shares[running["two"], running["one"]] += 1
    assert shares.most_common(1)[0][0] == (4, 2)
    both = [view["studies"] for view in views if view and len(view["studies"]) == 2]
    owed = Counter(tuple(row["owed"] for row in studies) for studies in both)
    assert owed.most_common(1)[0][0] == (4, 2)
    assert any(row["why"] for view in views if view for row in view["queue"])


def test_a_higher_priority_takes_devices_and_who_gave_way_comes_back_first(tmp_path: Path, project: Any) -> None:
    make = project("priority", SLEEPS, EPOCHS=12).study().study
    data = tmp_path / "data"
    asked: list[str] = []  # when the patient study has the two devices that it is owed

    def raise_priority(state: Any, event: Event) -> None:
        both_run = state.name == "patient" and isinstance(event, TrialReported) and event.number == 1
        if both_run and event.step == 2:
            asked.append(state.name)
            ask(data, "urgent", verb="edit", changes={"priority": 1}, who="the test")

    events = run([make("patient", 8), make("urgent", 6)], data, 4, raise_priority)
    paused = [e for name, e in events if name == "patient" and isinstance(e, TrialDecided) and e.decision == "pause"]
    assert paused
    assert all(event.by == "pool" and event.reason for event in paused)
    gave_way = {event.number for event in paused}
    after = [e for name, e in events[events.index(("patient", paused[-1])) :] if name == "patient"]
    started = [e.number for e in after if isinstance(e, TrialAssigned)]
    assert set(started[: len(gave_way)]) == gave_way, started
    for number in gave_way:
        reports = [e for n, e in events if n == "patient" and isinstance(e, TrialReported) and e.number == number]
        assert [event.step for event in reports] == list(range(1, 13))  # it went on where it was
    for study in ("patient", "urgent"):
        with closing(SqliteReader(data / "journal.db")) as journal:
            assert read_study(journal, study).status == "completed"


def test_a_killed_worker_of_a_grown_trial_leaves_no_trace(tmp_path: Path, project: Any) -> None:
    run([project("alone", STEP_S=0.0).study().study], tmp_path / "one", 1)
    events = run([project("dies", DIES_AT=3).study().study], tmp_path / "four", 4)
    lost = [event for event in of_kind(events, TrialResized) if event.resize == 0]
    assert len(lost) == 1 and lost[0].reason
    assert [event.outcome for event in of_kind(events, TrialEnded)] == ["completed"] * 2
    assert len(of_kind(events, TrialAssigned)) == 2  # nobody was started again
    assert outcome(tmp_path / "one") == outcome(tmp_path / "four")


def test_a_head_killed_in_the_middle_of_a_resize_goes_on(tmp_path: Path, project: Any, processes: Any) -> None:
    run([project("alone", STEP_S=0.0).study().study], tmp_path / "one", 1)
    file = project("killed", BUILD_S=1.0).file
    data = tmp_path / "four"
    command = [sys.executable, str(file), str(data), "4"]
    mark = f"SHOAL_TEST_MARK={file.stem}"
    environment = {**os.environ, "SHOAL_TEST_MARK": file.stem}
    head = subprocess.Popen(command, env=environment, start_new_session=True)
    try:
        processes.wait_until(lambda: _is_resizing(data))
    finally:
        os.kill(head.pid, signal.SIGKILL)
        head.wait()
    processes.wait_until(lambda: not processes.marked(mark))
    before = _events(data)
    assert isinstance(before[-1], TrialResizing) or not any(isinstance(e, TrialResized) for e in before)
    subprocess.run(command, env=environment, check=True, timeout=120)
    assert any(isinstance(event, TrialAssigned) and event.generation == 2 for event in _events(data))
    assert outcome(tmp_path / "one") == outcome(data)


def _events(data: Path) -> list[Event]:
    if not (data / "journal.db").exists():
        return []
    with closing(SqliteReader(data / "journal.db")) as journal:
        return [event for _, event in journal.read("s")] if "s" in journal.studies() else []


def _is_resizing(data: Path) -> bool:
    return any(isinstance(event, TrialResizing) for event in _events(data))


def test_four_trials_share_one_gpu(tmp_path: Path, project: Any) -> None:
    """T55: four trials of a quarter run together, a fifth waits."""
    make = project("quarters", SLEEPS, EPOCHS=3).study().study
    events = run([make("s", 8, gpus_per_worker=0.25)], tmp_path / "data", 1)
    running = most = 0
    for _, event in events:
        running += isinstance(event, TrialAssigned) - isinstance(event, TrialEnded)
        most = max(most, running)
    assert most == 4
    assigned = of_kind(events, TrialAssigned)
    assert {event.gpu_share for event in assigned} == {0.25}
    assert len({event.gpus for event in assigned}) == 1
    ended = of_kind(events, TrialEnded)
    assert all(event.gpu_s == pytest.approx(event.run_s / 4) for event in ended)


def test_a_budget_of_gpu_hours_ends_a_study(tmp_path: Path, project: Any) -> None:
    make = project("budget", SLEEPS, EPOCHS=3).study().study
    events = run([make("s", 60, gpu_hours=6 / 3600)], tmp_path / "data", 2)
    with closing(SqliteReader(tmp_path / "data" / "journal.db")) as journal:
        state = read_study(journal, "s")
    assert state.status == "completed"
    assert "GPU-hours are used" in state.reason
    assert state.gpu_s >= 6
    assert len(of_kind(events, TrialAssigned)) < 60


def test_a_request_that_never_fits_is_refused_and_moves_nobody(tmp_path: Path, project: Any) -> None:
    """T54, T65."""
    make = project("large", SLEEPS, EPOCHS=2).study().study
    small, large = make("small", 4), make("large", 2, workers=8, priority=5)
    events = run([small, large], tmp_path / "data", 2)
    with closing(SqliteReader(tmp_path / "data" / "journal.db")) as journal:
        refused, served = read_study(journal, "large"), read_study(journal, "small")
    assert refused.status == "failed"
    assert "never fits because" in refused.reason
    assert served.status == "completed"
    assert not [e for e in of_kind(events, TrialDecided) if e.decision == "pause"]


def test_shoal_pool_and_set_as_commands(tmp_path: Path, project: Any) -> None:
    """Another process looks at the pool and changes a study while it runs."""
    make = project("commands", SLEEPS, EPOCHS=8).study().study
    data = tmp_path / "data"
    said: dict[str, Any] = {}

    def once(state: Any, event: Event) -> None:
        if isinstance(event, TrialReported) and (event.number, event.step) == (2, 3):  # the picture is a second old
            said["pool"] = json.loads(shoal_command("pool", "-o", "json", data=data))
            ask(data, "s", verb="edit", changes={"weight": 3.0, "trials": 5}, who="the test")

    run([make("s", 4)], data, 2, once)
    (node,) = said["pool"]["nodes"]
    assert (node["node"], len(node["gpus"]), node["device_model"]) == ("local", 2, "logical")
    assert {row["study"] for row in node["held"]} == {"s"}
    (row,) = said["pool"]["studies"]
    assert (row["study"], row["owed"], row["running"]) == ("s", 2, 2)
    assert said["pool"]["head_is_running"]
    with closing(SqliteReader(data / "journal.db")) as journal:
        state = read_study(journal, "s")
    assert (state.spec.weight, len(state.trials)) == (3.0, 5)
    table = shoal_command("pool", data=data)
    assert "0 of 2" in table and "nobody" in table


def shoal_command(*words: str, data: Path) -> str:
    command = [sys.executable, "-m", "shoal", *words, "--data", str(data)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
