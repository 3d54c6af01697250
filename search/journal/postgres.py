"""Writing a PostgreSQL journal: for data directories on file systems that SQLite cannot use, and for many machines.

Exclusion: an advisory lock that the server lets go with the writer's connection, however that ends; and the fencing
token, which each write transaction reads under a row lock, for a writer whose connection was cut without its noticing.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from sqlalchemy import bindparam, delete, func, insert, select, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.exc import SQLAlchemyError

from ...errors import JournalError, JournalLocked
from ..events import Event
from ..spec import Json
from .packing import packed
from .postgres_faults import database, shown, translated
from .postgres_reader import WRITER_LOCK, PostgresReader, newer
from .schema import NOT_DONE, VERSION, commands, events, meta, metadata, open_commands, snapshots, superseded_snapshots
from .unwritten import Unwritten

ACKNOWLEDGE = update(commands).where(commands.c.id == bindparam("command"), NOT_DONE).values(done_seq=bindparam("seq"))
FENCE = select(meta.c.value).where(meta.c.key == "fence")


class PostgresJournal(PostgresReader):
    """A journal opened for writing; its tables are made if they are not there.

    Args:
        address: `postgresql://user:password@host:port/database`.

    Raises:
        JournalLocked: another head holds it; the message names it.
        JournalError: it cannot be reached or written, or is newer than this program.
    """

    def __init__(self, address: str) -> None:
        self._given_out = 0
        self.url = database(address)
        self._writing = self._connect("READ COMMITTED")
        try:
            with translated(self.url):
                self._lock()
                self._prepare()
            super().__init__(address)
        except BaseException:
            self._writing.close()
            raise

    def _lock(self) -> None:
        with self._writing.begin():
            if self._writing.scalar(select(func.pg_try_advisory_lock(WRITER_LOCK))):
                return
            known = self._writing.scalar(select(func.to_regclass("meta"))) is not None
            holder = self._writing.scalar(select(meta.c.value).where(meta.c.key == "writer")) if known else None
        raise JournalLocked(
            f"{shown(self.url)} is in use by {holder or 'another process'}.",
            "Wait for it, stop it, or name another database with --journal.",
        )

    def _prepare(self) -> None:
        """Tables, and a fencing token above every former one."""
        with self._writing.begin():
            metadata.create_all(self._writing)
            version = self._writing.scalar(select(meta.c.value).where(meta.c.key == "schema_version"))
            if version is not None and int(version) > VERSION:
                raise newer(shown(self.url), int(version))
            self._fence = int(self._writing.scalar(FENCE) or 0) + 1
            writer = f"process {os.getpid()} on {socket.gethostname()}"
            for key, value in (("schema_version", VERSION), ("fence", self._fence), ("writer", writer)):
                row = upsert(meta).values(key=key, value=str(value))
                self._writing.execute(row.on_conflict_do_update(index_elements=["key"], set_={"value": str(value)}))
            self._unwritten = Unwritten((self._writing.scalar(select(func.max(events.c.seq))) or 0) + 1)

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
        with self._transaction():
            self._writing.execute(insert(events), self._unwritten.rows)
            if self._unwritten.acknowledged:
                self._writing.execute(ACKNOWLEDGE, self._unwritten.acknowledged)
        self._unwritten.written()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """All that the block writes or nothing, if this is still the journal's writer."""
        with translated(self.url), self._writing.begin():
            fence = int(self._writing.scalar(FENCE.with_for_update()) or 0)
            if fence != self._fence:
                raise JournalError(
                    f"{shown(self.url)} was taken over by another head (number {fence}, this one is {self._fence}).",
                    "This one has written nothing since; follow the other with: shoal watch",
                )
            yield

    def new_commands(self) -> list[tuple[str, str, Json]]:
        with translated(self.url):
            rows = self._connection.execute(open_commands(self._given_out)).all()
        if rows:
            self._given_out = rows[-1].id
        return [(str(row.id), row.study, json.loads(row.body)) for row in rows]

    def save_snapshot(self, study: str, seq: int, body: Json) -> None:
        with self._transaction():
            self._writing.execute(delete(snapshots).where(snapshots.c.study == study, snapshots.c.seq == seq))
            self._writing.execute(insert(snapshots), packed(study, seq, body))
            self._writing.execute(superseded_snapshots(study))

    def close(self) -> None:
        """Let the lock go. Appended but uncommitted events are dropped.

        The lock is given back by name: the server would notice an ended connection too, but only some time after.
        """
        super().close()
        with suppress(SQLAlchemyError), self._writing.begin():
            self._writing.execute(select(func.pg_advisory_unlock(WRITER_LOCK)))
        self._writing.close()
