"""The journal in a real PostgreSQL database: what only a server can do to it, and a study that is run with it."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from shoal.errors import JournalError, JournalLocked
from shoal.search.events import StudyPaused
from shoal.search.journal.opening import open_journal, open_reader

from ..conftest import PROGRAM
from ..postgres_server import Server

WRITER = """
    import sys
    from shoal.search.events import StudyPaused
    from shoal.search.journal.opening import open_journal

    journal = open_journal(sys.argv[1])
    while True:
        journal.append("digits", [StudyPaused(at=float(i), reason="x") for i in range(10)])
        journal.commit()
        print(journal.next_seq - 1, flush=True)
"""
STUDY = """
    import time
    import shoal
    from shoal.spaces import Float, Space

    def train(trial):
        for epoch in trial.epochs(4):
            time.sleep(0.05)
            trial.save(epoch)
            trial.report(score=-abs(trial.config.x - 0.3) + epoch)

    study = shoal.Study(space=Space(x=Float(0, 1)), train=train, maximize="score", trials=6, strategy="random")
"""


@pytest.fixture
def address(postgres: Server) -> str:
    return postgres.database()


def test_a_killed_writer_loses_nothing_it_committed(address: str):
    words = [sys.executable, "-c", textwrap.dedent(WRITER), address]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        safe = 0
        while safe < 200:
            safe = int(writer.stdout.readline())
        with pytest.raises(JournalLocked, match=f"in use by process {writer.pid} on "):
            open_journal(address)
        writer.send_signal(signal.SIGKILL)
        safe = max([safe, *map(int, writer.stdout.read().split())])
    with closing(_once_free(address)) as journal:
        kept = [seq for seq, _ in journal.read("digits")]
        assert len(kept) >= safe and len(kept) % 10 == 0 and kept == list(range(1, len(kept) + 1))
        assert journal.fence == 2


def test_a_writer_that_was_cut_off_writes_no_more(address: str, postgres: Server):
    with closing(open_journal(address)) as first:
        first.append("digits", [StudyPaused(at=1.0, reason="x")])
        first.commit()
        name = address.split("/")[3].split("?")[0]
        cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
        postgres.execute(name, cut + " AND pid <> pg_backend_pid()")
        with closing(_once_free(address)) as second:
            first.append("digits", [StudyPaused(at=2.0, reason="x")])
            with pytest.raises(JournalError) as caught:
                first.commit()
            assert "goes on from what was written" in caught.value.remedy
            assert [seq for seq, _ in second.read("digits")] == [1]


def test_a_fenced_off_writer_writes_no_more(address: str, postgres: Server):
    with closing(open_journal(address)) as journal:
        journal.append("digits", [StudyPaused(at=1.0, reason="x")])
        journal.commit()
        name = address.split("/")[3].split("?")[0]
        postgres.execute(name, "UPDATE meta SET value = '7' WHERE key = 'fence'")
        journal.append("digits", [StudyPaused(at=2.0, reason="x")])
        with pytest.raises(JournalError, match="taken over by another head"):
            journal.commit()
        assert [seq for seq, _ in journal.read("digits")] == [1]
        postgres.execute(name, "UPDATE meta SET value = '1' WHERE key = 'fence'")
        journal.commit()
        assert [seq for seq, _ in journal.read("digits")] == [1, 2]


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("postgresql://u:secret@127.0.0.1:1/x", "cannot be used"),
        ("mysql://u:secret@127.0.0.1/x", "no PostgreSQL address"),
        ("postgresql://u:secret@127.0.0.1", "no PostgreSQL address"),
    ],
)
def test_a_bad_address_is_told_without_its_password(address: str, told: str):
    for opened in (open_journal, open_reader):
        with pytest.raises(JournalError, match=told) as caught:
            opened(address)
        assert "secret" not in str(caught.value)


def test_a_study_killed_with_its_head_goes_on(
    address: str, tmp_path: Path, shoal: Callable[..., "subprocess.CompletedProcess[str]"]
):
    (tmp_path / "line.py").write_text(textwrap.dedent(STUDY))
    env = {"SHOAL_JOURNAL": address}
    words = [PROGRAM, "run", "line.py", "--plain"]
    with subprocess.Popen(words, cwd=tmp_path, env={**os.environ, **env}, stderr=subprocess.PIPE, text=True) as head:
        assert head.stderr is not None
        for line in head.stderr:
            if "completed" in line:
                break
        head.kill()
        head.stderr.read()
    _once_free(address).close()
    done = shoal("run", "line.py", "--plain", cwd=tmp_path, **env)
    assert done.returncode == 0, done.stderr
    shown = json.loads(shoal("show", "line", "-o", "json", cwd=tmp_path, **env).stdout)
    assert shown["state"] == "completed"
    trials = json.loads(shoal("trials", "line", "-o", "json", cwd=tmp_path, **env).stdout)
    assert [trial["number"] for trial in trials] == list(range(6))
    assert {trial["state"] for trial in trials} == {"completed"}
    assert not (tmp_path / ".shoal" / "journal.db").exists()


def _once_free(address: str):
    """The journal opened for writing, as soon as the server has noticed that its former writer is gone."""
    while True:
        try:
            return open_journal(address)
        except JournalLocked:
            continue
