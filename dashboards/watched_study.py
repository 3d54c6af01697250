"""A study kept up to date from its journal, for as long as somebody looks at it."""

from __future__ import annotations

from collections.abc import Callable

from ..search.events import Event
from ..search.journal.port import JournalReader
from ..search.replay import begin_study, catch_up
from .intervals import Intervals
from .study_view import StudyView


class WatchedStudy:
    """A study that is read from its journal and kept up to date.

    It folds every event itself instead of starting from a snapshot, since a snapshot has forgotten who held which
    device.

    Raises:
        NotFound: the journal has no such study.
        JournalError: the journal cannot be read.
    """

    def __init__(self, journal: JournalReader, study: str) -> None:
        self._state = begin_study(journal, study)
        self._intervals = Intervals()
        self.view = StudyView(self._state, self._intervals)
        self.name = study
        self.catch_up(journal)

    @property
    def seq(self) -> int:
        """The last event taken in."""
        return self._state.last_seq

    def catch_up(self, journal: JournalReader, *observers: Callable[[Event], None]) -> int:
        """Take in what the journal has beyond this and tell the observers each event; how many they were."""
        return catch_up(self._state, journal, self._intervals.observe, *observers)
