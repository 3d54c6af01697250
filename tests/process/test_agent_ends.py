"""Ending trials early: nothing they started outlives them."""

from typing import Any

import pytest

from shoal.trial_runner.messages import (
    Ended,
    ForgetStudy,
    KillTrial,
    LaunchTrial,
    Prepared,
    PrepareStudy,
    Slot,
)

FAMILY = """
import os, subprocess, sys, time
def f(config):
    in_group = subprocess.Popen(["sleep", "1000"])
    own_session = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    forked = os.fork()
    if forked == 0:
        time.sleep(1000)
    print(os.getpid(), in_group.pid, own_session.pid, forked, flush=True)
    if config.x < 0.5:
        return 1
    time.sleep(1000)
"""


def family_of(node: Any, number: int = 0) -> list[int]:
    return [int(pid) for pid in node.said(number).split()]


def test_a_killed_trial_takes_everything_with_it(node: Any, processes: Any) -> None:
    node.study(FAMILY)
    node.launch()
    pids = family_of(node)
    assert all(processes.alive(pid) for pid in pids) and len(pids) == 4
    node.agent.perform(KillTrial(study="s", number=0, generation=1, reason="asked by the test"))
    ended = node.wait_for(Ended)
    assert (ended.outcome, ended.reason, ended.failure) == ("cancelled", "asked by the test", None)
    assert not any(processes.alive(pid) for pid in pids)


def test_what_a_trial_leaves_behind_is_gone_before_its_end_is_told(node: Any, processes: Any) -> None:
    """T53: ten trials in a row, no leaked child."""
    node.study(FAMILY)
    for number in range(10):
        assert node.run(number, config={"x": 0.1}).outcome == "completed"
        assert not any(processes.alive(pid) for pid in family_of(node, number))


def test_a_time_limit_kills_the_whole_group(node: Any, processes: Any) -> None:
    node.study(FAMILY)
    ended = node.run(time_limit_s=0.5)
    assert (ended.outcome, ended.failure) == ("failed", "TIMEOUT")
    assert "0.5 s" in ended.reason and ended.phases_s["user"] >= 0.5
    assert not any(processes.alive(pid) for pid in family_of(node))


def test_a_trial_within_its_time_limit_is_left_alone(node: Any) -> None:
    node.study("def f(config):\n    return 1")
    assert node.run(time_limit_s=30.0).outcome == "completed"


def test_a_trial_can_be_killed_before_its_worker_is_forked(node: Any) -> None:
    node.study("import time\ndef f(config):\n    time.sleep(1000)", standby=0)
    node.launch()
    node.agent.perform(KillTrial(study="s", number=0, generation=1, reason="at once"))
    assert node.wait_for(Ended).outcome == "cancelled"


def test_killing_a_past_generation_does_nothing(node: Any) -> None:
    node.study("import time\ndef f(config):\n    time.sleep(0.2)\n    return 1")
    node.launch(generation=2)
    node.agent.perform(KillTrial(study="s", number=0, generation=1, reason="late"))
    assert node.wait_for(Ended).outcome == "completed"


def test_a_stopped_neighbour_does_not_touch_programs_of_others(node: Any, processes: Any) -> None:
    node.study(
        "import os, subprocess, time\n"
        "def f(config):\n"
        "    if config.x < 0.5: return 1\n"
        "    shell = subprocess.run('sleep 1000 >/dev/null & echo $!', shell=True, stdout=subprocess.PIPE)\n"
        "    print(int(shell.stdout), flush=True)\n"
        "    time.sleep(1000)"
    )
    node.launch(0)
    orphan = int(node.said(0))
    for number in range(1, 4):
        node.run(number, config={"x": 0.1})
    assert processes.alive(orphan)
    node.agent.perform(KillTrial(study="s", number=0, generation=1, reason="done"))
    node.wait_for(Ended)
    assert not processes.alive(orphan)


def test_forgetting_a_study_ends_its_server_and_workers(node: Any, processes: Any) -> None:
    node.study(FAMILY)
    node.launch()
    pids = family_of(node)
    node.agent.perform(ForgetStudy(study="s"))
    processes.wait_until(lambda: not any(processes.alive(pid) for pid in pids), 2.0)

    def forgotten() -> bool:
        node.agent.drain()
        return not list((node.folder / "data" / "processes").iterdir())

    processes.wait_until(forgotten)


def test_closing_leaves_nothing_and_no_record(node: Any, processes: Any) -> None:
    node.study(FAMILY)
    node.launch()
    node.pid_of(0)
    pids = family_of(node)
    node.turn()
    assert len(list((node.folder / "data" / "processes").iterdir())) == 3  # the server, the worker, its successor
    node.agent.close()
    assert not any(processes.alive(pid) for pid in pids)
    assert list((node.folder / "data" / "processes").iterdir()) == []


def test_a_launch_for_a_study_that_was_never_prepared_is_our_bug(node: Any) -> None:
    launch = LaunchTrial(
        study="other", number=0, generation=1, config={}, seed=0, metric="m", direction="maximize", slots=(Slot(),),
        max_workers=1, max_shards=1,
    )
    with pytest.raises(KeyError):
        node.agent.perform(launch)


def test_a_folder_that_cannot_be_made_loses_the_trial_and_not_the_node(node: Any) -> None:
    node.study("def f(config):\n    return 1")
    (node.study_dir / "trials").write_text("a file where a folder should be")
    ended = node.run()
    assert ended.failure == "LOST" and "folder cannot be made" in ended.reason
    (node.study_dir / "trials").unlink()
    assert node.run(1).outcome == "completed"


def test_a_study_whose_code_cannot_be_unpacked_is_told_so(node: Any) -> None:
    (node.folder / "data" / "code").mkdir(parents=True)
    (node.folder / "data" / "code" / "damaged.tar.gz").write_text("not an archive")
    node.agent.perform(
        PrepareStudy(
            study="s", entry={"kind": "objective", "module": "m", "function": "f", "command": ""}, space=None,
            code="damaged", archive=node.folder / "data" / "code" / "damaged.tar.gz", study_dir=node.study_dir,
        )
    )
    prepared = node.wait_for(Prepared)
    assert not prepared.ok and "is damaged" in prepared.note
    assert "is damaged" in node.run().reason
