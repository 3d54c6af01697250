"""Notes and tags by way of the dashboard: written, shown, chosen by, and refused in words."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from shoal.search import events as e
from shoal.search.journal.sqlite import SqliteJournal
from shoal.spaces import Float, Space
from shoal.tests.process.http.test_routes import until
from shoal.tests.specs import plain_spec

HARM = "<img src=x onerror=harm()> & ünï"
COMMANDS = "/api/v1/studies/tuned/commands"


def created(name: str) -> e.StudyCreated:
    return e.StudyCreated(at=0.0, spec=plain_spec(Space(lr=Float(0.1, 1.0)), name=name).to_json())


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


def study(client: TestClient) -> Any:
    return client.get("/api/v1/studies/tuned").json()


def tagged_twice(client: TestClient) -> Any:
    """The page of the trials that are tagged as good, once there are two."""
    page = client.get("/api/v1/studies/tuned/trials?tag=good").json()
    return page if page["total"] == 2 else None


def test_they_are_written_without_a_run_and_shown(client: TestClient) -> None:
    reply = client.post(COMMANDS, json={"verb": "note", "text": f" {HARM} "})
    assert reply.json() == {"ok": True, "acknowledged": True, "effect": "study tuned: note written"}
    assert client.post(COMMANDS, json={"verb": "tag", "number": 1, "added": ["good", "<b>"]}).json()["ok"]
    assert client.post(COMMANDS, json={"verb": "tag", "number": 2, "added": ["good"]}).json()["ok"]
    page = until(lambda: tagged_twice(client))  # the watch has taken the last of them in
    assert study(client)["note"] == HARM
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
