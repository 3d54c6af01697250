"""Which journal an address means: a SQLite file, or a PostgreSQL database by URL.

The drivers are imported when their kind of journal is opened.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .port import Journal, JournalReader

FILE_NAME = "journal.db"


def is_address(journal: str) -> bool:
    """Is `journal` the URL of a database?

    >>> is_address("postgresql://localhost/shoal"), is_address(".shoal/journal.db")
    (True, False)
    """
    return "://" in journal


def open_journal(journal: str) -> Journal:
    """The journal opened for writing; made if it is not there.

    Raises:
        JournalLocked: another head holds it.
        JournalError: it cannot be opened, or is newer than this program.
    """
    if is_address(journal):
        from .postgres import PostgresJournal

        return PostgresJournal(journal)
    from .sqlite import SqliteJournal

    return SqliteJournal(Path(journal))


def open_reader(journal: str) -> JournalReader:
    """The journal opened for reading.

    Raises:
        NotFound: there is none.
        JournalError: it cannot be opened, or is newer than this program.
    """
    if is_address(journal):
        from .postgres_reader import PostgresReader

        return PostgresReader(journal)
    from .sqlite_reader import SqliteReader

    return SqliteReader(Path(journal))
