"""Writing a SQLite journal: write-ahead log, group commit, one writer at a time.

Durability: a commit survives the death of every process; `synchronous=NORMAL` leaves the last moments before a power
cut to the operating system, and never a half-written transaction. Exclusion: the lock beside the file, and a fencing
token that each write transaction checks, for a file system on which the lock fails.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from sqlalchemy import func, insert, select
from sqlalchemy.dialects.sqlite import insert as upsert

from ...errors import JournalError
from ..events import Event
from ..spec import Json
from .faults import explained, translated
from .filesystem import refuse_network_file_system
from .lock import WriterLock
from .packing import packed
from .schema import (
    ACKNOWLEDGE,
    INSERT_EVENT,
    READ_FENCE,
    VERSION,
    meta,
    metadata,
    open_commands,
    snapshots,
    superseded_snapshots,
)
from .schema import events as events_table
from .sqlite_reader import SqliteReader
from .unwritten import Unwritten


class SqliteJournal(SqliteReader):
    """A journal opened for writing; made if it is not there.

    Args:
        path: the journal file; its folder is made.

    Raises:
        JournalLocked: another head holds it.
        JournalError: it is damaged, newer than this program, or lies where SQLite cannot keep it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._given_out = 0
        refuse_network_file_system(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise JournalError(
                f"cannot make the folder {path.parent}: {error.strerror}.", "Choose another with --data."
            ) from None
        self._lock = WriterLock(path)
        try:
            self._open(f"{path.absolute().as_uri()}?mode=rwc")
            try:
                self._check_version()
                with translated(path):
                    self._check_pages()
                    self._prepare()
            except BaseException:
                self._disconnect()
                raise
        except BaseException:
            self._lock.release()
            raise

    def _check_pages(self) -> None:
        """Raise if pages are damaged or missing. A torn tail of the write-ahead log is no damage: SQLite drops it."""
        (answer,) = self._driver.execute("PRAGMA quick_check(1)").fetchone()
        if answer != "ok":
            raise explained(self.path, f"malformed: {' '.join(answer.split())}")

    def _prepare(self) -> None:
        """Tables, settings, and a fencing token above every former one."""
        self._driver.execute("PRAGMA journal_mode=WAL")
        self._driver.execute("PRAGMA synchronous=NORMAL")
        self._driver.execute("BEGIN IMMEDIATE")
        metadata.create_all(self._connection)
        former = self._connection.scalar(select(meta.c.value).where(meta.c.key == "fence"))
        self._fence = int(former or 0) + 1
        for key, value in (("schema_version", VERSION), ("fence", self._fence)):
            row = upsert(meta).values(key=key, value=str(value))
            self._connection.execute(row.on_conflict_do_update(index_elements=["key"], set_={"value": str(value)}))
        self._driver.execute("COMMIT")
        self._unwritten = Unwritten((self._connection.scalar(select(func.max(events_table.c.seq))) or 0) + 1)

    @property
    def fence(self) -> int:
        return self._fence

    @property
    def next_seq(self) -> int:
        return self._unwritten.next_seq

    def append(self, study: str, events: Sequence[Event]) -> int:
        return self._unwritten.append(study, events)

    def commit(self) -> None:
        if not self._unwritten.rows:
            return
        with translated(self.path):
            self._begin()
            try:
                self._driver.executemany(INSERT_EVENT, self._unwritten.rows)
                if self._unwritten.acknowledged:
                    self._driver.executemany(ACKNOWLEDGE, self._unwritten.acknowledged)
                self._driver.execute("COMMIT")
            except sqlite3.Error:
                self._roll_back()
                raise
        self._unwritten.written()

    def _begin(self) -> None:
        """Start a write transaction, if this is still the journal's writer."""
        self._driver.execute("BEGIN IMMEDIATE")
        (fence,) = self._driver.execute(READ_FENCE, {"name": "fence"}).fetchone()
        if int(fence) != self._fence:
            self._roll_back()
            raise JournalError(
                f"{self.path} was taken over by another head (number {fence}, this one is {self._fence}).",
                "This one has written nothing since; follow the other with: shoal watch",
            )

    def _roll_back(self) -> None:
        with suppress(sqlite3.Error):  # SQLite may have rolled back by itself
            self._driver.execute("ROLLBACK")

    def new_commands(self) -> list[tuple[str, str, Json]]:
        if not self.has_changed():
            return []
        with translated(self.path):
            rows = self._connection.execute(open_commands(self._given_out)).all()
        if rows:
            self._given_out = rows[-1].id
        return [(str(row.id), row.study, json.loads(row.body)) for row in rows]

    def save_snapshot(self, study: str, seq: int, body: Json) -> None:
        with translated(self.path):
            self._begin()
            try:
                self._connection.execute(insert(snapshots).prefix_with("OR REPLACE"), packed(study, seq, body))
                self._connection.execute(superseded_snapshots(study))
                self._driver.execute("COMMIT")
            except BaseException:
                self._roll_back()
                raise

    def close(self) -> None:
        """Fold the write-ahead log into the file and let the lock go. Appended but uncommitted events are dropped."""
        with suppress(sqlite3.Error):  # a reader may be in the way; the next writer does it
            self._driver.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._disconnect()
        self._lock.release()
