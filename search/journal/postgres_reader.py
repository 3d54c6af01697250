"""Reading a PostgreSQL journal, from any number of machines, and asking its head for things."""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Iterator
from types import TracebackType
from typing import Literal, Self

from sqlalchemy import create_engine, func, insert, inspect, or_, select, text
from sqlalchemy.engine import Connection
from sqlalchemy.pool import NullPool

from ...errors import JournalError, NotFound
from ..codec import decode
from ..events import Event
from ..spec import Json
from .packing import first_whole
from .port import Snapshot
from .postgres_faults import database, shown, translated
from .schema import STUDIES, VERSION, commands, events, meta, snapshots_of

LOCK_HELD = text(
    "SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database"
    " WHERE locktype = 'advisory' AND classid = 0 AND objid = :key AND datname = current_database()"
)

CONNECT_TIMEOUT_S = 10
READ_ROWS = 2000
"""Events fetched at a time: a reader keeps no statement open longer than one batch takes to fetch."""

WRITER_LOCK = zlib.crc32(b"shoal journal writer")
"""The advisory lock that the one writer of a database's journal holds, as long as its connection lives."""


class PostgresReader:
    """A journal in a PostgreSQL database opened for reading.

    Args:
        address: `postgresql://user:password@host:port/database`; the tables lie in the user's default schema.

    Raises:
        NotFound: the database holds no journal.
        JournalError: it cannot be reached, or the journal is newer than this program.
    """

    def __init__(self, address: str) -> None:
        self.url = database(address)
        self._connection = self._connect("AUTOCOMMIT")
        self._seen = (0, 0)
        try:
            self._check_version()
        except BaseException:
            self._connection.close()
            raise

    def _connect(self, isolation_level: Literal["AUTOCOMMIT", "READ COMMITTED"]) -> Connection:
        with translated(self.url):
            engine = create_engine(
                self.url,
                poolclass=NullPool,
                isolation_level=isolation_level,
                connect_args={"connect_timeout": CONNECT_TIMEOUT_S, "application_name": "shoal"},
            )
            return engine.connect()

    def _check_version(self) -> None:
        with translated(self.url):
            version = self._version() if inspect(self._connection).has_table("meta") else None
        if version is None:
            raise NotFound(f"no journal in {shown(self.url)}.", "Run a study first, or name another with --journal.")
        if version > VERSION:
            raise newer(shown(self.url), version)

    def _version(self) -> int | None:
        text = self._connection.scalar(select(meta.c.value).where(meta.c.key == "schema_version"))
        return None if text is None else int(text)

    def studies(self) -> list[str]:
        with translated(self.url):
            return list(self._connection.scalars(STUDIES))

    def read(self, study: str, after_seq: int = 0) -> Iterator[tuple[int, Event]]:
        wanted = select(events.c.seq, events.c.at, events.c.kind, events.c.body).order_by(events.c.seq).limit(READ_ROWS)
        with translated(self.url):
            while True:
                later = wanted.where(events.c.study == study, events.c.seq > after_seq)
                rows = self._connection.execute(later).all()
                for row in rows:
                    yield row.seq, decode(row.kind, row.at, row.body)
                if len(rows) < READ_ROWS:
                    return
                after_seq = rows[-1].seq

    def read_of_trial(self, study: str, number: int) -> Iterator[Event]:
        """The events that may be about one trial, and those of heads; a few of other trials come along."""
        named = or_(events.c.body.like(f'%"number":{number}%'), events.c.kind == "HeadOpened")
        wanted = select(events.c.at, events.c.kind, events.c.body).where(events.c.study == study, named)
        with translated(self.url):
            rows = self._connection.execute(wanted.order_by(events.c.seq)).all()
        for row in rows:
            yield decode(row.kind, row.at, row.body)

    def snapshot(self, study: str) -> Snapshot | None:
        with translated(self.url):
            rows = self._connection.execute(snapshots_of(study))
            return first_whole((row.seq, row.digest, bytes(row.body)) for row in rows)

    def has_changed(self) -> bool:
        newest = select(func.max(events.c.seq)).scalar_subquery(), select(func.max(commands.c.id)).scalar_subquery()
        with translated(self.url):
            last_seq, last_command = self._connection.execute(select(*newest)).one()
        seen = (last_seq or 0, last_command or 0)
        changed = seen != self._seen
        self._seen = seen
        return changed

    def has_writer(self) -> bool:
        """Is a head running on this journal?"""
        with translated(self.url):
            return bool(self._connection.scalar(LOCK_HELD, {"key": WRITER_LOCK}))

    def put_command(self, study: str, body: Json) -> str:
        row = {"study": study, "at": time.time(), "body": json.dumps(body)}
        with translated(self.url):
            command = self._connection.execute(insert(commands).returning(commands.c.id), row).scalar_one()
        return str(command)

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def newer(place: str, version: int) -> JournalError:
    """The error for a journal that a newer shoal has made."""
    return JournalError(
        f"{place} has schema version {version}, newer than the {VERSION} that this shoal knows.", "Upgrade shoal."
    )
