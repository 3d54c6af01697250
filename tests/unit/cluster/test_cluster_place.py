"""What a trial may ask of a cluster, and whose pool it is."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from shoal.errors import PoolError, SpecError
from shoal.scheduler.port import Request
from shoal.service.cluster_place import RayPlace, _pool_id
from shoal.service.places import ThisMachine
from shoal.service.running import place_of
from shoal.trial_runner.cluster.ports import NodeFacts


def place(tmp_path: Path, *gpus: int, cpus: int = 8) -> RayPlace:
    made = RayPlace("nowhere:1", tmp_path)
    made._facts = [
        NodeFacts(
            node=str(count), gpus=tuple(f"{count}-{n}" for n in range(count)), cpus=cpus, memory_gib=8.0,
            device_model="x",
        )
        for count in gpus
    ]
    return made


def request(k_min: int, k_max: int, gpus: Any = 1, cpus: int = 0) -> Request:
    return Request(k_min=k_min, k_max=k_max, gpus=Fraction(gpus), cpus=cpus)


@pytest.mark.parametrize(
    ("wanted", "nodes", "k_max"),
    [
        (request(1, 8), (4, 2), 4),
        (request(1, 8), (6,), 4),
        (request(1, 2), (4,), 2),
        (request(1, 8, gpus=2), (4,), 2),
        (request(1, 8, gpus="1/4"), (1,), 4),
        (request(1, 16, gpus=0, cpus=2), (0,), 4),
        (request(1, 16, gpus=1, cpus=4), (8,), 2),
    ],
)
def test_a_trial_asks_for_no_more_than_the_largest_node_has(
    tmp_path: Path, wanted: Request, nodes: tuple[int, ...], k_max: int
) -> None:
    assert place(tmp_path, *nodes).limited(wanted, "s", spans=False).k_max == k_max


def test_over_several_nodes_it_may_ask_for_what_they_have_together(tmp_path: Path) -> None:
    wanted = request(8, 64)
    assert place(tmp_path, 4, 2, 2).limited(wanted, "s", spans=True) == wanted
    with pytest.raises(PoolError, match="8 workers of 1 GPU on nodes of one device model"):
        place(tmp_path, 4, 2).limited(wanted, "s", spans=True)


def test_what_fits_no_node_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(PoolError, match="8 workers of 1 GPU on one node"):
        place(tmp_path, 4, 4).limited(request(8, 8), "s", spans=False)
    with pytest.raises(PoolError, match="no node has that much"):
        place(tmp_path, 2).limited(request(1, 1, gpus=3), "s", spans=False)


def test_the_devices_are_those_of_all_nodes(tmp_path: Path) -> None:
    devices = place(tmp_path, 4, 2).devices
    assert (len(devices.gpus), devices.cpus, devices.device_model) == (6, 8, "x")


def test_a_pool_keeps_its_name_on_whatever_machine_it_is_opened(tmp_path: Path) -> None:
    first = _pool_id(tmp_path / "data")
    assert len(first) == 32
    assert _pool_id(tmp_path / "data") == first
    assert _pool_id(tmp_path / "other") != first


def test_where_studies_run(tmp_path: Path) -> None:
    assert isinstance(place_of([], tmp_path), ThisMachine)
    assert isinstance(place_of([], tmp_path, ray="head:6379"), RayPlace)
    with pytest.raises(SpecError, match="goes with a cluster"):
        place_of([], tmp_path, store="s3://bucket")
    with pytest.raises(SpecError, match="its nodes say what they have"):
        place_of([], tmp_path, ray="head:6379", logical_gpus=2)
