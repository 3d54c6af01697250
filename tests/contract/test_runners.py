"""What the head may expect of any runner: real processes and virtual time behave alike."""

import select
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from shoal.service.cluster_nodes import facts_of
from shoal.service.ports import Runner
from shoal.spaces import Float, Space
from shoal.tests.ray_cluster import ray_cluster
from shoal.trial_runner.archive import pack_project
from shoal.trial_runner.cluster.checkpoint_store import CheckpointStore
from shoal.trial_runner.cluster.cluster_runner import ClusterRunner
from shoal.trial_runner.cluster.ports import Holder
from shoal.trial_runner.cluster.ray_fleet import RayFleet, connect, disconnect
from shoal.trial_runner.messages import (
    AnswerReport,
    AnswerSuggestion,
    Ended,
    ForgetStudy,
    KillTrial,
    LaunchTrial,
    PauseTrial,
    Prepared,
    PrepareStudy,
    Reported,
    RunnerEvent,
    Slot,
    Started,
    SuggestionAsked,
)
from shoal.trial_runner.node_agent import NodeAgent
from shoal.trial_runner.simulated import SimulatedRunner

Sides = tuple[Runner, PrepareStudy, Slot]

EPOCHS = 4
DOMAIN = Float(0.0, 1.0)

USER_CODE = """
import time

def train(trial):
    for epoch in trial.epochs(4):
        time.sleep(trial.config.x)
        trial.save(epoch)
        trial.report(score=(epoch + 1) / 10)

def asks(trial):
    trial.report((trial.suggest_float("x", 0.0, 1.0) + 1) / 10, step=0)
"""


