"""Addresses at which no cluster is."""

from pathlib import Path

import pytest

from shoal.errors import PoolError
from shoal.service.cluster_place import RayPlace


@pytest.mark.parametrize("address", ["head", "ray://head:10001", ":6379", "head:port"])
def test_what_is_no_address_is_said_at_once(tmp_path: Path, address: str) -> None:
    with pytest.raises(PoolError, match="HOST:PORT"), RayPlace(address, tmp_path):
        pass


def test_an_address_where_nobody_is_is_said_within_seconds(tmp_path: Path) -> None:
    with pytest.raises(PoolError, match="no Ray cluster is at"), RayPlace("127.0.0.1:1", tmp_path):
        pass
