"""Virtual time: order, verdicts, pauses, kills."""

from pathlib import Path
from typing import Any

from shoal.trial_runner.messages import (
    AnswerReport,
    Ended,
    KillTrial,
    LaunchTrial,
    PauseTrial,
    Prepared,
    PrepareStudy,
    Reported,
    Slot,
    Started,
)
from shoal.trial_runner.simulated import SimulatedRunner


def model(number: int, config: Any, seed: int, step: int) -> Any:
    return (float(number + 1), {"score": step}) if step <= 3 else None


def launch(number: int, generation: int = 1, reported_step: int = 0) -> LaunchTrial:
    return LaunchTrial(
        study="s",
        number=number,
        generation=generation,
        config={},
        seed=0,
        metric="score",
        direction="maximize",
        slots=(Slot(),),
        max_workers=1,
        max_shards=1,
        reported_step=reported_step,
    )


def answer(report: Reported, verdict: Any = "continue") -> AnswerReport:
    return AnswerReport(
        study="s", number=report.number, generation=report.generation, step=report.step, verdict=verdict, reason="r"
    )


def play(runner: SimulatedRunner, verdict: Any = "continue") -> list[tuple[float, str, int]]:
    """Answer every report; (time, kind, trial) of all events."""
    log = []
    while events := runner.drain():
        for event in events:
            log.append((runner.now(), type(event).__name__, getattr(event, "number", -1)))
            if isinstance(event, Reported):
                runner.perform(answer(event, verdict))
    return log


def test_events_come_in_the_order_of_time() -> None:
    runner = SimulatedRunner(model, start_s=0.5)
    runner.perform(launch(0))
    runner.perform(launch(1))
    log = play(runner)
    assert [at for at, _, _ in log] == sorted(at for at, _, _ in log)
    assert [(at, n) for at, kind, n in log if kind == "Ended"] == [(3.5, 0), (6.5, 1)]


def test_a_trial_waits_for_its_verdict() -> None:
    runner = SimulatedRunner(model)
    runner.perform(launch(0))
    assert isinstance(runner.drain()[0], Started)
    (report,) = runner.drain()
    assert runner.drain() == []
    assert isinstance(report, Reported)
    runner.perform(answer(report))
    runner.perform(answer(report))  # a repeated answer changes nothing
    (second,) = runner.drain()
    assert isinstance(second, Reported) and second.step == 2


def test_stop_and_pause_are_obeyed() -> None:
    for verdict, outcome in (("stop", "stopped"), ("pause", "paused")):
        runner = SimulatedRunner(model)
        runner.perform(launch(0))
        runner.drain()
        (report,) = runner.drain()
        assert isinstance(report, Reported)
        runner.perform(answer(report, verdict))
        (ended,) = runner.drain()
        assert isinstance(ended, Ended) and ended.outcome == outcome


def test_a_resumed_trial_goes_on_behind_its_last_report() -> None:
    runner = SimulatedRunner(model)
    runner.perform(launch(0, generation=2, reported_step=2))
    runner.drain()
    (report,) = runner.drain()
    assert isinstance(report, Reported) and report.step == 3


def test_a_requested_pause_waits_for_the_boundary() -> None:
    runner = SimulatedRunner(model)
    runner.perform(launch(0))
    runner.drain()
    runner.perform(PauseTrial(study="s", number=0, generation=1, reason="make room"))
    (report,) = runner.drain()
    assert isinstance(report, Reported)
    runner.perform(answer(report))
    (ended,) = runner.drain()
    assert isinstance(ended, Ended) and (ended.outcome, ended.reason) == ("paused", "make room")


def test_a_kill_is_at_once_and_stale_messages_are_ignored() -> None:
    runner = SimulatedRunner(model)
    runner.perform(launch(0, generation=2))
    runner.drain()
    runner.perform(KillTrial(study="s", number=0, generation=1, reason="old"))
    runner.perform(KillTrial(study="s", number=0, generation=2, reason="now"))
    (ended,) = runner.drain()
    assert isinstance(ended, Ended) and (ended.outcome, ended.reason) == ("cancelled", "now")
    assert runner.now() == 0.0
    assert runner.drain() == []


def test_prepare_and_close() -> None:
    runner = SimulatedRunner(model)
    runner.perform(PrepareStudy(study="s", entry={}, space=None, code="", archive=None, study_dir=Path()))
    assert runner.next_due_s() == 0.0
    assert isinstance(runner.drain()[0], Prepared)
    runner.perform(launch(0))
    runner.close()
    assert runner.drain() == []
    assert runner.next_due_s() is None
    assert runner.waitables() == ()
