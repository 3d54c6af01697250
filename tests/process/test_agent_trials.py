"""Trials of every kind in real processes: how they start, what they say, how they end."""

import json
import math
import os
from typing import Any

import cloudpickle
import pytest

from shoal.trial_runner.archive import pack_pickled
from shoal.trial_runner.messages import (
    AnswerReport,
    AnswerSuggestion,
    Ended,
    Prepared,
    PrepareStudy,
    Reported,
    Slot,
    Started,
    SuggestionAsked,
)


def test_an_objective_returns_its_value(node: Any) -> None:
    assert node.study("def f(config):\n    print('x is', config.x)\n    return 2 * config.x").note == "fork server"
    ended = node.run()
    assert (ended.outcome, ended.value, ended.failure) == ("completed", 1.0, None)
    assert [type(event) for event in node.seen] == [Prepared, Started, Ended]
    assert node.log() == "x is 0.5\n"
    assert ended.phases_s.keys() >= {"start", "user"}


def test_a_dict_of_metrics_is_a_report_and_a_value(node: Any) -> None:
    node.study("def f(config):\n    return {'score': 0.25, 'size': 3}")
    assert node.run().value == 0.25
    reports = [event for event in node.seen if isinstance(event, Reported)]
    assert [(report.step, report.metrics) for report in reports] == [(1, {"score": 0.25, "size": 3.0})]


TRAIN = """
def f(trial):
    for epoch in trial.epochs(3):
        trial.save({"epoch": epoch})
        trial.report(score=epoch / 10)
"""


def test_a_trial_reports_and_is_answered(node: Any) -> None:
    node.study(TRAIN, kind="trial")
    assert node.run().outcome == "completed"
    reports = [event for event in node.seen if isinstance(event, Reported)]
    assert [(report.step, report.metrics["score"], report.can_pause) for report in reports] == [
        (1, 0.0, True), (2, 0.1, True), (3, 0.2, True),
    ]


def test_a_paused_trial_goes_on_where_it_left_off(node: Any) -> None:
    node.study(TRAIN, kind="trial")
    node.launch()
    node.answer(node.wait_for(Reported), "pause", "rung 1: rank 2 of 3")
    ended = node.wait_for(Ended)
    assert (ended.outcome, ended.reason) == ("paused", "rung 1: rank 2 of 3")
    node.launch(generation=2, reported_step=1)
    assert node.wait_for(Reported).step == 2


def test_a_stop_is_obeyed_at_the_next_epoch(node: Any) -> None:
    node.study(TRAIN, kind="trial")
    node.launch()
    node.answer(node.wait_for(Reported), "stop", "rung 1: rank 3 of 3")
    assert node.wait_for(Ended).outcome == "stopped"


def test_answers_to_a_past_generation_are_dropped(node: Any) -> None:
    node.study(TRAIN, kind="trial")
    node.launch(generation=2)
    report = node.wait_for(Reported)
    node.agent.perform(
        AnswerReport(study="s", number=0, generation=1, step=1, verdict="stop", reason="of an earlier life")
    )
    node.answer(report, "continue")
    assert node.wait_for(Ended).outcome == "completed"


def test_an_optuna_objective_asks_for_its_values(node: Any) -> None:
    source = """
import optuna

def f(trial):
    x = trial.suggest_float("x", 0.0, 2.0)
    if x > 1:
        raise optuna.TrialPruned("too large")
    return x
"""
    node.study(source, kind="optuna", space=None)
    for number, answer, outcome in ((0, 0.75, "completed"), (1, 1.5, "stopped")):
        node.launch(number, config=None)
        asked = node.wait_for(SuggestionAsked)
        node.agent.perform(AnswerSuggestion(study="s", number=number, generation=1, path=asked.path, value=answer))
        ended = node.wait_for(Ended)
        assert (asked.path, ended.outcome) == ("x", outcome)


def test_a_pickled_function_runs(node: Any) -> None:
    factor = 3
    code = pack_pickled(cloudpickle.dumps(lambda config: factor * config.x), node.folder / "data" / "code")
    from shoal.spaces import Float, Space

    node.agent.perform(
        PrepareStudy(
            study="s", entry={"kind": "objective", "module": code.module, "function": "<lambda>", "command": ""},
            space=Space(x=Float(0, 1)).to_json(), code=code.sha, archive=code.path, study_dir=node.study_dir,
        )
    )
    assert node.wait_for(Prepared).ok
    assert node.run().value == 1.5


@pytest.mark.parametrize(
    ("body", "failure", "says"),
    [
        ("raise ValueError('lr is\\n0')", "BUG", "ValueError: lr is 0 (user_code.py:3)"),
        ("return None", "BUG", "returned None (NoneType), not a number"),
        ("return '0.5'", "BUG", "returned '0.5' (str), not a number"),
        ("return 0.5, 1", "BUG", "returned (0.5, 1) (tuple), not a number"),
        ("return {'loss': 1}", "BUG", "a dict without 'score'; it has 'loss'"),
        ("raise MemoryError", "OOM", "MemoryError"),
        ("raise RuntimeError('CUDA out of memory. Tried ...')", "OOM", "CUDA out of memory"),
        ("raise SystemExit(3)", "BUG", "SystemExit: 3"),
        ("raise KeyboardInterrupt", "BUG", "KeyboardInterrupt"),
        ("os._exit(3)", "BUG", "exit status 3"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "LOST", "killed by SIGKILL"),
        ("os.abort()", "LOST", "killed by SIGABRT"),
    ],
)
def test_every_bad_end_has_its_kind_and_its_line(node: Any, body: str, failure: str, says: str) -> None:
    """T29: a result that is no number fails the trial and names its type."""
    node.study(f"import os, signal\ndef f(config):\n    {body}")
    ended = node.run()
    assert (ended.outcome, ended.failure) == ("failed", failure)
    assert says in ended.reason
    assert node.run(1).outcome == "failed"  # and the node goes on


