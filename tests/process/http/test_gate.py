"""Who is let in to the dashboard, and what an answer may hold."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from shoal.search.events import StudyCreated
from shoal.search.journal.sqlite import SqliteJournal
from shoal.search.spec import Budget, Chosen, EntryPoint, Objective, StudySpec
from shoal.service.http.app import make_app
from shoal.spaces import Float, Space

PORT = 8321
OURS = f"http://127.0.0.1:{PORT}"


@pytest.fixture
def codes() -> list[str]:
    return []


@pytest.fixture
def client(tmp_path: Path, codes: list[str]) -> Iterator[TestClient]:
    spec = StudySpec(
        name="tuned",
        space=Space(lr=Float(0.1, 1.0)).to_json(),
        objectives=(Objective(metric="loss", direction="minimize"),),
        entry=EntryPoint(kind="objective", module="m", function="f"),
        strategy=Chosen(name="random"),
        early_stopping=Chosen(name="none"),
        budget=Budget(trials=3),
    )
    journal = SqliteJournal(tmp_path / "journal.db")
    journal.append("tuned", [StudyCreated(at=1.0, spec=spec.to_json())])
    journal.commit()
    journal.close()
    with TestClient(make_app(tmp_path, port=PORT, tell_code=codes.append), base_url=OURS) as made:
        yield made


def log_in(client: TestClient, codes: list[str]) -> None:
    assert client.post("/api/v1/login", json={"code": codes[-1]}, headers={"origin": OURS}).status_code == 200


def test_nothing_is_shown_without_a_session(client: TestClient) -> None:
    assert client.get("/api/v1/studies").status_code == 401
    assert "tuned" not in client.get("/studies", follow_redirects=True).text


def test_a_code_works_once(client: TestClient, codes: list[str]) -> None:
    first = codes[-1]
    log_in(client, codes)
    assert "tuned" in client.get("/api/v1/studies").text
    again = client.post("/api/v1/login", json={"code": first}, headers={"origin": OURS})
    assert again.status_code == 401 and len(codes) == 2


def test_the_cookie_is_for_our_pages_alone(client: TestClient, codes: list[str]) -> None:
    reply = client.post("/api/v1/login", json={"code": codes[-1]}, headers={"origin": OURS})
    cookie = reply.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie


def test_another_host_and_another_origin_are_refused(client: TestClient, codes: list[str]) -> None:
    log_in(client, codes)
    assert client.get("/api/v1/studies", headers={"host": "evil.example"}).status_code in (400, 403, 421)
    refused = client.post(
        "/api/v1/studies/tuned/commands", json={"verb": "kill"}, headers={"origin": "http://evil.example"}
    )
    assert refused.status_code == 403


def test_scripts_come_from_here_only(client: TestClient) -> None:
    policy = client.get("/login").headers["content-security-policy"]
    assert "script-src 'self'" in policy and "unsafe-inline" not in policy and "unsafe-eval" not in policy


def test_an_action_is_previewed_and_written_down(client: TestClient, codes: list[str]) -> None:
    log_in(client, codes)
    preview = client.post(
        "/api/v1/studies/tuned/commands/preview", json={"verb": "pause"}, headers={"origin": OURS}
    )
    assert preview.status_code == 200 and "pauses" in preview.json()["effect"]
    unknown = client.post("/api/v1/studies/tune/commands", json={"verb": "pause"}, headers={"origin": OURS})
    assert unknown.status_code == 404
