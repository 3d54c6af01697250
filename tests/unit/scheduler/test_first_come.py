"""The first policy on small pools."""

from fractions import Fraction

from shoal.scheduler.first_come import FirstComePolicy
from shoal.scheduler.port import (
    Action,
    NodeDown,
    NodeUp,
    Refuse,
    Request,
    Start,
    Tick,
    TrialOffered,
    TrialReleased,
    TrialWithdrawn,
)


def node(name: str = "a", gpus: int = 0, cpus: int = 4, memory_gib: float = 64.0) -> NodeUp:
    ids = tuple(f"{name}{i}" for i in range(gpus))
    return NodeUp(at=0.0, node=name, gpus=ids, cpus=cpus, memory_gib=memory_gib)


def request(gpus: object = 0, cpus: int = 0, k: int = 1, memory_gib: float | None = None) -> Request:
    return Request(k_min=k, k_max=k, gpus=Fraction(str(gpus)), cpus=cpus, memory_gib=memory_gib)


def offer(
    number: int, asks: Request, *, at: float = 1.0, generation: int = 1, priority: int = 0, rung: int = 0
) -> TrialOffered:
    return TrialOffered(
        at=at,
        study="s",
        number=number,
        generation=generation,
        request=asks,
        priority=priority,
        rung=rung,
    )


def release(number: int, *, at: float = 2.0, generation: int = 1) -> TrialReleased:
    return TrialReleased(at=at, study="s", number=number, generation=generation)


def started(actions: list[Action]) -> list[int]:
    return [a.number for a in actions if isinstance(a, Start)]


def test_ten_trials_of_a_tenth_fill_one_gpu() -> None:
    policy = FirstComePolicy()
    policy.step(node(gpus=1))
    tenth = request("0.1")
    assert policy.room(tenth) == 10
    assert [started(policy.step(offer(n, tenth))) for n in range(11)] == [[n] for n in range(10)] + [[]]
    assert policy.room(tenth) == 0
    policy.validate_state()


def test_t51_ten_of_six_tenths_on_two_nodes_of_eight() -> None:
    """T51: all ten start, each on a GPU of its own; no share is lost to float sums."""
    policy = FirstComePolicy()
    policy.step(node("a", gpus=8))
    policy.step(node("b", gpus=8))
    starts = [a for n in range(10) for a in policy.step(offer(n, request("0.6")))]
    assert started(starts) == list(range(10))
    assert len({a.workers[0].gpus for a in starts if isinstance(a, Start)}) == 10


def test_t51_t55_four_quarters_share_one_gpu() -> None:
    """T51, T55: four trials of 0.25 run together on the only GPU."""
    policy = FirstComePolicy()
    policy.step(node(gpus=1))
    assert [started(policy.step(offer(n, request("0.25")))) for n in range(5)] == [[0], [1], [2], [3], []]


def test_shares_leave_whole_gpus_free() -> None:
    policy = FirstComePolicy()
    policy.step(node(gpus=2))
    policy.step(offer(0, request("0.5")))
    policy.step(offer(1, request("0.5")))
    assert policy.room(request(1)) == 1


def test_t54_a_gang_larger_than_any_node_is_refused() -> None:
    """T54: twelve slots on hosts of eight never fit, and the reason says so."""
    policy = FirstComePolicy()
    policy.step(node("a", gpus=8))
    policy.step(node("b", gpus=8))
    (refusal,) = policy.step(offer(0, request(1, k=16)))
    assert isinstance(refusal, Refuse)
    assert "never fits because it needs 16 workers of 1 GPU on one node" in refusal.reason
    assert "a has 8 of 8 GPUs" in refusal.reason
    assert policy.waiting() == []


def test_t65_a_request_that_never_fits_moves_nobody() -> None:
    """T65: the high-priority trial is refused; who runs goes on and the line keeps its order."""
    policy = FirstComePolicy()
    policy.step(node(gpus=1))
    policy.step(offer(0, request(1)))
    policy.step(offer(1, request(1)))
    actions = policy.step(offer(2, request(2), priority=9))
    assert [type(a) for a in actions] == [Refuse]
    assert [number for _, number, _ in policy.waiting()] == [1]


def test_t66_a_small_one_backfills_and_the_large_one_is_not_starved() -> None:
    """T66: small trials pass a large one for `patience_s`, then the node is kept until it fits."""
    policy = FirstComePolicy(patience_s=10.0)
    policy.step(node(gpus=2))
    policy.step(offer(0, request(1), at=0.0))
    policy.step(offer(1, request(2), at=0.0))
    assert started(policy.step(offer(2, request(1), at=1.0))) == [2]
    policy.step(offer(3, request(1), at=2.0))
    assert started(policy.step(release(0, at=5.0))) == [3]
    policy.step(offer(4, request(1), at=6.0))
    assert started(policy.step(release(2, at=11.0))) == []
    assert started(policy.step(release(3, at=12.0))) == [1]