def test_the_traceback_is_in_the_trials_own_log(node: Any) -> None:
    node.study("def f(config):\n    raise ValueError('here')")
    node.run()
    assert "Traceback" in node.log() and "user_code.py" in node.log()


@pytest.mark.parametrize(
    "message",
    [
        {"kind": "report"},
        {"kind": "report", "step": 1, "metrics": {"score": [math.nan]}, "can_pause": False},
        {"kind": "suggest", "path": "x", "domain": {"low": math.nan}},
        {"kind": "ended", "outcome": "completed", "message": "", "value": [[1.0]], "failure": None, "phases_s": {}},
    ],
    ids=["incomplete", "metrics", "domain", "value"],
)
def test_a_worker_that_sends_nonsense_is_ended(node: Any, message: dict[str, Any]) -> None:
    """Nothing that the journal could not keep gets past the node."""
    node.study(
        f"import os, time\nline = {json.dumps(message).encode()!r} + bytes([10])\ndef f(config):\n"
        "    for fd in range(3, 30):\n"
        "        try: os.write(fd, line)\n"
        "        except OSError: pass\n"
        "    time.sleep(1000)"
    )
    assert "no message" in node.run().reason


def test_code_that_cannot_be_imported_is_told_once_and_starts_nothing(node: Any) -> None:
    prepared = node.study("import does_not_exist_anywhere\ndef f(config): return 1")
    assert not prepared.ok
    assert "No module named 'does_not_exist_anywhere'" in prepared.note and "user_code.py:1" in prepared.note
    assert "Traceback" in (node.study_dir / "code.log").read_text()
    assert node.run().failure == "LOST"  # not the trial's own fault: it can start when the code is mended


def test_a_function_that_workers_do_not_see_is_named(node: Any) -> None:
    node.study("def g(config): return 1", function="f")
    assert "has no function 'f'" in node.run().reason


def test_a_worker_is_set_up_as_the_slot_and_the_seed_say(node: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """T81: tokens and addresses with passwords do not reach user code."""
    monkeypatch.setenv("MY_TOKEN", "secret-1")
    monkeypatch.setenv("DB", "postgresql://me:secret-2@host/db")
    node.study(
        "import json, os, random, numpy\n"
        "def f(config):\n"
        "    drawn = random.random(), numpy.random.rand()\n"
        "    print(json.dumps([dict(os.environ), *drawn, os.getpgid(0) == os.getpid()]))\n"
        "    return 1",
        threads_per_worker=2,
    )
    import json

    for number in (0, 1):
        node.run(number, slots=(Slot(gpus=("logical-3",)),))
    node.run(2, seed=8, slots=(Slot(gpus=("GPU-abc", "GPU-def")),))
    first, second, third = (json.loads(node.log(number)) for number in (0, 1, 2))
    environment = first[0]
    assert "secret" not in node.log(0)
    assert environment["CUDA_VISIBLE_DEVICES"] == "" and environment["SHOAL_GPUS"] == "logical-3"
    assert environment["OMP_NUM_THREADS"] == "2" and environment["SHOAL_TRIAL"] == "0"
    assert third[0]["CUDA_VISIBLE_DEVICES"] == "GPU-abc,GPU-def"
    assert first[1:] == second[1:] != third[1:]
    assert first[3] is True
    assert "MY_TOKEN" in (node.study_dir / "code.log").read_text()
    assert os.environ["MY_TOKEN"] == "secret-1"


def test_a_trial_that_prints_without_end_keeps_a_small_log(node: Any) -> None:
    node.study("def f(config):\n    for _ in range(400):\n        print('x' * 100_000)\n    return 1")
    node.run()
    pieces = list((node.study_dir / "trials" / "0000").glob("log.txt*"))
    assert sum(piece.stat().st_size for piece in pieces) < 33 << 20
    assert "not kept" in (node.study_dir / "trials" / "0000" / "log.txt.1").read_text()[:200]


REUSED = """
import os, subprocess
def f(config):
    print(os.getpid(), flush=True)
    if config.x > 0.75:
        raise ValueError("too large")
    if config.x < 0.25:
        subprocess.Popen(["sleep", "1000"])
    return config.x
"""


def test_a_reused_worker_takes_trial_after_trial(node: Any) -> None:
    node.study(REUSED, reuse_workers=True)
    assert [node.run(number).outcome for number in range(4)] == ["completed"] * 4
    assert len({node.log(number) for number in range(4)}) <= 2  # the standby one and its successor


@pytest.mark.parametrize("x", [0.9, 0.1])
def test_a_failed_or_littering_trial_recycles_the_process(node: Any, processes: Any, x: float) -> None:
    node.study(REUSED, reuse_workers=True, standby=1)
    node.run(0, config={"x": x})
    pid = int(node.log(0).split()[0])
    assert not processes.alive(pid)
    assert node.run(1).outcome == "completed"
    assert int(node.log(1)) != pid
