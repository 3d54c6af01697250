"""What an agent orders the workers of one trial to do, without any process."""

import time
from collections.abc import Mapping
from typing import Any

from shoal.trial_runner.crew import Crew
from shoal.trial_runner.messages import (
    Ended,
    LaunchTrial,
    Reported,
    Resized,
    ResizeTrial,
    RunnerEvent,
    Slot,
)
from shoal.trial_runner.worker_process import WorkerProcess

LAUNCH = LaunchTrial(
    study="s", number=3, generation=1, config={}, seed=1, metric="score", direction="maximize", slots=(Slot(),),
    max_workers=8, max_shards=8,
)  # fmt: skip
PORT = 5555


class Wire:
    """A channel that keeps what was sent."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, dict[str, Any]]] = []

    def send(self, kind: str, **fields: Any) -> None:
        self.sent.append((kind, fields))

    def last(self, kind: str) -> dict[str, Any]:
        return [fields for sent, fields in self.sent if sent == kind][-1]


class Rooms:
    """Quarters without processes."""

    def __init__(self) -> None:
        self.recruited: list[WorkerProcess] = []
        self.places: list[Mapping[str, Any]] = []
        self.killed: list[int] = []
        self.port: int | None = PORT

    def recruit(self, launch: LaunchTrial, place: Mapping[str, Any]) -> WorkerProcess:
        worker = WorkerProcess(len(self.recruited), Wire())  # type: ignore[arg-type]
        worker.launch = launch
        worker.node = launch.slots[0].node
        self.recruited.append(worker)
        self.places.append(place)
        return worker

    def kill(self, worker: WorkerProcess) -> None:
        self.killed.append(worker.id)

    def hurry(self, worker: WorkerProcess) -> None:
        """They end by themselves."""

    def store_port(self) -> int | None:
        return self.port

    host = ""

    def is_here(self, slot: Slot) -> bool:
        return not slot.node


class Trial:
    """A crew of k workers that have formed their group, and guests on other nodes that have been called."""

    def __init__(self, k: int, port: int | None = PORT, guests: str = "") -> None:
        self.rooms = Rooms()
        self.rooms.port = port
        self.crew = Crew(LAUNCH, (Slot(),) * k + tuple(Slot(node=node) for node in guests), self.rooms)
        self.formation = 0
        if k > 1 and port is not None:
            self.formed(*range(k))

    def wire(self, worker: int) -> Any:
        return self.rooms.recruited[worker].channel

    def says(self, worker: int, kind: str, **fields: Any) -> list[RunnerEvent]:
        return self.crew.hear(self.rooms.recruited[worker], [], [{"kind": kind, **fields}])

    def formed(self, *workers: int) -> list[RunnerEvent]:
        self.formation += 1
        return [e for worker in workers for e in self.says(worker, "formed", formation=self.formation, stall_s=0.1)]

    def dies(self, worker: int, outcome: Any = "failed", failure: str | None = "LOST") -> list[RunnerEvent]:
        ended = Ended(study="s", number=3, generation=1, outcome=outcome, reason="so it ended", failure=failure)
        return self.crew.gone(self.rooms.recruited[worker], ended)

    def resize(self, k: int) -> list[RunnerEvent]:
        return self.crew.resize(ResizeTrial(study="s", number=3, generation=1, resize=9, slots=(Slot(),) * k))


def test_one_worker_is_told_nothing_of_groups() -> None:
    trial = Trial(1)
    assert trial.wire(0).sent == []
    assert [event.outcome for event in trial.dies(0) if isinstance(event, Ended)] == ["failed"]


def test_newcomers_are_ordered_in_once_all_are_ready() -> None:
    trial = Trial(1)
    assert trial.resize(4) == []
    assert [place["rank"] for place in trial.rooms.places] == [0, 1, 2, 3]
    trial.says(1, "ready")
    trial.says(3, "ready")
    assert trial.wire(0).sent == []
    trial.says(2, "ready")
    order = trial.wire(0).last("resize")
    assert (order["rank"], order["world_size"], order["joiners"], order["port"]) == (0, 4, (1, 2, 3), PORT)
    (resized,) = trial.formed(0, 1, 2, 3)
    assert isinstance(resized, Resized) and (resized.resize, resized.ok, len(resized.slots)) == (9, True, 4)


def test_shrinking_leaves_the_last_ranks_out() -> None:
    trial = Trial(4)
    trial.resize(2)
    assert [trial.wire(worker).last("resize")["rank"] for worker in range(4)] == [0, 1, None, None]


def test_the_last_result_comes_from_one_that_has_it() -> None:
    """Of three that are left, the two that are ahead go on first; one behind gets what it missed."""
    trial = Trial(4)
    trial.dies(1)
    for worker, completed in ((0, 7), (2, 8), (3, 7)):
        trial.says(worker, "lost", completed=completed)
    orders = {worker: trial.wire(worker).last("recover") for worker in (0, 2, 3)}
    assert {worker: order["rank"] for worker, order in orders.items()} == {0: 0, 2: 1, 3: None}
    assert (orders[0]["holder"], orders[0]["behind"]) == (1, (0,))
    (resized,) = trial.formed(0, 2)
    assert isinstance(resized, Resized) and (resized.resize, len(resized.slots)) == (0, 2)


def test_a_loss_calls_a_resize_off_and_says_so() -> None:
    trial = Trial(2)
    trial.resize(4)
    trial.says(2, "ready")
    trial.says(3, "ready")  # the order is out: formation 2
    trial.dies(1)
    assert trial.wire(0).last("called_off") == {"formation": 2}
    assert trial.rooms.killed == [2, 3]
    trial.formation = 2
    trial.says(0, "lost", completed=5)
    (resized,) = trial.formed(0)
    assert isinstance(resized, Resized) and (resized.resize, resized.ok, len(resized.slots)) == (9, False, 1)


def test_a_newcomer_that_dies_early_costs_only_the_resize() -> None:
    trial = Trial(1)
    trial.resize(2)
    (resized,) = trial.dies(1, failure="BUG")
    assert isinstance(resized, Resized) and not resized.ok
    assert trial.crew.workers and not trial.crew.is_over


def test_all_lost_is_lost() -> None:
    trial = Trial(2)
    assert trial.dies(0) == []
    (ended,) = trial.dies(1)
    assert isinstance(ended, Ended) and ended.failure == "LOST"


def test_an_error_of_any_worker_ends_the_others() -> None:
    trial = Trial(2)
    assert trial.dies(1, failure="BUG") == []
    assert trial.rooms.killed == [0]
    (ended,) = trial.dies(0)
    assert isinstance(ended, Ended) and ended.failure == "BUG"


def test_a_successor_of_rank_0_repeats_its_reports_and_gets_the_verdict_again() -> None:
    trial = Trial(2)
    report = Reported(study="s", number=3, generation=1, step=4, metrics={}, can_pause=True)
    lead, other = trial.rooms.recruited
    assert trial.crew.hear(lead, [report], []) == [report]
    assert trial.crew.hear(other, [report], []) == []  # only rank 0 speaks
    trial.crew.tell("verdict", step=4, verdict="continue", reason="go on")
    trial.dies(0)
    trial.says(1, "lost", completed=2)
    trial.formed(1)
    said = len(trial.wire(1).sent)
    assert trial.crew.hear(other, [report], []) == []
    assert trial.wire(1).sent[said:] == [("verdict", {"step": 4, "verdict": "continue", "reason": "go on"})]


def test_recovering_again_and_again_without_a_death_is_given_up() -> None:
    trial = Trial(2)
    for round_ in range(4):
        trial.says(0, "lost", completed=round_)
        trial.says(1, "lost", completed=round_)
        trial.formation += 1
    assert sorted(trial.rooms.killed) == [0, 1]


def test_impossible_resizes_are_refused() -> None:
    trial = Trial(2)
    for k, says in ((3, "power of two"), (16, "up to 8")):
        (resized,) = trial.resize(k)
        assert isinstance(resized, Resized) and not resized.ok and says in resized.reason
    trial.resize(4)
    (again,) = trial.resize(8)
    assert isinstance(again, Resized) and "changing already" in again.reason


def test_a_loss_before_there_is_a_store_is_told_with_the_order() -> None:
    """The others wait for that order, and would wait for ever."""
    trial = Trial(2, port=None)
    assert trial.wire(0).sent == []
    trial.dies(1)
    assert trial.wire(0).last("form")["port"] is None
    trial.says(0, "lost", completed=0)
    assert trial.wire(0).last("recover")["world_size"] == 1


def test_who_does_not_form_a_group_that_all_have_come_to_form_is_ended() -> None:
    """Whoever comes first waits as long as a step of the others takes."""
    trial = Trial(2)
    trial.resize(1)
    trial.crew.check(time.monotonic() + 1e4, [])
    assert trial.rooms.killed == []
    trial.says(0, "forming", formation=2)
    trial.crew.check(time.monotonic() + 1.0, [])
    assert trial.rooms.killed == []
    trial.crew.check(time.monotonic() + 1e4, [])
    assert trial.rooms.killed == [0]


def test_one_that_is_waited_for_is_watched_though_it_is_the_last() -> None:
    """It may be stopped: nobody else is left to notice."""
    trial = Trial(2)
    trial.dies(1)
    assert trial.crew.is_several
    trial.says(0, "lost", completed=1)
    trial.formation += 1
    trial.says(0, "formed", formation=2, stall_s=0.1)
    assert not trial.crew.is_several


def with_guests(k: int, guests: str) -> Trial:
    """A trial whose guests have joined those of its own node."""
    trial = Trial(k, guests=guests)
    for guest in range(k, k + len(guests)):
        trial.says(guest, "ready")
    assert trial.formed(*range(k + len(guests))) == [], "it was launched with them"
    return trial


def test_guests_join_those_at_home() -> None:
    trial = with_guests(2, "bc")
    assert [place["arrives"] for place in trial.rooms.places] == [False, False, True, True]
    order = trial.wire(0).last("resize")
    assert (order["nodes"], order["joiners"]) == (["", "", "b", "c"], (2, 3))


def test_guests_that_do_not_come_are_given_back() -> None:
    trial = Trial(1, guests="b")
    (resized,) = trial.dies(1)
    assert isinstance(resized, Resized) and (resized.resize, resized.slots) == (0, (Slot(),))


def test_rank_0_is_at_home_though_a_guest_is_ahead() -> None:
    trial = with_guests(2, "bb")
    trial.dies(0)
    for worker, completed in ((1, 7), (2, 8), (3, 8)):
        trial.says(worker, "lost", completed=completed)
    orders = {worker: trial.wire(worker).last("recover") for worker in (1, 2, 3)}
    assert {worker: order["rank"] for worker, order in orders.items()} == {1: 0, 2: 1, 3: None}
    assert (orders[1]["holder"], orders[1]["behind"]) == (1, (0,))


def test_guests_alone_do_not_go_on() -> None:
    trial = with_guests(1, "b")
    trial.dies(0)
    assert trial.rooms.killed == [1]
    (ended,) = trial.dies(1)
    assert isinstance(ended, Ended) and ended.failure == "LOST"


def test_it_does_not_leave_its_home_by_a_resize() -> None:
    trial = with_guests(1, "b")
    order = ResizeTrial(study="s", number=3, generation=1, resize=9, slots=(Slot(node="b"),))
    (resized,) = trial.crew.resize(order)
    assert isinstance(resized, Resized) and not resized.ok and "own node" in resized.reason


def test_all_are_told_of_a_loss_that_closes_no_connection() -> None:
    trial = with_guests(1, "b")
    trial.dies(1)
    assert trial.wire(0).last("called_off") == {"formation": 1}
