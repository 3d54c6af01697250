"""What the routes say about awkward studies, and what they do when asked to act."""

import asyncio
import json
import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.testclient import TestClient

from shoal.search import events as e
from shoal.search.journal.sqlite import SqliteJournal
from shoal.search.spec import EntryPoint, StudySpec
from shoal.service.http.app import make_app
from shoal.service.http.event_router import changes
from shoal.service.http.log_files import PART_BYTES, log_part
from shoal.service.http.share_preview import share_preview
from shoal.spaces import Categorical, Float, Space
from shoal.tests.process.http.conftest import OURS, PORT
from shoal.tests.specs import plain_spec

SPACE = Space(lr=Float(0.1, 1.0), odd=Categorical([True, 1, 1.0, None, (0, "a"), "<b>x</b>"]))
ODD = [True, 1, 1.0, None, (0, "a"), "<b>x</b>"]
VALUES: list[Any] = [0.5, "nan", "inf", "-inf", 0.75, 0.25]


def spec(name: str = "tuned") -> StudySpec:
    return plain_spec(SPACE, name=name, trials=20, entry=EntryPoint(kind="trial", module="m", function="f"))


def trial(number: int, value: Any, *, ends: bool = True) -> list[e.Event]:
    """One trial of three events or four."""
    config = SPACE.configuration({"lr": 0.5, "odd": SPACE.leaf("odd").encode(ODD[number % len(ODD)])})
    told: list[e.Event] = [
        e.TrialProposed(
            at=1.0, number=number, config=config.to_json(), source="strategy", ask=0, seen_seq=0, reason="drawn"
        ),
        e.TrialAssigned(
            at=2.0, number=number, generation=1, node="here", workers=1, gpus=(), gpu_share=0.0, reason="first"
        ),
        e.TrialReported(
            at=3.0, number=number, generation=1, step=1, metrics={"score": value}, can_pause=True
        ),
    ]
    if ends:
        reason = "postgresql://me:hunter2@db/x and HF_TOKEN=abc123"
        told.append(
            e.TrialEnded(at=4.0, number=number, generation=1, outcome="completed", reason=reason, run_s=2.0)
        )
    return told


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[SqliteJournal]:
    made = SqliteJournal(tmp_path / "journal.db")
    made.append("tuned", [e.StudyCreated(at=0.0, spec=spec().to_json())])
    for number, value in enumerate(VALUES):
        made.append("tuned", trial(number, value))
    made.append("tuned", trial(len(VALUES), 0.1, ends=False))
    made.commit()
    yield made
    made.close()


def strict(text: str) -> Any:
    return json.loads(text, parse_constant=lambda constant: pytest.fail(f"{constant} is no strict JSON"))


@pytest.mark.parametrize(
    "path",
    [
        "/studies",
        "/studies/tuned",
        "/studies/tuned/trials",
        "/studies/tuned/trials/1",
        "/studies/tuned/figures?names=history,learning_curves,slices,parallel_coordinates&with_summary=true",
        "/figures?names=gantt,utilisation,shares,compare",
        "/pool",
    ],
)
def test_replies_are_strict_json(client: TestClient, path: str) -> None:
    """T70: values of NaN and infinity; T73: a running trial."""
    reply = client.get(f"/api/v1{path}")
    assert reply.status_code == 200, reply.text
    strict(reply.text)


def test_a_value_that_is_not_finite_is_null_and_flagged(client: TestClient) -> None:
    """T70: the others are still drawn."""
    rows = client.get("/api/v1/studies/tuned/trials").json()["trials"]
    flags = {row["number"]: (row["value"], row["not_finite"], row["failure"]) for row in rows}
    assert flags[0] == (0.5, None, None)
    assert all(flags[n][0] is None and flags[n][2] == "DIVERGED" for n in (1, 2, 3))
    data = client.get("/api/v1/studies/tuned/figures?names=history").json()["figures"]["history"]["data"]
    assert [0.5, 0.75, 0.25] in [trace["y"] for trace in data]


def test_choices_keep_their_types_and_order(client: TestClient) -> None:
    """T08, T72: True, 1 and 1.0 are three choices; tuples and None have names."""
    axis = client.get("/api/v1/studies/tuned/figures?names=slices").json()["figures"]["slices"]["layout"]["xaxis2"]
    assert axis["ticktext"] == ["True", "1", "1.0", "None", "(0, 'a')", "&lt;b&gt;x&lt;/b&gt;"]


def test_secrets_are_not_shown(client: TestClient) -> None:
    """T81: a password in an address and a token's value."""
    for path in ("trials", "trials/0", "trials/0/story", "figures?names=history"):
        text = client.get(f"/api/v1/studies/tuned/{path}").text
        assert "hunter2" not in text and "abc123" not in text
        assert "***" in text