def test_an_aged_gang_keeps_one_node_only() -> None:
    policy = FirstComePolicy(patience_s=10.0)
    policy.step(node("a", gpus=2))
    policy.step(node("b", gpus=2))
    for number in range(4):
        policy.step(offer(number, request(1), at=0.0))
    policy.step(offer(9, request(2), at=0.0))
    policy.step(offer(5, request(1), at=20.0))
    assert started(policy.step(release(0, at=21.0))) == []
    assert started(policy.step(release(2, at=22.0))) == [5]
    assert started(policy.step(release(1, at=23.0))) == [9]


def test_order_is_priority_then_rung_then_arrival() -> None:
    policy = FirstComePolicy()
    policy.step(node(gpus=1))
    policy.step(offer(0, request(1)))
    policy.step(offer(1, request(1)))
    policy.step(offer(2, request(1), rung=1))
    policy.step(offer(3, request(1), priority=1))
    order = [number for _, number, _ in policy.waiting()]
    assert order == [3, 2, 1]
    ran = []
    last = 0
    for _ in range(3):
        (last,) = started(policy.step(release(last)))
        ran.append(last)
    assert ran == order


def test_stale_and_duplicate_acknowledgements_change_nothing() -> None:
    policy = FirstComePolicy()
    policy.step(node(gpus=1))
    policy.step(offer(0, request(1), generation=2))
    policy.step(offer(1, request(1)))
    assert policy.step(release(0, generation=1)) == []
    assert policy.step(offer(0, request(1), generation=2)) == []
    assert policy.step(offer(0, request(1), generation=1)) == []
    assert policy.step(node(gpus=1)) == []
    assert started(policy.step(release(0, generation=2))) == [1]
    assert policy.step(release(0, generation=2)) == []
    assert policy.step(offer(0, request(1), generation=2)) == []
    policy.validate_state()


def test_a_trial_offered_again_before_its_release_starts_after_it() -> None:
    policy = FirstComePolicy()
    policy.step(node(gpus=2))
    policy.step(offer(0, request(1)))
    assert policy.step(offer(0, request(1), generation=2, rung=1)) == []
    policy.validate_state()
    assert started(policy.step(offer(1, request(1)))) == [1]
    assert started(policy.step(release(0, generation=1))) == [0]
    policy.validate_state()


def test_a_withdrawn_trial_does_not_start() -> None:
    policy = FirstComePolicy()
    policy.step(node(gpus=1))
    policy.step(offer(0, request(1)))
    policy.step(offer(1, request(1)))
    policy.step(TrialWithdrawn(at=1.5, study="s", number=1))
    assert policy.step(release(0)) == []
    assert policy.waiting() == []


def test_cpus_and_memory_bind_too() -> None:
    policy = FirstComePolicy()
    policy.step(node(cpus=4, memory_gib=2.0))
    assert policy.room(request(cpus=1)) == 4
    assert policy.room(request(cpus=1, memory_gib=0.75)) == 2
    assert started(policy.step(offer(0, request(cpus=3, memory_gib=0.5)))) == [0]
    assert policy.step(offer(1, request(cpus=2))) == []
    ((_, _, why),) = policy.waiting()
    assert why == "number 1 in line; needs 2 CPUs; a has 1 of 4 CPUs free"


def test_a_node_that_left_is_not_used_and_its_late_release_frees_nothing() -> None:
    policy = FirstComePolicy()
    policy.step(node(gpus=1))
    policy.step(offer(0, request(1)))
    policy.step(NodeDown(at=2.0, node="a"))
    policy.step(offer(1, request(1), at=3.0))
    assert "no node is up" in policy.waiting()[0][2]
    assert started(policy.step(node(gpus=1))) == [1]
    policy.step(release(0, at=5.0))
    policy.validate_state()
    assert policy.room(request(1)) == 0


def test_a_tick_lets_an_aged_trial_keep_a_node() -> None:
    policy = FirstComePolicy(patience_s=10.0)
    policy.step(node(gpus=2))
    policy.step(offer(0, request(1), at=0.0))
    policy.step(offer(1, request(2), at=0.0))
    assert policy.step(Tick(at=11.0)) == []
    assert started(policy.step(offer(2, request(1), at=12.0))) == []


def test_fractions_above_one_are_refused() -> None:
    policy = FirstComePolicy()
    policy.step(node(gpus=4))
    (refusal,) = policy.step(offer(0, request("1.5")))
    assert "takes whole GPUs only" in refusal.reason
