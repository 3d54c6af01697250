"""The journal's port: an append-only list of events for many studies, and the table in which others ask for things.

One writer at a time, the head; any number of readers. Sequence numbers are one series over all studies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..events import Event
from ..spec import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A study's folded state after the event `seq`, as JSON."""

    seq: int
    body: Json


class JournalReader(Protocol):
    """What anybody may do with a journal; never in the writer's way."""

    def studies(self) -> list[str]:
        """Names of the studies, oldest first."""
        ...

    def read(self, study: str, after_seq: int = 0) -> Iterator[tuple[int, Event]]:
        """The committed events of a study in order, those after `after_seq`."""
        ...

    def read_of_trial(self, study: str, number: int) -> Iterator[Event]:
        """The committed events that may be about one trial, and those of heads; a few of other trials come along."""
        ...

    def snapshot(self, study: str) -> Snapshot | None:
        """The latest snapshot that is whole, if there is one."""
        ...

    def has_changed(self) -> bool:
        """Has somebody else committed since the last call? Cheap."""
        ...

    def has_writer(self) -> bool:
        """Is a head running on this journal?"""
        ...

    def put_command(self, study: str, body: Json) -> str:
        """Ask the head for something; `CommandDone` with the returned id is its reply."""
        ...

    def close(self) -> None: ...


class Journal(JournalReader, Protocol):
    """What the one writer may do besides."""

    @property
    def fence(self) -> int:
        """This writer's number; a later writer's is higher, and then this one can write no more."""
        ...

    @property
    def next_seq(self) -> int:
        """The number that the next appended event gets."""
        ...

    def append(self, study: str, events: Sequence[Event]) -> int:
        """Add events to those that the next `commit` writes; gives the number of the first.

        Raises:
            JournalError: an event cannot be written as JSON.
        """
        ...

    def commit(self) -> None:
        """Write what was appended, all of it or nothing.

        Raises:
            JournalError: the disk is full, or another head took over; the appended events are still there to commit.
        """
        ...

    def new_commands(self) -> list[tuple[str, str, Json]]:
        """(id, study, body) of unacknowledged commands not given out before, oldest first. Cheap without any."""
        ...

    def save_snapshot(self, study: str, seq: int, body: Json) -> None:
        """Keep a study's state as of the event `seq`, which is committed."""
        ...