def test_checkpoints_are_listed_and_never_opened(client: TestClient, tmp_path: Path) -> None:
    """T80: a file that would do harm when unpickled."""
    folder = tmp_path / "studies" / "tuned" / "trials" / "0000" / "checkpoints"
    folder.mkdir(parents=True)
    (folder / "epoch-1.ckpt").write_bytes(b"cos\nsystem\n(S'touch harm'\ntR.")
    (shown,) = client.get("/api/v1/studies/tuned/trials/0").json()["checkpoints"]
    assert shown == {"name": "epoch-1.ckpt", "bytes": 29}


def test_trials_are_sorted_and_paged(client: TestClient) -> None:
    page = client.get("/api/v1/studies/tuned/trials?sort=value&descending=true&limit=2").json()
    assert [row["value"] for row in page["trials"]] == [0.75, 0.5] and page["total"] == 7
    running = client.get("/api/v1/studies/tuned/trials?state=running").json()
    assert [row["number"] for row in running["trials"]] == [6]
    lively = client.get("/api/v1/studies/tuned/trials?sort=state&descending=true").json()["trials"]
    assert lively[0]["state"] == "running"
    done = [row["number"] for row in lively if row["state"] == "completed"]
    assert done == sorted(done, reverse=True)


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/studies/tunde", 404, "Did you mean tuned?"),
        ("/studies/tuned/trials/99", 404, "It has trials 0 to 6"),
        ("/studies/tuned/figures?names=histry", 404, "Did you mean history?"),
        ("/studies/tuned/figures?names=history&curves=0", 400, "outside 1 to 200"),
        ("/figures?names=compare&studies=nobody", 404, "no study 'nobody'"),
        ("/studies/tuned/trials?limit=100000", 422, "less than or equal to 500"),
    ],
)
def test_mistakes_are_told(client: TestClient, path: str, status: int, words: str) -> None:
    reply = client.get(f"/api/v1{path}")
    assert reply.status_code == status and words in reply.text


def test_actions_say_what_they_would_do(client: TestClient) -> None:
    def preview(**body: Any) -> Any:
        return client.post("/api/v1/studies/tuned/commands/preview", json=body)

    assert "1 running trials are killed" in preview(verb="kill").json()["effect"]
    assert preview(verb="stop", number=6).json()["effect"] == "1 trial: trial tuned#6 stops at its next report"
    assert preview(verb="pause", number=0).json()["ok"] is False
    assert preview(verb="edit", changes={"trials": 40}).json()["effect"] == "study tuned: trials 20 -> 40"
    assert "lr" in preview(verb="enqueue", values={"lr": "0.25"}).json()["effect"]
    assert preview(verb="enqueue", values={"lr": "7"}).status_code == 400
    assert preview(verb="stop", values={"lr": "0.5"}).status_code == 400
    assert preview(verb="explode").status_code == 422


def test_a_preview_says_whose_share_would_change() -> None:
    study = {"study": "a", "priority": 0, "weight": 1.0, "wanted": 8}
    picture = {"nodes": [{"gpus": ["0", "1", "2", "3"], "cpus": 8}], "studies": [study, study | {"study": "b"}]}
    assert share_preview(picture, "a", {"weight": 3.0}) == "of 4 devices each is owed: a 2 -> 3, b 2 -> 1"
    assert share_preview(picture, "b", {"priority": 1}) == "of 4 devices each is owed: a 2 -> 1, b 2 -> 3"
    assert share_preview(picture, "a", {"weight": 1.0}) == "nobody's share changes now"
    for nothing in (share_preview(picture, "a", {"trials": 9}), share_preview(None, "a", {"weight": 2.0})):
        assert nothing == ""
    first_come = {**picture, "studies": [study | {"wanted": None}]}
    assert share_preview(first_come, "a", {"weight": 2.0}) == ""


def test_what_may_be_tried_is_told_for_a_form(client: TestClient) -> None:
    lr, odd = client.get("/api/v1/studies/tuned/space").json()["parameters"]
    assert lr == {"path": "lr", "range": "0.1 to 1"}
    assert odd["values"][0] == ["True", "True"] and odd["values"][-1] == ["'<b>x</b>'", "<b>x</b>"]
    for text, label in odd["values"]:
        preview = client.post(
            "/api/v1/studies/tuned/commands/preview", json={"verb": "enqueue", "values": {"odd": text, "lr": "0.5"}}
        )
        assert preview.json()["ok"], label


def test_an_action_is_a_row_that_the_head_finds(client: TestClient, journal: SqliteJournal) -> None:
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(client.post, "/api/v1/studies/tuned/commands", json={"verb": "pause"})
        ((command, study, body),) = until(journal.new_commands)
        journal.append("tuned", [e.CommandDone(at=9.0, command=command, ok=True, effect="paused it")])
        journal.commit()
        assert asked.result(30).json() == {"ok": True, "acknowledged": True, "effect": "paused it"}
    assert study == "tuned" and body["verb"] == "pause" and body["who"] == "the dashboard"


