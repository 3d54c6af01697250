"""A journal that lives and dies with the process: simulations, `ask`/`tell` without a file, tests."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from ..codec import decode, encode
from ..events import CommandDone, Event
from ..spec import Json
from .port import Snapshot


class MemoryJournal:
    """Keeps rows as the file would, so that what it gives back went through the same JSON."""

    def __init__(self) -> None:
        self._rows: list[tuple[str, float, str, str]] = []
        self._uncommitted: list[tuple[str, float, str, str]] = []
        self._commands: list[tuple[str, Json]] = []
        self._given_out = 0
        self._done: set[str] = set()
        self._snapshots: dict[str, tuple[int, str]] = {}
        self._changes = self._changes_seen = 0

    @property
    def fence(self) -> int:
        return 1

    @property
    def next_seq(self) -> int:
        return len(self._rows) + len(self._uncommitted) + 1

    def append(self, study: str, events: Sequence[Event]) -> int:
        first = self.next_seq
        self._uncommitted += [(study, event.at, *encode(event)) for event in events]
        self._done.update(event.command for event in events if isinstance(event, CommandDone))
        return first

    def commit(self) -> None:
        self._rows += self._uncommitted
        self._uncommitted.clear()

    def studies(self) -> list[str]:
        return list(dict.fromkeys(study for study, *_ in self._rows))

    def read(self, study: str, after_seq: int = 0) -> Iterator[tuple[int, Event]]:
        for seq, (owner, at, kind, body) in enumerate(self._rows[after_seq:], start=after_seq + 1):
            if owner == study:
                yield seq, decode(kind, at, body)

    def read_of_trial(self, study: str, number: int) -> Iterator[Event]:
        return (event for _, event in self.read(study))

    def has_writer(self) -> bool:
        return True

    def snapshot(self, study: str) -> Snapshot | None:
        if study not in self._snapshots:
            return None
        seq, body = self._snapshots[study]
        return Snapshot(seq=seq, body=json.loads(body))

    def save_snapshot(self, study: str, seq: int, body: Json) -> None:
        self._snapshots[study] = seq, json.dumps(body)

    def has_changed(self) -> bool:
        changed = self._changes != self._changes_seen
        self._changes_seen = self._changes
        return changed

    def put_command(self, study: str, body: Json) -> str:
        self._commands.append((study, json.loads(json.dumps(body))))
        self._changes += 1
        return str(len(self._commands))

    def new_commands(self) -> list[tuple[str, str, Json]]:
        first = self._given_out
        self._given_out = len(self._commands)
        rows = enumerate(self._commands[first:], start=first + 1)
        return [(str(row), study, body) for row, (study, body) in rows if str(row) not in self._done]

    def close(self) -> None:
        """Nothing to let go of."""
