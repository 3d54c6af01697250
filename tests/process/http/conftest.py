"""The dashboard's server without a socket."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from shoal.service.http.app import make_app

PORT = 8321
OURS = f"http://127.0.0.1:{PORT}"


@pytest.fixture
def codes() -> list[str]:
    """The codes that were told to the person at the terminal."""
    return []


@pytest.fixture
def stranger(tmp_path: Path, journal: Any, codes: list[str]) -> Iterator[TestClient]:
    """A browser that nobody has logged in; `journal` is each file's own."""
    with TestClient(make_app(tmp_path, port=PORT, tell_code=codes.append), base_url=OURS) as made:
        yield made


@pytest.fixture
def client(stranger: TestClient, codes: list[str]) -> TestClient:
    """Logged in, and on our own pages."""
    stranger.headers["origin"] = OURS
    assert stranger.post("/api/v1/login", json={"code": codes[-1]}).status_code == 200
    return stranger
