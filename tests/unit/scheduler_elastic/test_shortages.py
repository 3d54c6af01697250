"""Studies that are owed devices and find no place for them."""

from shoal.scheduler.port import Ladder, Pause, StudyAdded, StudyEnded, Tick
from shoal.service.http.share_preview import shares_of
from shoal.tests.unit.scheduler_elastic.policy_head import Head, one

FAST = (1.0, 2.0, 3.9)


def minutes(head: Head, count: int) -> None:
    for _ in range(6 * count):
        head.wait(10.0)


def test_growth_that_is_owed_takes_back_what_others_borrowed_beside_it() -> None:
    head = Head(4, 4)
    for number in range(8):
        head.offer("wide", number, epoch_s=600.0)
    head.offer("tail", 1, request=one(k_max=4), epoch_s=6000.0, speedups=FAST)
    assert head.running["tail", 1] == 1
    minutes(head, 5)
    assert head.running["tail", 1] == 4
    assert sum(workers for (study, _), workers in head.running.items() if study == "wide") == 4
    why = [action.reason for action in head.log if isinstance(action, Pause)]
    assert any("makes room on n" in reason and "tail is owed 4" in reason for reason in why), why


def test_who_is_within_its_share_moves_to_where_devices_are_free() -> None:
    head = Head(4, 4)
    for study, count in (("before", 2), ("moves", 2), ("leaves", 4)):
        for number in range(1, count + 1):
            head.offer(study, number, epoch_s=600.0)
    head.release("before", 1)
    head.release("before", 2)
    head.offer("grows", 1, request=one(k_max=4, k_min=2), epoch_s=6000.0, speedups=FAST)
    assert head.nodes("grows", 1) == head.nodes("moves", 1) == head.nodes("moves", 2) == {"n0"}
    head.release("leaves", 1)
    head.release("leaves", 2)
    assert head.running["grows", 1] == 2
    minutes(head, 3)
    assert head.running["grows", 1] == 4
    assert head.nodes("moves", 1) == head.nodes("moves", 2) == {"n1"}


def test_nobody_is_asked_for_what_another_has_no_use_for() -> None:
    """A borrower keeps its devices as long as no other study is blocked, whatever its share."""
    head = Head(4)
    for number in range(4):
        head.offer("wide", number, epoch_s=600.0)
    head.send(StudyAdded(at=0.0, study="idle", weight=9.0))
    minutes(head, 3)
    assert len(head.running) == 4
    assert not head.paused


def test_cpus_that_a_study_leaves_over_go_to_another() -> None:
    head = Head(0, cpus=4)
    for number in range(4):
        head.offer("wide", number, request=one(gpus=0, cpus=1))
    head.offer("narrow", 1, request=one(gpus=0, cpus=1))
    assert sorted(head.running) == [("narrow", 1), ("wide", 0), ("wide", 1), ("wide", 2)]
    head.release("narrow", 1)
    head.send(Tick(at=head.at))
    assert sorted(head.running) == [("wide", number) for number in range(4)]


def test_the_preview_of_shares_is_what_the_policy_deals() -> None:
    head = Head(4)
    for name, priority, weight in (("a", 0, 1.0), ("b", 1, 1.0), ("c", 0, 3.0)):
        head.send(StudyAdded(at=0.0, study=name, priority=priority, weight=weight))
        for number in range(3):
            head.offer(name, number, priority=priority)
    rows = head.policy.shares(head.at)
    dealt = {row.study: row.owed for row in rows}
    picture = [{"study": r.study, "priority": r.priority, "weight": r.weight, "wanted": r.wanted} for r in rows]
    assert shares_of(4, picture) == dealt == {"a": 1, "b": 2, "c": 1}


def test_who_lacks_processors_does_not_ask_for_gpus_over_and_over() -> None:
    """Two studies, 16 GPUs, 64 CPUs, of which one's trials need eight each: it gets near its part and nobody churns."""
    head = Head(8, 8, cpus=32)
    for number in range(40):
        head.offer("light", number, request=one(cpus=1))
        head.offer("heavy", number, request=one(cpus=8))
    minutes(head, 5)
    running = {study: sum(1 for name, _ in head.running if name == study) for study in ("light", "heavy")}
    assert running["heavy"] >= 6
    assert running["light"] >= 8
    before = len(head.log)
    minutes(head, 5)
    assert len(head.log) - before < 20


def test_a_trial_without_a_place_does_not_hold_back_its_study() -> None:
    """A gang for which no node is free enough waits; the trials behind it run."""
    head = Head(2, 2)
    head.offer("s", 0, can_pause=False)
    head.offer("s", 1, can_pause=False)
    head.offer("s", 2, can_pause=False)
    head.release("s", 1)
    assert {len(head.nodes("s", number)) for number in (0, 2)} == {1}
    head.offer("s", 3, request=one(k_min=4, k_max=4))
    head.offer("s", 4)
    head.offer("s", 5)
    assert sorted(number for _, number in head.running) == [0, 2, 4, 5]


def test_doubtful_trials_do_not_take_turns_with_growth_that_has_no_place() -> None:
    """What nobody else can use goes to them, and stays with them."""
    head = Head(2, 2)
    ladder = Ladder(milestones=(1, 3, 9), eta=3, planned=12, lower_is_better=True)
    head.send(StudyAdded(at=0.0, study="s", ladders=(ladder,)))
    for number in range(12):
        head.offer("s", number, request=one(k_max=4), epoch_s=60.0, speedups=FAST)
    for number in range(11):
        head.at += 60.0
        if ("s", number) in head.running:
            head.report("s", number, 0, 0.1 * number)
    before = len(head.log)
    minutes(head, 10)
    assert len(head.log) - before < 12


def test_a_gang_that_needs_a_node_moves_a_grown_borrower_off_it() -> None:
    """The borrower could shrink, which is not enough; so it is paused."""
    head = Head(4, 4)
    for number in (1, 2):
        head.offer("grown", number, request=one(k_max=4), epoch_s=6000.0, speedups=FAST)
    assert sorted(head.running.values()) == [4, 4]
    head.offer("gang", 1, request=one(k_min=4, k_max=4))
    minutes(head, 3)
    assert head.running["gang", 1] == 4
    assert sum(workers for (study, _), workers in head.running.items() if study == "grown") == 4


def test_a_study_of_shares_of_a_gpu_gets_what_it_is_owed() -> None:
    head = Head(4)
    for number in range(8):
        head.offer("whole", number)
    head.offer("part", 1, request=one(gpus="0.5"))
    assert ("part", 1) in head.running
    assert len(head.running) == 4


def test_a_name_that_is_used_again_is_another_study() -> None:
    head = Head(4)
    head.offer("blocks", 1, can_pause=False)
    head.offer("s", 1, request=one(k_min=4, k_max=4))
    minutes(head, 2)
    head.send(StudyEnded(at=head.at, study="s"))
    head.policy.forget("s")
    head.generations.clear()
    head.offer("s", 1)
    head.offer("s", 2)
    minutes(head, 2)
    assert {key for key in head.running if key[0] == "s"} == {("s", 1), ("s", 2)}
