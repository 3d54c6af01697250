"""What has been appended to a journal and waits for its next commit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..codec import encode
from ..events import CommandDone, Event


@dataclass(slots=True)
class Unwritten:
    """Rows of the events table, numbered from `next_seq` on, and the commands that they acknowledge."""

    next_seq: int
    rows: list[dict[str, Any]] = field(default_factory=list)
    acknowledged: list[dict[str, int]] = field(default_factory=list)

    def append(self, study: str, events: Sequence[Event]) -> int:
        """Add `events`, all of them or none; gives the number of the first.

        Raises:
            JournalError: an event cannot be written as JSON.
        """
        first = self.next_seq
        rows = []
        acknowledged = []
        for seq, event in enumerate(events, start=first):
            kind, body = encode(event)
            rows.append({"seq": seq, "study": study, "at": event.at, "kind": kind, "body": body})
            if isinstance(event, CommandDone):
                acknowledged.append({"command": int(event.command), "seq": seq})
        self.rows += rows
        self.acknowledged += acknowledged
        self.next_seq += len(rows)
        return first

    def written(self) -> None:
        """The commit has gone through."""
        self.rows.clear()
        self.acknowledged.clear()
