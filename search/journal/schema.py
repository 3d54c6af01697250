"""The journal's tables, and the few statements that run often, compiled once."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    bindparam,
    delete,
    func,
    insert,
    literal_column,
    select,
    update,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.sql import Delete, Select
from sqlalchemy.sql.elements import ClauseElement

from .packing import KEPT_SNAPSHOTS

VERSION = 1
"""Raised with every change that an older shoal could not read."""

metadata = MetaData()

Whole = BigInteger().with_variant(Integer, "sqlite")
"""Numbers of events and commands: 64 bits everywhere (SQLite numbers rows by itself only under the name INTEGER)."""

events = Table(
    "events",
    metadata,
    Column("seq", Whole, primary_key=True, autoincrement=False),
    Column("study", Text, nullable=False),
    Column("at", Float, nullable=False),
    Column("kind", Text, nullable=False),
    Column("body", Text, nullable=False),
)
Index("events_of_study", events.c.study, events.c.seq)

# `done_seq`: the CommandDone event that acknowledged the row, written in the same transaction.
commands = Table(
    "commands",
    metadata,
    Column("id", Whole, primary_key=True),
    Column("study", Text, nullable=False),
    Column("at", Float, nullable=False),
    Column("body", Text, nullable=False),
    Column("done_seq", Whole),
)
NOT_DONE = commands.c.done_seq.is_(None)
Index("open_commands", commands.c.id, sqlite_where=NOT_DONE, postgresql_where=NOT_DONE)

# `body`: zlib-compressed JSON; `digest`: the SHA-256 (hex) of that body.
snapshots = Table(
    "snapshots",
    metadata,
    Column("study", Text, primary_key=True),
    Column("seq", Whole, primary_key=True, autoincrement=False),
    Column("digest", Text, nullable=False),
    Column("body", LargeBinary, nullable=False),
)

meta = Table("meta", metadata, Column("key", Text, primary_key=True), Column("value", Text, nullable=False))


STUDIES = select(events.c.study).group_by(events.c.study).order_by(func.min(events.c.seq))


def open_commands(after_id: int) -> Select[tuple[int, str, str]]:
    """(id, study, body) of the commands behind `after_id` that nobody has acknowledged, oldest first."""
    wanted = select(commands.c.id, commands.c.study, commands.c.body)
    return wanted.where(NOT_DONE, commands.c.id > after_id).order_by(commands.c.id)


def snapshots_of(study: str) -> Select[tuple[int, str, bytes]]:
    """(seq, digest, body) of a study's snapshots, latest first; none of events that the journal has lost."""
    last_seq = select(func.max(events.c.seq)).scalar_subquery()
    wanted = select(snapshots.c.seq, snapshots.c.digest, snapshots.c.body)
    return wanted.where(snapshots.c.study == study, snapshots.c.seq <= last_seq).order_by(snapshots.c.seq.desc())


def superseded_snapshots(study: str) -> Delete:
    """Drops all but the last `KEPT_SNAPSHOTS`."""
    kept = select(snapshots.c.seq).where(snapshots.c.study == study)
    kept = kept.order_by(snapshots.c.seq.desc()).limit(KEPT_SNAPSHOTS)
    return delete(snapshots).where(snapshots.c.study == study, snapshots.c.seq.not_in(kept))


def _compiled(statement: ClauseElement) -> str:
    return str(statement.compile(dialect=sqlite.dialect(paramstyle="named")))


INSERT_EVENT = _compiled(insert(events))
READ_EVENTS = _compiled(
    select(events.c.seq, events.c.at, events.c.kind, events.c.body)
    .where(events.c.study == bindparam("study"), events.c.seq > bindparam("after_seq"))
    .order_by(events.c.seq)
)
READ_TRIAL_EVENTS = _compiled(
    select(events.c.at, events.c.kind, events.c.body)
    .where(
        events.c.study == bindparam("study"),
        events.c.body.like(bindparam("pattern")) | (events.c.kind == literal_column("'HeadOpened'")),
    )
    .order_by(events.c.seq)
)
READ_FENCE = _compiled(select(meta.c.value).where(meta.c.key == bindparam("name")))
ACKNOWLEDGE = _compiled(
    update(commands)
    .where(commands.c.id == bindparam("command"), commands.c.done_seq.is_(None))
    .values(done_seq=bindparam("seq"))
)
