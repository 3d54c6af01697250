"""Who is let in to the dashboard, and what an answer may hold."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from shoal.search.events import StudyCreated
from shoal.search.journal.sqlite import SqliteJournal
from shoal.spaces import Float, Space
from shoal.tests.process.http.conftest import OURS
from shoal.tests.specs import plain_spec


@pytest.fixture
def journal(tmp_path: Path) -> None:
    """Of one study."""
    made = SqliteJournal(tmp_path / "journal.db")
    made.append("tuned", [StudyCreated(at=1.0, spec=plain_spec(Space(lr=Float(0.1, 1.0)), name="tuned").to_json())])
    made.commit()
    made.close()


def log_in(stranger: TestClient, codes: list[str]) -> None:
    assert stranger.post("/api/v1/login", json={"code": codes[-1]}, headers={"origin": OURS}).status_code == 200


def test_nothing_is_shown_without_a_session(stranger: TestClient) -> None:
    assert stranger.get("/api/v1/studies").status_code == 401
    assert "tuned" not in stranger.get("/studies", follow_redirects=True).text


def test_a_code_works_once(stranger: TestClient, codes: list[str]) -> None:
    first = codes[-1]
    log_in(stranger, codes)
    assert "tuned" in stranger.get("/api/v1/studies").text
    again = stranger.post("/api/v1/login", json={"code": first}, headers={"origin": OURS})
    assert again.status_code == 401 and len(codes) == 2


def test_the_cookie_is_for_our_pages_alone(stranger: TestClient, codes: list[str]) -> None:
    reply = stranger.post("/api/v1/login", json={"code": codes[-1]}, headers={"origin": OURS})
    cookie = reply.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie


def test_another_host_and_another_origin_are_refused(stranger: TestClient, codes: list[str]) -> None:
    log_in(stranger, codes)
    assert stranger.get("/api/v1/studies", headers={"host": "evil.example"}).status_code in (400, 403, 421)
    refused = stranger.post(
        "/api/v1/studies/tuned/commands", json={"verb": "kill"}, headers={"origin": "http://evil.example"}
    )
    assert refused.status_code == 403


def test_scripts_come_from_here_only(stranger: TestClient) -> None:
    policy = stranger.get("/login").headers["content-security-policy"]
    assert "script-src 'self'" in policy and "unsafe-inline" not in policy and "unsafe-eval" not in policy


def test_an_action_is_previewed_and_written_down(stranger: TestClient, codes: list[str]) -> None:
    log_in(stranger, codes)
    preview = stranger.post(
        "/api/v1/studies/tuned/commands/preview", json={"verb": "pause"}, headers={"origin": OURS}
    )
    assert preview.status_code == 200 and "pauses" in preview.json()["effect"]
    unknown = stranger.post("/api/v1/studies/tune/commands", json={"verb": "pause"}, headers={"origin": OURS})
    assert unknown.status_code == 404
