"""Where the journal of a data directory lies."""

from __future__ import annotations

from pathlib import Path

from ..search.journal.opening import FILE_NAME, is_address


def journal_of(data: Path) -> str:
    """The database that the setting `journal` names (`SHOAL_JOURNAL`, `shoal.toml`), else the SQLite file in `data`.

    There is no flag for it: an address may hold a password, and flags are seen by everybody on the machine.

    Raises:
        SpecError: a setting cannot be read.
    """
    from .cli.settings import Settings

    named = str(Settings.read().resolve("journal").value)
    return named or str(data / FILE_NAME)


def has_journal(data: Path) -> bool:
    """Has anything been run with this data directory? A database is taken to be there; opening it tells."""
    journal = journal_of(data)
    return is_address(journal) or Path(journal).is_file()
