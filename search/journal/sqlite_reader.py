"""Reading a SQLite journal, from any number of processes, and asking its head for things."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from sqlalchemy import create_engine, insert, select
from sqlalchemy.engine import Connection
from sqlalchemy.pool import StaticPool

from ...errors import JournalError, NotFound
from ..codec import decode
from ..events import Event
from ..spec import Json
from .faults import explained, translated
from .lock import is_locked
from .packing import first_whole
from .port import Snapshot
from .schema import READ_EVENTS, READ_TRIAL_EVENTS, STUDIES, VERSION, commands, meta, snapshots_of

BUSY_TIMEOUT_S = 30.0
"""How long to wait for another process's write: a commit takes under a millisecond, a copy of the file seconds."""

READ_ROWS = 2000
"""Events fetched at a time: a reader holds its view of the file no longer than one batch takes to fetch."""


class SqliteReader:
    """A journal opened for reading. It never blocks the writer, and the writer never blocks it.

    Args:
        path: the journal file.

    Raises:
        NotFound: there is no such file.
        JournalError: it is damaged, or newer than this program.
    """

    def __init__(self, path: Path) -> None:
        if not path.exists():
            raise NotFound(f"no journal at {path}.", "Run a study first, or name its folder with --data.")
        self.path = path
        self._open(f"{path.absolute().as_uri()}?mode=ro")
        try:
            self._check_version()
        except BaseException:
            self._disconnect()
            raise

    def _open(self, uri: str) -> None:
        with translated(self.path):
            self._driver = sqlite3.connect(uri, uri=True, timeout=BUSY_TIMEOUT_S, isolation_level=None)
            engine = create_engine("sqlite://", creator=lambda: self._driver, poolclass=StaticPool)
            self._connection: Connection = engine.connect()
            self._data_version = 0

    def _check_version(self) -> None:
        """Raise if a newer shoal made the journal. An empty file is a journal that is just being made."""
        with translated(self.path):
            if not self._has_tables():
                return
            version = self._connection.scalar(select(meta.c.value).where(meta.c.key == "schema_version"))
        if version is None or not version.isdecimal():
            raise explained(self.path, "malformed: it has no schema version")
        if int(version) > VERSION:
            raise JournalError(
                f"{self.path} has schema version {version}, newer than the {VERSION} that this shoal knows.",
                "Upgrade shoal.",
            )

    def _has_tables(self) -> bool:
        query = "SELECT count(*) FROM sqlite_master WHERE name = 'meta'"
        return bool(self._driver.execute(query).fetchone()[0])

    def studies(self) -> list[str]:
        with translated(self.path):
            return list(self._connection.scalars(STUDIES)) if self._has_tables() else []

    def read(self, study: str, after_seq: int = 0) -> Iterator[tuple[int, Event]]:
        with translated(self.path):
            while True:
                cursor = self._driver.execute(READ_EVENTS, {"study": study, "after_seq": after_seq})
                rows = cursor.fetchmany(READ_ROWS)
                cursor.close()
                for seq, at, kind, body in rows:
                    yield seq, decode(kind, at, body)
                if len(rows) < READ_ROWS:
                    return
                after_seq = rows[-1][0]

    def read_of_trial(self, study: str, number: int) -> Iterator[Event]:
        """The events that may be about one trial, and those of heads; a few of other trials come along.

        SQLite looks for the number in the text, which for a trial of 100,000 events is 50 times faster than to decode
        them all.
        """
        with translated(self.path):
            pattern = f'%"number":{number}%'
            rows = self._driver.execute(READ_TRIAL_EVENTS, {"study": study, "pattern": pattern}).fetchall()
        for at, kind, body in rows:
            yield decode(kind, at, body)

    def snapshot(self, study: str) -> Snapshot | None:
        """The latest whole snapshot; damaged ones, and ones of events that the journal lost, are passed over."""
        with translated(self.path):
            return first_whole((row.seq, row.digest, row.body) for row in self._connection.execute(snapshots_of(study)))

    def has_changed(self) -> bool:
        with translated(self.path):
            (version,) = self._driver.execute("PRAGMA data_version").fetchone()
        changed: bool = version != self._data_version
        self._data_version = version
        return changed

    def has_writer(self) -> bool:
        """Is a head running on this journal?"""
        return is_locked(self.path)

    def put_command(self, study: str, body: Json) -> str:
        uri = f"{self.path.absolute().as_uri()}?mode=rw"
        with translated(self.path):
            driver = sqlite3.connect(uri, uri=True, timeout=BUSY_TIMEOUT_S)
            engine = create_engine("sqlite://", creator=lambda: driver, poolclass=StaticPool)
            row = {"study": study, "at": time.time(), "body": json.dumps(body)}
            try:
                with engine.begin() as connection:
                    command = connection.execute(insert(commands), row).inserted_primary_key
            finally:
                driver.close()
        assert command is not None
        return str(command[0])

    def close(self) -> None:
        self._disconnect()

    def _disconnect(self) -> None:
        self._connection.close()
        self._driver.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
