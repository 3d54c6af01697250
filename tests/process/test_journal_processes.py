"""A journal between processes: many readers, a writer that is killed, two writers."""

import json
import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from multiprocessing.queues import SimpleQueue
from multiprocessing.synchronize import Event
from pathlib import Path
from textwrap import dedent

import pytest

from shoal.errors import JournalError, JournalLocked
from shoal.search.events import CommandDone, StudyPaused
from shoal.search.journal.sqlite import SqliteJournal
from shoal.search.journal.sqlite_reader import SqliteReader

READERS = 32


def event(at: float) -> StudyPaused:
    return StudyPaused(at=at, reason="lunch " * 20)


def program(code: str, *argv: object) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", dedent(code), *map(str, argv)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


@pytest.fixture
def writer(path: Path) -> Iterator["subprocess.Popen[str]"]:
    """A process that commits ten events again and again, and says how many are safe after each commit."""
    process = program(
        """
        import sys
        from pathlib import Path
        from shoal.search.events import StudyPaused
        from shoal.search.journal.sqlite import SqliteJournal

        journal = SqliteJournal(Path(sys.argv[1]))
        for round in range(10**9):
            journal.append("digits", [StudyPaused(at=float(i), reason="lunch " * 20) for i in range(10)])
            journal.commit()
            print(10 * (round + 1), flush=True)
        """,
        path,
    )
    yield process
    process.kill()
    process.communicate()


def watch(path: Path, number: int, go: Event, told: "SimpleQueue[tuple[str, str]]") -> None:
    """What a dashboard does, in a process of its own: ask for something, then read on and on."""
    go.wait(60)
    try:
        with SqliteReader(path) as reader:
            command = reader.put_command("digits", {"from": number})
            seen = 0
            for _ in range(20):
                new = [seq for seq, _ in reader.read("digits", after_seq=seen)]
                assert new == list(range(seen + 1, seen + len(new) + 1))
                seen += len(new)
                assert reader.studies() == ["digits"]
                reader.has_changed()
        told.put((command, ""))
    except BaseException as error:
        told.put(("", repr(error)))


def test_many_processes_read_and_ask_while_one_writes(path: Path):
    """T38: 32 processes open one journal while a head commits; nobody is told that the database is locked."""
    context = multiprocessing.get_context("fork")
    go, told = context.Event(), context.SimpleQueue()
    watchers = [context.Process(target=watch, args=(path, number, go, told)) for number in range(READERS)]
    for watcher in watchers:
        watcher.start()
    commands, replies = [], []
    with SqliteJournal(path) as journal:
        journal.append("digits", [event(0.0)])
        journal.commit()
        go.set()
        while len(replies) < READERS or len(commands) < READERS:
            while not told.empty():
                replies.append(told.get())
                assert replies[-1][1] == ""
            new = journal.new_commands()
            commands += new
            journal.append("digits", [event(float(i)) for i in range(10)])
            journal.append("digits", [CommandDone(at=0.0, command=c, ok=True, effect="seen") for c, _, _ in new])
            journal.commit()
    for watcher in watchers:
        watcher.join(30)
        assert watcher.exitcode == 0
    assert sorted(body["from"] for _, _, body in commands) == list(range(READERS))
    assert {command for command, _, _ in commands} == {command for command, _ in replies}


def test_a_killed_writer_loses_nothing_it_committed(path: Path, writer: "subprocess.Popen[str]"):
    """T41: kill -9 in the middle of writing; the next writer takes the lock over and goes on."""
    assert writer.stdout is not None
    safe = 0
    while safe < 500:
        safe = int(writer.stdout.readline())
    writer.send_signal(signal.SIGKILL)
    rest = writer.communicate()[0].split()
    safe = max([safe, *map(int, rest)])
    with SqliteJournal(path) as journal:
        kept = [seq for seq, _ in journal.read("digits")]
        assert len(kept) >= safe and len(kept) % 10 == 0
        assert kept == list(range(1, len(kept) + 1))
        assert journal.fence == 2 and journal.next_seq == len(kept) + 1


def test_a_second_writer_is_told_who_holds_the_journal(path: Path, writer: "subprocess.Popen[str]"):
    assert writer.stdout is not None
    writer.stdout.readline()
    with pytest.raises(JournalLocked, match=f"in use by process {writer.pid} on ") as caught:
        SqliteJournal(path)
    assert "--data" in caught.value.remedy
    with SqliteReader(path) as reader:
        assert reader.has_writer()
        assert reader.studies() == ["digits"]


