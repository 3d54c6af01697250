"""Trials that are programs."""

import os
import shlex
import sys
from typing import Any

from shoal.spaces import Categorical, Choice, Constant, Float, Space
from shoal.trial_runner.messages import Ended, Reported

PROGRAM = """
import sys, time
for epoch in range(3):
    print(f"epoch={epoch} score={float(sys.argv[1]) + epoch}", flush=True)
"""


def run_command(node: Any, command: str, program: str = PROGRAM, **options: Any) -> Any:
    (node.project / "train.py").write_text(program)
    return node.study("", kind="command", command=f"{shlex.quote(sys.executable)} {command}", **options)


def reports_of(node: Any) -> list[tuple[int, Any]]:
    return [(event.step, event.metrics["score"]) for event in node.seen if isinstance(event, Reported)]


def test_a_program_reports_by_printing(node: Any) -> None:
    run_command(node, "train.py {x}")
    ended = node.run()
    assert (ended.outcome, ended.value) == ("completed", None)
    assert reports_of(node) == [(1, 0.5), (2, 1.5), (3, 2.5)]
    assert "epoch=2 score=2.5" in node.log() and node.log().startswith("$ ")


def test_known_reports_are_not_sent_again(node: Any) -> None:
    run_command(node, "train.py {x}")
    node.launch(generation=2, reported_step=2)
    node.wait_for(Ended)
    assert reports_of(node) == [(3, 2.5)]


def test_values_are_written_as_words_whatever_they_hold(node: Any) -> None:
    space = Space(
        name=Categorical(["two words; touch harm", "$(touch harm)"]),
        kind=Choice(a=Space(depth=Constant(3)), b=None),
        x=Float(0, 1),
    )
    program = "import sys\nprint({'score': 1}, sys.argv[1:])\nprint('score=1', sys.argv[1:])"
    run_command(node, "train.py {name} {kind} {kind.depth} {seed} {trial}", program, space=space.to_json())
    for number, (tag, depth) in enumerate([("a", "3"), ("b", "")]):
        kind = {"a": {"depth": 3}} if tag == "a" else "b"
        config = space.validate({"name": "two words; touch harm", "kind": kind, "x": 0.1})
        node.run(number, config=config.to_json())
        assert str(["two words; touch harm", tag, depth, "7", str(number)]) in node.log(number)
    assert not list(node.folder.rglob("harm"))


def test_a_stop_ends_the_program(node: Any, processes: Any) -> None:
    program = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: (print("bye", flush=True), sys.exit(0)))
print("score=1 pid=%d" % os.getpid(), flush=True)
time.sleep(1000)
"""
    run_command(node, "train.py", program)
    node.launch()
    report = node.wait_for(Reported)
    node.answer(report, "stop", "rung 1: rank 9 of 9")
    ended = node.wait_for(Ended)
    assert (ended.outcome, ended.reason) == ("stopped", "rung 1: rank 9 of 9")
    assert not processes.alive(int(report.metrics["pid"]))


def test_a_program_that_ignores_sigterm_is_killed(node: Any, processes: Any, monkeypatch: Any) -> None:
    program = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("score=1 pid=%d" % os.getpid(), flush=True)
time.sleep(1000)
"""
    run_command(node, "train.py", program)
    node.launch()
    report = node.wait_for(Reported)
    node.answer(report, "stop")
    assert node.wait_for(Ended).outcome == "stopped"
    assert not processes.alive(int(report.metrics["pid"]))


def test_a_failing_program_is_told_by_its_last_error_line(node: Any) -> None:
    run_command(node, "train.py", "raise ValueError('no such data')")
    ended = node.run()
    assert (ended.outcome, ended.failure) == ("failed", "BUG")
    assert ended.reason == "the program ended with exit status 1: ValueError: no such data"
    assert "Traceback" in node.log()


def test_a_program_that_does_not_exist_is_told(node: Any) -> None:
    node.study("", kind="command", command="no-such-program-anywhere {x}")
    assert "not found" in node.run().reason


def test_a_program_runs_in_the_frozen_project(node: Any) -> None:
    run_command(node, "-c 'import os; print(\"score=1\", os.getcwd())'")
    node.run()
    assert f"{os.sep}code{os.sep}" in node.log().splitlines()[-1]


def test_what_a_program_leaves_in_the_background_is_not_waited_for(node: Any, processes: Any) -> None:
    node.study("", kind="command", command="sleep 1000 & echo score=1 pid=$!")
    assert node.run().outcome == "completed"
    (report,) = [event for event in node.seen if isinstance(event, Reported)]
    assert not processes.alive(int(report.metrics["pid"]))