def until(look: Callable[[], Any]) -> Any:
    """What `look` finds, as soon as it finds something."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        found = look()
        if found:
            return found
        time.sleep(0.01)
    raise AssertionError("nothing came")


def test_a_prefix_may_be_taken_off_by_a_proxy_or_not(tmp_path: Path, journal: SqliteJournal) -> None:
    codes: list[str] = []
    app = make_app(tmp_path, port=PORT, tell_code=codes.append, prefix="/proxy/1", allow_hosts=["lab.example"])
    with TestClient(app, base_url="http://lab.example", headers={"origin": "http://lab.example"}) as made:
        reply = made.post("/proxy/1/api/v1/login", json={"code": codes[-1]})
        assert "path=/proxy/1" in reply.headers["set-cookie"].lower()
        assert made.get("/proxy/1/api/v1/studies").status_code == 200
        cookie = reply.headers["set-cookie"].split(";")[0]
        assert made.get("/api/v1/studies", headers={"cookie": cookie}).status_code == 200


def test_pages_are_packed_and_kept(client: TestClient) -> None:
    first = client.get("/static/page.js")
    assert first.headers["content-encoding"] == "gzip"
    again = client.get("/static/page.js", headers={"if-none-match": first.headers["etag"]})
    assert again.status_code == 304 and not again.content


def test_pages_have_no_inline_code_and_no_absolute_links(client: TestClient) -> None:
    for page in ("studies", "study", "trial", "pool", "compare", "login"):
        text = client.get(f"/{page}").text
        assert "<script>" not in text and "style=" not in text and "onclick" not in text
        assert 'href="/' not in text and 'src="/' not in text and "http" not in text


def test_openapi_lists_the_routes(client: TestClient) -> None:
    paths = client.get("/api/v1/openapi.json").json()["paths"]
    assert {"/api/v1/studies", "/api/v1/studies/{study}/commands", "/api/v1/events"} <= set(paths)


def _messages(watch: Any, seen: int | None, count: int) -> list[str]:
    """The first messages of a stream."""

    async def read() -> list[str]:
        found = []
        async for message in changes(watch, seen, lambda: False, batch_s=0.0):
            found.append(message)
            if len(found) == count:
                break
        return found

    return asyncio.run(asyncio.wait_for(read(), 20))


def test_a_browser_that_comes_back_is_told_what_changed() -> None:
    """After an hour, with the last id it saw: one message, about the studies behind it alone."""
    watch = SimpleNamespace(seqs={"old": 10, "grown": 5000})
    hello, changed = _messages(watch, 10, 2)
    assert "id: 10" in hello
    assert '"studies": ["grown"]' in changed and "id: 5000" in changed


def test_a_browser_with_an_id_of_another_journal_is_not_left_waiting() -> None:
    """The data directory was made anew: its numbers are smaller than what the browser remembers."""
    watch = SimpleNamespace(seqs={"new": 3})
    (hello,) = _messages(watch, 1_000_000, 1)
    assert "id: 3" in hello


def test_new_events_reach_the_watch(client: TestClient, journal: SqliteJournal) -> None:
    journal.append("tuned", trial(7, 0.9))
    journal.append("later", [e.StudyCreated(at=9.0, spec=spec("later").to_json())])
    journal.commit()
    until(lambda: client.get("/api/v1/studies/tuned").json()["best"]["value"] == 0.9)
    until(lambda: client.get("/api/v1/studies/later").status_code == 200)


def test_logs_come_in_parts_and_survive_rotation(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    assert log_part(tmp_path, -1)["text"] == ""
    log.write_text("x" * PART_BYTES + "tail\n", encoding="utf-8")
    last = log_part(tmp_path, -1)
    assert last["text"].endswith("tail\n") and len(last["text"]) == PART_BYTES
    with log.open("a", encoding="utf-8") as stream:
        stream.write("more <b>\n")
    assert log_part(tmp_path, last["next"])["text"] == "more <b>\n"
    log.write_text("anew\n", encoding="utf-8")
    assert log_part(tmp_path, last["next"]) == {"text": "anew\n", "next": 5, "restarted": True, "size": 5}


def test_no_journal_yet_is_an_empty_page(tmp_path: Path) -> None:
    codes: list[str] = []
    app = make_app(tmp_path / "nothing", port=PORT, tell_code=codes.append)
    with TestClient(app, base_url=OURS, headers={"origin": OURS}) as made:
        made.post("/api/v1/login", json={"code": codes[-1]})
        assert made.get("/api/v1/studies").json() == {"studies": [], "trouble": "", "head_running": False}


def test_a_number_stays_a_number() -> None:
    from shoal.service.http.strict import finite

    assert finite({"a": [1, math.inf, {"b": math.nan}]}) == {"a": [1, None, {"b": None}]}