class Table:
    """A runner with a study on it, and what it has said. `asking` makes the trials define-by-run."""

    def __init__(self, runner: Runner, prepare: PrepareStudy, slot: Slot) -> None:
        self.runner = runner
        self._slot = slot
        self.seen: list[RunnerEvent] = []
        self._unread: deque[RunnerEvent] = deque()
        runner.perform(prepare)
        assert self.next(Prepared).ok

    def launch(self, number: int = 0, generation: int = 1, x: float = 0.0, **changes: Any) -> None:
        facts: dict[str, Any] = {
            "config": {"x": x}, "seed": 7, "metric": "score", "direction": "maximize", "slots": (self._slot,),
            "max_workers": 1, "max_shards": 1, **changes,
        }
        self.runner.perform(LaunchTrial(study="s", number=number, generation=generation, **facts))

    def turn(self) -> list[RunnerEvent]:
        due_s = self.runner.next_due_s()
        select.select(self.runner.waitables(), [], [], 0.2 if due_s is None else min(due_s, 0.2))
        events = self.runner.drain()
        self.seen += events
        return events

    def next(self, kind: type[Any]) -> Any:
        """The next event of a kind; reports on the way to it are answered "continue"."""
        until = time.monotonic() + 60
        while time.monotonic() < until:
            if not self._unread:
                self._unread.extend(self.turn())
            while self._unread:
                event = self._unread.popleft()
                if isinstance(event, kind):
                    return event
                if isinstance(event, Reported):
                    self.answer(event, "continue")
        raise AssertionError(f"no {kind.__name__}; seen: {self.seen}")

    def answer(self, report: Reported, verdict: Any, generation: int | None = None) -> None:
        generation = report.generation if generation is None else generation
        self.runner.perform(
            AnswerReport(
                study="s", number=report.number, generation=generation, step=report.step, verdict=verdict,
                reason=f"the test says {verdict}",
            )
        )

    def reports(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        return ((event.step, event.metrics) for event in self.seen if isinstance(event, Reported))


def prepared(folder: Path, asking: bool) -> PrepareStudy:
    (folder / "project").mkdir()
    (folder / "project" / "user_code.py").write_text(USER_CODE)
    code = pack_project(folder / "project" / "user_code.py", folder / "data" / "code")
    kind, function = ("optuna", "asks") if asking else ("trial", "train")
    return PrepareStudy(
        study="s", entry={"kind": kind, "module": code.module, "function": function, "command": ""},
        space=None if asking else Space(x=DOMAIN).to_json(), code=code.sha, archive=code.path,
        study_dir=folder / "data" / "studies" / "s",
    )


def real(folder: Path, asking: bool, request: pytest.FixtureRequest) -> Sides:
    return NodeAgent(folder / "data"), prepared(folder, asking), Slot()


def over_ray(folder: Path, asking: bool, request: pytest.FixtureRequest) -> Sides:
    """A cluster of one node, with an agent of its own for every test."""
    request.getfixturevalue("one_node")
    store = f"file://{folder / 'store'}"
    CheckpointStore(store).write("probe", b"")
    holder = Holder(owner=str(folder), fence=1, text="the tests", store=store, probe="probe")
    runner = ClusterRunner(RayFleet(facts_of), holder)
    (node,) = runner.open()
    return runner, prepared(folder, asking), Slot(node=node.node, gpus=node.gpus[:1])


def simulated(folder: Path, asking: bool, request: pytest.FixtureRequest) -> Sides:
    def model(number: int, config: Any, seed: int, step: int) -> tuple[float, dict[str, float]] | None:
        if asking:
            return (0.0, {"score": (config["x"] + 1) / 10}) if step == 1 else None
        return (config["x"], {"score": step / 10}) if step <= EPOCHS else None

    asks = [("x", DOMAIN.to_json())] if asking else []
    prepare = PrepareStudy(study="s", entry={}, space=None, code="", archive=None, study_dir=folder)
    return SimulatedRunner(model, asks=asks), prepare, Slot()


@pytest.fixture(scope="module")
def one_node() -> Iterator[None]:
    with ray_cluster() as cluster:
        cluster.add()
        connect(cluster.address)
        yield
        disconnect()


@pytest.fixture(params=[real, over_ray, simulated], ids=["node-agent", "ray", "simulated"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., Table]]:
    made: list[Table] = []

    def make(*, asking: bool = False) -> Table:
        made.append(Table(*request.param(tmp_path, asking, request)))
        return made[-1]

    yield make
    for one in made:
        one.runner.close()


def test_a_trial_starts_reports_and_ends_in_this_order(table: Callable[..., Table]) -> None:
    one = table()
    one.launch()
    ended = one.next(Ended)
    assert (ended.outcome, ended.failure, ended.number, ended.generation) == ("completed", None, 0, 1)
    assert [type(event) for event in one.seen] == [Prepared, Started, *[Reported] * EPOCHS, Ended]
    assert [(step, metrics["score"]) for step, metrics in one.reports()] == [(1, 0.1), (2, 0.2), (3, 0.3), (4, 0.4)]
    assert ended.phases_s.keys() >= {"start", "user"}


def test_trials_run_beside_each_other(table: Callable[..., Table]) -> None:
    one = table()
    for number in range(3):
        one.launch(number)
    assert {one.next(Ended).number for _ in range(3)} == {0, 1, 2}


def test_a_stop_ends_it_at_the_report(table: Callable[..., Table]) -> None:
    one = table()
    one.launch()
    one.answer(one.next(Reported), "stop")
    ended = one.next(Ended)
    assert (ended.outcome, ended.reason) == ("stopped", "the test says stop")
    assert len(list(one.reports())) == 1


def test_a_pause_lets_go_and_the_next_generation_goes_on(table: Callable[..., Table]) -> None:
    one = table()
    one.launch()
    one.answer(one.next(Reported), "continue")
    one.answer(one.next(Reported), "pause")
    ended = one.next(Ended)
    assert (ended.outcome, ended.reason) == ("paused", "the test says pause")
    one.launch(generation=2, reported_step=2)
    assert one.next(Ended).outcome == "completed"
    assert [step for step, _ in one.reports()] == [1, 2, 3, 4]


def test_a_pause_on_request_acts_at_the_next_step(table: Callable[..., Table]) -> None:
    one = table()
    one.launch()
    report = one.next(Reported)
    one.runner.perform(PauseTrial(study="s", number=0, generation=1, reason="others first"))
    one.answer(report, "continue")
    ended = one.next(Ended)
    assert (ended.outcome, ended.reason) == ("paused", "others first")


def test_a_kill_is_told_as_cancelled(table: Callable[..., Table]) -> None:
    one = table()
    one.launch()
    one.next(Reported)
    one.runner.perform(KillTrial(study="s", number=0, generation=1, reason="no longer wanted"))
    ended = one.next(Ended)
    assert (ended.outcome, ended.reason, ended.failure) == ("cancelled", "no longer wanted", None)


def test_a_time_limit_is_a_failure(table: Callable[..., Table]) -> None:
    one = table()
    one.launch(x=0.9, time_limit_s=0.2)
    ended = one.next(Ended)
    assert (ended.outcome, ended.failure) == ("failed", "TIMEOUT")
    assert "0.2 s" in ended.reason


def test_what_is_said_to_a_past_generation_is_not_heard(table: Callable[..., Table]) -> None:
    one = table()
    one.launch(generation=3)
    report = one.next(Reported)
    one.answer(report, "stop", generation=2)
    one.runner.perform(KillTrial(study="s", number=0, generation=2, reason="late"))
    one.runner.perform(PauseTrial(study="s", number=0, generation=2, reason="late"))
    one.answer(report, "continue")
    assert one.next(Ended).outcome == "completed"


def test_what_is_said_about_unknown_trials_is_not_heard(table: Callable[..., Table]) -> None:
    one = table()
    one.runner.perform(KillTrial(study="s", number=9, generation=1, reason="never was"))
    one.runner.perform(PauseTrial(study="s", number=9, generation=1, reason="never was"))
    one.launch()
    assert one.next(Ended).outcome == "completed"
    assert {getattr(event, "number", 0) for event in one.seen} == {0}


def test_values_are_asked_for_and_answered(table: Callable[..., Table]) -> None:
    one = table(asking=True)
    one.launch(config=None)
    asked = one.next(SuggestionAsked)
    assert (asked.path, asked.domain) == ("x", DOMAIN.to_json())
    one.runner.perform(AnswerSuggestion(study="s", number=0, generation=1, path="x", value=0.5))
    assert one.next(Reported).metrics["score"] == 0.15


def test_nothing_to_say_is_an_empty_list_at_once(table: Callable[..., Table]) -> None:
    one = table()
    assert one.runner.drain() == []
    before = one.runner.now()
    one.launch()
    one.next(Ended)
    assert one.runner.now() >= before


def test_a_forgotten_study_says_nothing_more(table: Callable[..., Table]) -> None:
    one = table()
    one.launch()
    one.next(Ended)
    one.runner.perform(ForgetStudy(study="s"))
    assert one.turn() == []
