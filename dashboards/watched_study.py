"""A study kept up to date from its journal, for as long as somebody looks at it."""

from __future__ import annotations

from collections.abc import Callable

from ..errors import JournalError, NotFound
from ..search.events import Event, StudyCreated
from ..search.fold import StudyFold
from ..search.journal.port import JournalReader
from ..search.replay import Onlooker
from ..search.spec import StudySpec
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
        self._state = StudyFold(_first_spec(journal, study), lambda chosen, objective: Onlooker())
        self._intervals = Intervals()
        self.view = StudyView(self._state, self._intervals)
        self.name = study
        self.catch_up(journal)

    @property
    def seq(self) -> int:
        """The last event taken in."""
        return self._state.last_seq

    def catch_up(self, journal: JournalReader, observe: Callable[[Event], None] | None = None) -> int:
        """Take in what the journal has beyond this; how many events that were."""
        count = 0
        for seq, event in journal.read(self.name, self._state.last_seq):
            self._state.apply(event, seq)
            self._intervals.observe(event)
            if observe is not None:
                observe(event)
            count += 1
        return count


def _first_spec(journal: JournalReader, study: str) -> StudySpec:
    for _, event in journal.read(study):
        if isinstance(event, StudyCreated):
            return StudySpec.from_json(event.spec)
        raise JournalError(
            f"study {study!r} begins with {type(event).__name__} instead of its creation.",
            "The journal is damaged: go on from a copy.",
        )
    raise NotFound(f"no study {study!r} in the journal.", "List the studies with: shoal ls")