def test_the_lock_goes_with_its_process(path: Path, writer: "subprocess.Popen[str]"):
    """T41: the lock file of a dead process is no lock."""
    assert writer.stdout is not None
    writer.stdout.readline()
    writer.kill()
    writer.wait()
    lock = path.with_name("journal.db.lock")
    assert json.loads(lock.read_text())["pid"] == writer.pid
    with SqliteReader(path) as reader:
        assert not reader.has_writer()
    SqliteJournal(path).close()


def test_a_fenced_off_writer_writes_no_more(path: Path):
    """T40: where the lock failed, the token still does its work."""
    with SqliteJournal(path) as journal:
        journal.append("digits", [event(1.0)])
        journal.commit()
        other = sqlite3.connect(path)
        other.execute("UPDATE meta SET value = '7' WHERE key = 'fence'")
        other.commit()
        other.close()
        journal.append("digits", [event(2.0)])
        with pytest.raises(JournalError, match="taken over by another head"):
            journal.commit()
        assert [seq for seq, _ in journal.read("digits")] == [1]


def test_a_full_disk_leaves_nothing_half_written(path: Path):
    with SqliteJournal(path) as journal:
        journal.append("digits", [event(1.0)])
        journal.commit()
        (pages,) = journal._driver.execute("PRAGMA page_count").fetchone()
        journal._driver.execute(f"PRAGMA max_page_count = {pages + 2}")
        journal.append("digits", [event(float(i)) for i in range(1000)])
        with pytest.raises(JournalError, match="disk is full") as caught:
            journal.commit()
        assert "Make room" in caught.value.remedy
        assert len(list(journal.read("digits"))) == 1
        journal._driver.execute("PRAGMA max_page_count = 1000000")
        journal.commit()
        assert len(list(journal.read("digits"))) == 1001


def test_a_torn_write_ahead_log_loses_its_tail_alone(path: Path, writer: "subprocess.Popen[str]"):
    """T41: the last bytes are missing; what was whole before them is there."""
    assert writer.stdout is not None
    while int(writer.stdout.readline()) < 300:
        pass
    writer.kill()
    writer.communicate()
    log = path.with_name("journal.db-wal")
    os.truncate(log, log.stat().st_size - 100)
    with SqliteJournal(path) as journal:
        kept = [seq for seq, _ in journal.read("digits")]
        assert len(kept) >= 280 and len(kept) % 10 == 0 and kept == list(range(1, len(kept) + 1))


@pytest.mark.parametrize("damage", ["cut short", "overwritten", "no database"])
def test_a_damaged_file_is_named_and_left_alone(path: Path, damage: str):
    with SqliteJournal(path) as journal:
        journal.append("digits", [event(float(i)) for i in range(2000)])
        journal.commit()
    whole = path.read_bytes()
    broken = {
        "cut short": whole[: len(whole) // 2],
        "overwritten": whole[:8192] + b"\xff" * 8192 + whole[16384:],
        "no database": b"hello " * 3000,
    }[damage]
    path.write_bytes(broken)
    with pytest.raises(JournalError, match=r"journal\.db is damaged") as caught:
        SqliteJournal(path)
    assert ".recover" in caught.value.remedy
    assert path.read_bytes() == broken


def test_a_newer_journal_is_refused(path: Path):
    SqliteJournal(path).close()
    other = sqlite3.connect(path)
    other.execute("UPDATE meta SET value = '99' WHERE key = 'schema_version'")
    other.commit()
    other.close()
    for opened in (SqliteJournal, SqliteReader):
        with pytest.raises(JournalError, match="schema version 99, newer than") as caught:
            opened(path)
        assert caught.value.remedy == "Upgrade shoal."


def test_a_damaged_snapshot_is_passed_over(path: Path):
    with SqliteJournal(path) as journal:
        journal.append("digits", [event(1.0), event(2.0), event(3.0)])
        journal.commit()
        journal.save_snapshot("digits", 1, {"n": 1})
        journal.save_snapshot("digits", 2, {"n": 2})
        journal.save_snapshot("digits", 3, {"n": 3})
        journal._driver.execute("UPDATE snapshots SET body = x'00' WHERE seq = 3")
        snapshot = journal.snapshot("digits")
        assert snapshot is not None and (snapshot.seq, snapshot.body) == (2, {"n": 2})
        assert journal._driver.execute("SELECT count(*) FROM snapshots").fetchone() == (2,)
