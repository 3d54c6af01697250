"""The wire between a node's processes."""

import math
import socket
from collections.abc import Iterator

import pytest

from shoal.trial_runner.link import Link, LinkClosed
from shoal.trial_runner.wire import Channel


@pytest.fixture
def ends() -> Iterator[tuple[Channel, Link]]:
    ours, theirs = socket.socketpair()
    channel, link = Channel(ours), Link(theirs)
    yield channel, link
    channel.close()
    link.close()


def test_messages_arrive_in_order_with_their_numbers_as_they_are(ends: tuple[Channel, Link]) -> None:
    channel, link = ends
    link.send("report", step=1, metrics={"loss": math.nan, "gain": math.inf, "x": 0.1}, can_pause=False)
    link.send("warn", text="two\nlines, ünïcode")
    report, warning = channel.receive()
    assert math.isnan(report["metrics"]["loss"]) and report["metrics"]["gain"] == math.inf
    assert report["metrics"]["x"] == 0.1
    assert warning == {"kind": "warn", "text": "two\nlines, ünïcode"}
    assert channel.receive() == [] and not channel.closed


def test_a_receiver_leaves_other_kinds_for_others(ends: tuple[Channel, Link]) -> None:
    channel, link = ends
    channel.send("verdict", step=1, verdict="continue", reason="")
    channel.send("suggestion", path="x", value=1, error="")
    assert link.receive("suggestion")["path"] == "x"
    assert link.receive("verdict")["step"] == 1
    assert link.try_receive("verdict") is None


def test_a_pause_is_seen_without_being_waited_for(ends: tuple[Channel, Link]) -> None:
    channel, link = ends
    link.poll()
    assert link.pause_requested is None
    channel.send("pause", reason="others need the GPUs")
    link.poll()
    assert link.pause_requested == "others need the GPUs"


def test_what_was_meant_for_a_former_trial_does_not_reach_the_next(ends: tuple[Channel, Link]) -> None:
    """A worker that is used again: the last verdict of a trial may still be on its way when it returns."""
    channel, link = ends
    channel.send("assign", number=0)
    assert link.receive("assign")["number"] == 0
    channel.send("verdict", step=9, verdict="stop", reason="of trial 0")
    channel.send("pause", reason="of trial 0")
    channel.send("assign", number=1)
    channel.send("pause", reason="of trial 1")
    assert link.receive("assign")["number"] == 1
    assert link.pause_requested == "of trial 1"
    assert link.try_receive("verdict") is None


def test_a_worker_without_a_node_stops_waiting(ends: tuple[Channel, Link]) -> None:
    channel, link = ends
    channel.close()
    with pytest.raises(LinkClosed):
        link.receive("assign")
    with pytest.raises(LinkClosed):
        for _ in range(3):
            link.send("warn", text="anybody?")


def test_a_worker_that_does_not_read_never_blocks_the_node(ends: tuple[Channel, Link]) -> None:
    channel, link = ends
    for step in range(2_000):
        channel.send("verdict", step=step, verdict="continue", reason="x" * 1_000)
    assert channel.unsent > 0
    received = 0
    while received < 2_000:
        assert link.receive("verdict")["step"] == received
        received += 1
        channel.flush()
    assert channel.unsent == 0


@pytest.mark.parametrize("nonsense", [b"not json\n", b"\xff\xfe\n"])
def test_what_is_no_message_closes_the_channel(nonsense: bytes) -> None:
    ours, theirs = socket.socketpair()
    channel = Channel(ours)
    with theirs:
        theirs.sendall(nonsense)
        assert channel.receive() == []
        assert channel.closed
    channel.close()


def test_a_socket_travels_with_its_message() -> None:
    ours, theirs = socket.socketpair()
    passed, kept = socket.socketpair()
    channel = Channel(ours)
    with theirs, kept:
        with passed:
            assert channel.send_with_socket(passed, "fork", worker=1)
        line, descriptors, _, _ = socket.recv_fds(theirs, 1000, 4)
        assert line == b'{"kind":"fork","worker":1}\n'
        with socket.socket(fileno=descriptors[0]) as arrived:
            arrived.sendall(b"hello")
            assert kept.recv(10) == b"hello"
    assert not channel.send_with_socket(ours, "fork", worker=2)
    assert channel.receive() == [] and channel.closed
    channel.close()


def test_last_words_are_heard_after_a_send_that_failed() -> None:
    """A worker that says `ended` and goes while the node writes to it has not left without a word."""
    ours, theirs = socket.socketpair()
    channel = Channel(ours)
    Link(theirs).send("ended", outcome="completed")
    theirs.close()
    channel.send("called_off", formation=1)
    channel.send("verdict", step=1)
    assert channel.unsent == 0 and not channel.closed
    assert [message["kind"] for message in channel.receive()] == ["ended"]
    assert channel.closed
    channel.close()
