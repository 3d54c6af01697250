"""Whose an agent is, and for how long; no trial is run here."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shoal.trial_runner.cluster.agent_host import AgentHost
from shoal.trial_runner.cluster.checkpoint_store import CheckpointStore
from shoal.trial_runner.cluster.ports import Holder, NodeFacts, Refused, Welcome
from shoal.trial_runner.messages import Prepared, PrepareStudy

FACTS = NodeFacts(node="a", gpus=(), cpus=1, memory_gib=1.0, device_model="cpu")
PATIENCE_S = 30.0


class Made:
    """An agent that says when it has gone."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.gone = threading.Event()
        self.store = f"file://{folder / 'store'}"
        CheckpointStore(self.store).write("probe", b"")
        self.host = AgentHost(FACTS, folder / "agent", gone=self.gone.set, **options)

    def hello(self, owner: str = "me", fence: int = 1, probe: str = "probe") -> Welcome | Refused:
        holder = Holder(owner=owner, fence=fence, text=f"{owner} {fence}", store=self.store, probe=probe)
        return self.host.hello(holder, fresh=False)

    def session(self, **options: Any) -> int:
        welcome = self.hello(**options)
        assert isinstance(welcome, Welcome), welcome
        return welcome.session

    def refusal(self, **options: Any) -> str:
        refused = self.hello(**options)
        assert isinstance(refused, Refused), refused
        return refused.reason


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Made]:
    made = Made(tmp_path)
    yield made
    made.host.stop()
    assert made.gone.wait(PATIENCE_S)


def test_a_head_that_was_started_later_is_obeyed(agent: Made) -> None:
    first = agent.session(fence=1)
    second = agent.session(fence=2)
    assert not agent.host.poll(first, 0, 0, 0.0).current
    assert agent.host.poll(second, 0, 0, 0.0).current
    assert "started later" in agent.refusal(fence=1)


def test_another_pool_is_told_who_has_the_node(agent: Made) -> None:
    agent.session(owner="me")
    assert agent.refusal(owner="others") == "the node is held by me 1"


def test_storage_that_is_another_than_the_heads_is_noticed(agent: Made) -> None:
    assert "not the same here" in agent.refusal(probe="somewhere-else")


def unreadable(study: str) -> PrepareStudy:
    nowhere = Path("nowhere")
    return PrepareStudy(study=study, entry={}, space=None, code="c", archive=nowhere, study_dir=nowhere)


def next_prepared(agent: Made, session: int) -> Prepared:
    ((_, event),) = agent.host.poll(session, 0, 0, PATIENCE_S).events
    assert isinstance(event, Prepared)
    return event


def test_instructions_are_carried_out_in_order_and_once(agent: Made) -> None:
    session = agent.session()
    agent.host.perform(session, 2, [unreadable("second")], {})
    assert agent.host.poll(session, 0, 0, 0.0).performed == 0, "the first batch is still on its way"
    agent.host.perform(session, 1, [unreadable("first")], {})
    agent.host.perform(session, 1, [unreadable("first")], {})
    agent.host.perform(session - 1, 3, [unreadable("third")], {})
    assert agent.host.poll(session, 0, 0, 0.0).performed == 2
    seen: list[Any] = []
    while len(seen) < 2:
        news = agent.host.poll(session, len(seen), 0, PATIENCE_S)
        seen += [event for _, event in news.events]
    assert [(event.study, event.ok) for event in seen] == [("first", False), ("second", False)]


def test_code_that_could_not_be_read_is_tried_again(agent: Made) -> None:
    session = agent.session()
    agent.host.perform(session, 1, [unreadable("s")], {})
    assert not next_prepared(agent, session).ok
    session = agent.session(fence=2)
    agent.host.perform(session, 1, [unreadable("s")], {})
    assert not next_prepared(agent, session).ok


def test_an_agent_goes_when_the_lease_of_its_head_has_ended(tmp_path: Path) -> None:
    made = Made(tmp_path, lease_s=0.2)
    made.session()
    assert made.gone.wait(PATIENCE_S)
    late = made.hello()
    assert isinstance(late, Refused) and late.is_ending


def test_an_agent_that_nobody_ever_takes_goes_too(tmp_path: Path) -> None:
    assert Made(tmp_path, lease_s=0.2).gone.wait(PATIENCE_S)


def test_an_agent_that_stays_waits_for_the_next_head(tmp_path: Path) -> None:
    made = Made(tmp_path, lease_s=0.2, stay=True)
    session = made.session(owner="me")
    while made.host.poll(session, 0, 0, 0.0).current:
        threading.Event().wait(0.7)  # longer than the lease, without a sign
    assert made.host.state()["holder"] is None
    made.host.leave(made.session(owner="others"))
    assert not made.gone.is_set()
    made.host.stop()
    assert made.gone.wait(PATIENCE_S)
