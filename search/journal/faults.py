"""What SQLite complains about, in words that say what to do."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from ...errors import JournalError


@contextmanager
def translated(journal: Path) -> Iterator[None]:
    """Turn database errors inside the block into `JournalError`s about `journal`."""
    try:
        yield
    except (sqlite3.Error, SQLAlchemyError) as error:
        raise explained(journal, str(getattr(error, "orig", error))) from error


def explained(journal: Path, complaint: str) -> JournalError:
    """The error for SQLite's `complaint`."""
    if "disk is full" in complaint or "disk I/O error" in complaint:
        return JournalError(
            f"{journal} cannot be written: {complaint}.",
            "Make room on the disk and run the study again: it goes on from what was written.",
        )
    if "malformed" in complaint or "not a database" in complaint or "cut short" in complaint:
        return JournalError(
            f"{journal} is damaged: {complaint}.",
            f"Keep it, get back what can be read with: sqlite3 {journal} .recover | sqlite3 recovered.db",
        )
    if "readonly" in complaint or "unable to open" in complaint:
        return JournalError(f"{journal} cannot be opened: {complaint}.", "Check the folder and its permissions.")
    if "locked" in complaint:
        return JournalError(
            f"{journal} is held by another program: {complaint}.", "Close what has the file open and try again."
        )
    return JournalError(f"{journal} cannot be used: {complaint}.", "Keep the file and report this.")
