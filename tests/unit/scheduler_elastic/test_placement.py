"""Where workers sit."""

from fractions import Fraction

from shoal.scheduler.placement import Cluster
from shoal.scheduler.port import NodeUp, Request


def cluster(*gpus: int, models: tuple[str, ...] = ()) -> Cluster:
    made = Cluster()
    for i, count in enumerate(gpus):
        ids = tuple(f"n{i}.{g}" for g in range(count))
        model = models[i] if models else "a100"
        made.add(NodeUp(at=0.0, node=f"n{i}", gpus=ids, cpus=8, memory_gib=64.0, device_model=model))
    return made


def request(gpus: object = 1, memory_gib: float | None = None) -> Request:
    return Request(k_min=1, k_max=32, gpus=Fraction(str(gpus)), cpus=0, memory_gib=memory_gib)


def test_t51_ten_of_six_tenths_on_two_nodes_of_eight() -> None:
    """T51: all ten start, each on a GPU of its own."""
    pool = cluster(8, 8)
    slots = [pool.place(request("0.6"), 1) for _ in range(10)]
    assert len({s[0].gpus for s in slots if s}) == 10


def test_t51_t55_ten_tenths_fill_one_gpu() -> None:
    """T51, T55: no share is lost to float sums; what comes back makes the GPU whole again."""
    pool = cluster(1)
    taken = [pool.place(request("0.1"), 1) for _ in range(10)]
    assert all(taken)
    assert pool.place(request("0.1"), 1) is None
    for slots in taken:
        assert slots is not None
        pool.give_back(slots, request("0.1"))
    assert pool.free_gpus == 1


def test_the_fullest_node_is_filled_first() -> None:
    pool = cluster(8, 8)
    first = pool.place(request(), 2)
    second = pool.place(request(), 4)
    assert first and second
    assert {s.node for s in (*first, *second)} == {"n0"}
    whole = pool.place(request(), 8)
    assert whole and {s.node for s in whole} == {"n1"}


def test_blocks_are_aligned_beside_used_ones() -> None:
    pool = cluster(8)
    pool.place(request(), 1)
    pair = pool.place(request(), 2)
    four = pool.place(request(), 4)
    assert pair and [s.gpus for s in pair] == [("n0.2",), ("n0.3",)]
    assert four and [s.gpus for s in four] == [("n0.4",), ("n0.5",), ("n0.6",), ("n0.7",)]


def test_a_trial_stays_in_a_node_that_could_hold_it() -> None:
    pool = cluster(8, 8)
    pool.place(request(), 4)
    assert pool.place(request(), 8) is not None
    assert pool.place(request(), 8) is None, "four here and four there is not what a node-sized trial asks for"


def test_larger_ones_take_the_emptiest_nodes_of_one_model() -> None:
    pool = cluster(8, 8, 8, models=("a100", "t4", "a100"))
    slots = pool.place(request(), 16)
    assert slots and {s.node for s in slots} == {"n0", "n2"}
    assert pool.place(request(), 16) is None


def test_memory_bounds_placement() -> None:
    pool = cluster(8)
    assert pool.place(request(memory_gib=40.0), 1)
    assert pool.place(request(memory_gib=40.0), 1) is None


def test_slots_of_a_lost_node_are_forgotten() -> None:
    pool = cluster(8, 8)
    slots = pool.place(request(), 16)
    assert slots
    pool.remove("n0")
    pool.give_back(slots, request())
    assert pool.free_gpus == 8
    pool.validate([])
