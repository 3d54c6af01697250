"""Notes and tags by way of the dashboard: written, shown, chosen by, and refused in words."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from shoal.search import events as e
from shoal.search.journal.sqlite import SqliteJournal
from shoal.search.spec import Budget, Chosen, EntryPoint, Objective, StudySpec
from shoal.service.http.app import make_app
from shoal.spaces import Float, Space
from shoal.tests.process.http.test_routes import OURS, PORT, until

HARM = "<img src=x onerror=harm()> & ünï"
COMMANDS = "/api/v1/studies/tuned/commands"


def created(name: str) -> e.StudyCreated:
    spec = StudySpec(
        name=name,
        space=Space(lr=Float(0.1, 1.0)).to_json(),
        objectives=(Objective(metric="score", direction="maximize"),),
        entry=EntryPoint(kind="trial", module="m", function="f"),
        strategy=Chosen(name="random"),
        early_stopping=Chosen(name="none"),
        budget=Budget(trials=3),
    )
    return e.StudyCreated(at=0.0, spec=spec.to_json())


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """A study of three queued trials that nobody runs."""
    path = tmp_path / "journal.db"
    made = SqliteJournal(path)
    made.append("tuned", [created("tuned")])
    for number in range(3):
        made.append(
            "tuned",
            [
                e.TrialProposed(
                    at=1.0, number=number, config={"lr": 0.5}, source="strategy", ask=0, seen_seq=0, reason="drawn"
                )
            ],
        )
    made.commit()
    made.close()
    return path


@pytest.fixture
def client(tmp_path: Path, journal: Path) -> Iterator[TestClient]:
    """Logged in."""
    codes: list[str] = []
    app = make_app(tmp_path, port=PORT, tell_code=codes.append)
    with TestClient(app, base_url=OURS, headers={"origin": OURS}) as made:
        assert made.post("/api/v1/login", json={"code": codes[-1]}).status_code == 200
        yield made


def study(client: TestClient) -> Any:
    return client.get("/api/v1/studies/tuned").json()


def test_they_are_written_without_a_run_and_shown(client: TestClient) -> None:
    reply = client.post(COMMANDS, json={"verb": "note", "text": f" {HARM} "})
    assert reply.json() == {"ok": True, "acknowledged": True, "effect": "study tuned: note written"}
    assert client.post(COMMANDS, json={"verb": "tag", "number": 1, "added": ["good", "<b>"]}).json()["ok"]
    assert client.post(COMMANDS, json={"verb": "tag", "number": 2, "added": ["good"]}).json()["ok"]
    until(lambda: study(client)["note"] == HARM)
    page = client.get("/api/v1/studies/tuned/trials?tag=good").json()
    assert [row["number"] for row in page["trials"]] == [1, 2] and page["total"] == 2
    assert page["tags"] == ["good", "<b>"] and page["trials"][0]["tags"] == ["good", "<b>"]
    assert client.get("/api/v1/studies/tuned/trials?tag=none").json()["total"] == 0
    assert client.get("/api/v1/studies/tuned/trials/1").json()["tags"] == ["good", "<b>"]
    story = client.get("/api/v1/studies/tuned/trials/1/story").json()["story"]
    assert story[-1]["what"] == "tags +good +<b> by the dashboard"


def test_a_run_is_asked_where_there_is_one(client: TestClient, journal: Path) -> None:
    head = SqliteJournal(journal)
    try:
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(client.post, COMMANDS, json={"verb": "note", "number": 0, "text": "x"})
            ((command, _, body),) = until(head.new_commands)
            head.append("tuned", [e.CommandDone(at=9.0, command=command, ok=True, effect="noted")])
            head.commit()
            assert asked.result(30).json() == {"ok": True, "acknowledged": True, "effect": "noted"}
    finally:
        head.close()
    assert (body["verb"], body["number"], body["text"], body["who"]) == ("note", 0, "x", "the dashboard")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"verb": "note", "text": "x" * 4001}, "4001 characters"),
        ({"verb": "note", "text": "\u0007"}, "control character"),
        ({"verb": "note", "text": "x", "values": {"lr": "1"}}, "takes no values"),
        ({"verb": "tag"}, "a tag to add or to remove"),
        ({"verb": "tag", "added": ["two words"]}, "not one word"),
        ({"verb": "tag", "removed": ["gone"]}, "no tag 'gone'"),
        ({"verb": "tag", "number": 99, "added": ["a"]}, "does not exist"),
        ({"verb": "tag", "added": [f"t{n}" for n in range(21)]}, "more than 20"),
    ],
)
def test_mistakes_are_told_and_change_nothing(client: TestClient, body: dict[str, Any], words: str) -> None:
    before = study(client)
    reply = client.post(COMMANDS, json=body)
    assert words in reply.text and (reply.status_code == 400 or reply.json()["ok"] is False)
    assert words in client.post(f"{COMMANDS}/preview", json=body).text
    assert study(client) == before
