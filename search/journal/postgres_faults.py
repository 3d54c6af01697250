"""What PostgreSQL complains about, in words that say what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from ...errors import JournalError

DRIVER = "postgresql+psycopg"


def database(address: str) -> URL:
    """The database that an address names, with the driver that shoal uses.

    Raises:
        JournalError: it is no PostgreSQL address, or names no database.
    """
    try:
        url = make_url(address)
    except (ArgumentError, ValueError):
        url = None
    if url is None or url.get_backend_name() != "postgresql" or not url.database:
        # the address itself is not repeated: it may hold a password
        raise JournalError(
            "the journal's address is no PostgreSQL address with a database.",
            "Write it as postgresql://user:password@host:5432/database",
        )
    return url.set(drivername=DRIVER)


def shown(url: URL) -> str:
    """The address as people may see it, without its password."""
    return url.set(drivername="postgresql").render_as_string(hide_password=True)


@contextmanager
def translated(url: URL) -> Iterator[None]:
    """Turn database errors inside the block into `JournalError`s about `url`."""
    try:
        yield
    except ImportError as error:
        raise JournalError(
            f"{shown(url)} needs psycopg, which is not installed ({error}).",
            "Install it: pip install -c constraints.txt 'shoal[postgres]'",
        ) from None
    except SQLAlchemyError as error:
        raise explained(url, str(getattr(error, "orig", error))) from error


def explained(url: URL, complaint: str) -> JournalError:
    """The error for PostgreSQL's `complaint`."""
    first_line = complaint.strip().splitlines()[0] if complaint.strip() else "no reason given"
    if "does not exist" in complaint and "database" in complaint:
        remedy = f"Make it: createdb {url.database}"
    elif "password" in complaint or "authentication" in complaint or "role" in complaint:
        remedy = "Check the user and the password in the address."
    elif "permission denied" in complaint or "read-only" in complaint:
        remedy = f"Let {url.username or 'the user'} create tables in {url.database} and write to them."
    elif "could not extend" in complaint or "No space left" in complaint:
        remedy = "Make room on the database's disk and run the study again: it goes on from what was written."
    else:
        remedy = (
            "Check that the server runs and can be reached. A study that is run again goes on from what was written."
        )
    return JournalError(f"{shown(url)} cannot be used: {first_line}.", remedy)
