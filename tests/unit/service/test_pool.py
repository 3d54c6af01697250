"""The machine's devices, and what a study asks of them."""

from fractions import Fraction
from pathlib import Path

import pytest

from shoal.errors import PoolError, SpecError
from shoal.search.spec import Resources
from shoal.service.gpu_leases import GpuLeases
from shoal.service.pool import Devices, discover, request_of, visible_gpus

NONE = Devices(gpus=(), gpu_model="", cpus=4, memory_gib=8.0)
TWO = Devices(gpus=("GPU-a", "GPU-b"), gpu_model="A100", cpus=4, memory_gib=8.0)
TABLE = "0, GPU-aa, 40960, NVIDIA A100\n1, GPU-bb, 81920, NVIDIA A100\n2, GPU-cc, [N/A], NVIDIA A100\n"


def test_this_machine_has_something() -> None:
    found = discover()
    assert found.cpus >= 1
    assert found.memory_gib > 0
    assert found.device_model == (found.gpu_model if found.gpus else "cpu")


@pytest.mark.parametrize(
    ("visible", "uuids"),
    [
        (None, ["GPU-aa", "GPU-bb", "GPU-cc"]),
        ("", []),
        ("1,0", ["GPU-bb", "GPU-aa"]),
        ("GPU-cc", ["GPU-cc"]),
        ("0,9,1", ["GPU-aa"]),
        ("-1", []),
    ],
)
def test_cuda_visible_devices_is_honoured(visible: str | None, uuids: list[str]) -> None:
    assert [gpu.uuid for gpu in visible_gpus(TABLE, visible)] == uuids


def test_auto_means_a_gpu_where_there_is_one_and_else_a_cpu() -> None:
    assert request_of(Resources(), TWO).gpus == 1
    assert request_of(Resources(), TWO).cpus == 0
    assert request_of(Resources(), NONE).gpus == 0
    assert request_of(Resources(), NONE).cpus == 1


def test_shares_are_exact() -> None:
    assert request_of(Resources(gpus_per_worker="0.1"), TWO).gpus == Fraction(1, 10)


def test_gpus_without_a_gpu_are_refused_with_a_way_out() -> None:
    with pytest.raises(PoolError, match="logical-gpus"):
        request_of(Resources(gpus_per_worker="1"), NONE)


def test_a_worker_that_takes_nothing_is_refused() -> None:
    with pytest.raises(SpecError, match="all would start at once"):
        request_of(Resources(gpus_per_worker="0", cpus_per_worker="0"), NONE)


def test_two_programs_never_hold_the_same_gpu(tmp_path: Path) -> None:
    with GpuLeases("first", tmp_path) as first, GpuLeases("second", tmp_path) as second:
        assert first.take_free(["GPU-a"]) == ("GPU-a",)
        assert second.take_free(["GPU-a", "GPU-b"]) == ("GPU-b",)


def test_when_all_are_taken_the_holder_is_named(tmp_path: Path) -> None:
    import os

    with GpuLeases("digits", tmp_path) as first, GpuLeases("other", tmp_path) as second:
        first.take_free(["GPU-a", "GPU-b"])
        with pytest.raises(PoolError, match=rf"held by pid {os.getpid()} \(digits\)"):
            second.take_free(["GPU-a", "GPU-b"])


def test_leases_end_with_their_holder(tmp_path: Path) -> None:
    with GpuLeases("first", tmp_path) as first:
        first.take_free(["GPU-a"])
    with GpuLeases("second", tmp_path) as second:
        assert second.take_free(["GPU-a"]) == ("GPU-a",)
        assert second.gpus == ("GPU-a",)


def test_logical_gpus_are_distinct_between_programs(tmp_path: Path) -> None:
    with GpuLeases("first", tmp_path) as first, GpuLeases("second", tmp_path) as second:
        assert first.take_logical(2) == ("logical-0", "logical-1")
        assert second.take_logical(2) == ("logical-2", "logical-3")
        with pytest.raises(PoolError, match="below 1"):
            second.take_logical(0)


def test_memory_of_a_gpu_is_read_where_it_is_told() -> None:
    assert [gpu.memory_gib for gpu in visible_gpus(TABLE, None)] == [40.0, 80.0, 0.0]
