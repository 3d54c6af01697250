"""The journal's tables, and the few statements that run often, compiled once."""

from __future__ import annotations

from sqlalchemy import (
    Column,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    bindparam,
    insert,
    literal_column,
    select,
    update,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.sql.elements import ClauseElement

VERSION = 1
"""Raised with every change that an older shoal could not read."""

metadata = MetaData()

events = Table(
    "events",
    metadata,
    Column("seq", Integer, primary_key=True),
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
    Column("id", Integer, primary_key=True),
    Column("study", Text, nullable=False),
    Column("at", Float, nullable=False),
    Column("body", Text, nullable=False),
    Column("done_seq", Integer),
)
Index("open_commands", commands.c.id, sqlite_where=commands.c.done_seq.is_(None))

# `body`: zlib-compressed JSON; `digest`: the SHA-256 (hex) of that body.
snapshots = Table(
    "snapshots",
    metadata,
    Column("study", Text, primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("digest", Text, nullable=False),
    Column("body", LargeBinary, nullable=False),
)

meta = Table("meta", metadata, Column("key", Text, primary_key=True), Column("value", Text, nullable=False))


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
