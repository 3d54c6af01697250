"""`JournalWatch`: all studies of a journal, kept up to date by one thread, read by many."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from ...dashboards.study_view import StudyView
from ...dashboards.watched_study import WatchedStudy
from ...errors import JournalError, NotFound, ShoalError
from ...search.events import CommandDone, Event
from ...search.journal.opening import open_reader
from ...search.journal.port import JournalReader
from ...search.spec import Json
from ..journal_place import has_journal, journal_of
from ..pool_view import read_pool

POLL_S = 0.05
"""How often the journal's version number is looked at: one read of a page that is in memory."""

NEW_STUDIES_S = 1.0
"""How often new studies are looked for, which takes a pass over the journal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledged:
    """What the head said to a command."""

    ok: bool
    effect: str


class JournalWatch:
    """Follows the journal of a data directory from a thread of its own.

    `seqs` has the last event taken in of each study; `trouble` says why the journal cannot be read right now.

    Args:
        data: the data directory; its journal may be made later.
    """

    def __init__(self, data: Path) -> None:
        self.data = data
        self.journal = journal_of(data)
        self.seqs: dict[str, int] = {}
        self.trouble = ""
        self.is_loaded = threading.Event()
        self._studies: dict[str, WatchedStudy] = {}
        self._done: dict[str, Acknowledged] = {}
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="journal watch", daemon=True)

    def start(self) -> None:
        """Begin to follow."""
        self._thread.start()

    def close(self) -> None:
        """End; returns when the journal is closed."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join()

    @contextmanager
    def study(self, name: str) -> Iterator[StudyView]:
        """A study that does not change while the block runs.

        Raises:
            NotFound: no such study (did you mean).
        """
        self.is_loaded.wait(timeout=60)
        with self._lock:
            if name not in self._studies:
                names = list(self._studies)
                close = get_close_matches(name, names, n=1)
                known = f"Known: {', '.join(names)}." if names else "The journal holds no study yet."
                raise NotFound(f"no study {name!r} in {self.data}.", f"Did you mean {close[0]}?" if close else known)
            yield self._studies[name].view

    @contextmanager
    def studies(self) -> Iterator[list[StudyView]]:
        """All studies, oldest first, none of which changes while the block runs."""
        self.is_loaded.wait(timeout=60)
        with self._lock:
            yield [watched.view for watched in self._studies.values()]

    def acknowledgement(self, command: str, within_s: float) -> Acknowledged | None:
        """The head's reply to a command; None when none came in time."""
        until = time.monotonic() + within_s
        with self._changed:
            while command not in self._done:
                left = until - time.monotonic()
                if left <= 0:
                    return None
                self._changed.wait(left)
            return self._done[command]

    def head_is_running(self) -> bool:
        """Does a program hold the journal for writing now?"""
        try:
            with closing(open_reader(self.journal)) as reader:
                return reader.has_writer()
        except ShoalError:  # no journal yet, or one that `trouble` tells of
            return False

    def pool(self) -> Json:
        """The latest picture of the pool (`service/pool_view.py`); None before the first."""
        try:
            with closing(open_reader(self.journal)) as reader:
                return read_pool(reader)
        except ShoalError:  # as above
            return None

    def _follow(self) -> None:
        while not self._closing.is_set():
            try:
                if has_journal(self.data):
                    self._read_on()
                else:
                    self.is_loaded.set()
            except ShoalError as error:
                self.trouble = str(error)
                self.is_loaded.set()
            self._closing.wait(1.0)

    def _read_on(self) -> None:
        looked_at = 0.0
        with closing(open_reader(self.journal)) as reader:
            self.trouble = ""
            while not self._closing.is_set():
                if reader.has_changed() or not self.is_loaded.is_set():
                    if time.monotonic() - looked_at > NEW_STUDIES_S:
                        self._take_in_new(reader)
                        looked_at = time.monotonic()
                    self._catch_up(reader)
                    self.is_loaded.set()
                elif looked_at and time.monotonic() - looked_at > NEW_STUDIES_S:
                    self._take_in_new(reader)
                    looked_at = 0.0
                self._closing.wait(POLL_S)

    def _take_in_new(self, reader: JournalReader) -> None:
        for name in reader.studies():
            if name not in self._studies:
                try:
                    watched = WatchedStudy(reader, name)
                except JournalError as error:
                    self.trouble = str(error)
                    continue
                with self._changed:
                    self._studies[name] = watched
                    self.seqs[name] = watched.seq
                    self._changed.notify_all()

    def _catch_up(self, reader: JournalReader) -> None:
        for watched in list(self._studies.values()):
            with self._changed:
                if watched.catch_up(reader, self._observe):
                    self.seqs[watched.name] = watched.seq
                    self._changed.notify_all()

    def _observe(self, event: Event) -> None:
        if isinstance(event, CommandDone):
            self._done[event.command] = Acknowledged(ok=event.ok, effect=event.effect)
