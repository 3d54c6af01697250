"""The journal as commands see it: read-only, never in a running head's way."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Self

from ...errors import NotFound

if TYPE_CHECKING:
    from ...search.events import Event
    from ...search.fold import StudyFold
    from ...search.journal.port import JournalReader
    from ...search.spec import Json
    from ...search.trial_record import TrialRecord

def open_reader(data: Path) -> Reader:
    """Open the journal of a data directory for reading.

    Raises:
        NotFound: there is none.
        JournalError: it cannot be read, or was written by a newer program.
    """
    from ...search.journal import opening
    from ..journal_place import has_journal, journal_of

    if not has_journal(data):
        raise NotFound(f"there is no journal in {data}.", "Run a study first, or name its folder with --data.")
    return Reader(data, opening.open_reader(journal_of(data)))


class Reader:
    """Studies by name, with guesses for names that are misspelt."""

    def __init__(self, data: Path, journal: JournalReader) -> None:
        self._data = data
        self._journal = journal
        self._states: dict[str, StudyFold] = {}

    def studies(self) -> list[str]:
        """Names of the studies, oldest first."""
        return self._journal.studies()

    def state(self, study: str) -> StudyFold:
        """A study as the journal has it now.

        Raises:
            NotFound: no such study (did you mean).
        """
        from ...search.replay import catch_up, read_study

        known = self._states.get(study)
        if known is None:
            self.require(study)
            known = self._states[study] = read_study(self._journal, study)
        else:
            catch_up(known, self._journal)
        return known

    def require(self, study: str) -> None:
        """Make sure of a study's name.

        Raises:
            NotFound: no such study.
        """
        names = self.studies()
        if study not in names:
            close = get_close_matches(study, names, n=1)
            known = f"Known: {', '.join(names)}." if names else "The journal holds no study yet."
            raise NotFound(f"no study {study!r} in {self._data}.", f"Did you mean {close[0]}?" if close else known)

    def trial(self, study: str, number: int) -> TrialRecord:
        """A trial as the journal has it now.

        Raises:
            NotFound: no such study or trial.
        """
        state = self.state(study)
        record = state.trials.get(number)
        if record is None:
            there = f"It has trials 0 to {len(state.trials) - 1}." if state.trials else "It has no trials yet."
            raise NotFound(f"study {study} has no trial {number}.", there)
        return record

    def events(self, study: str, after_seq: int = 0) -> Iterator[tuple[int, Event]]:
        """The study's events behind `after_seq`.

        Raises:
            NotFound: no such study.
        """
        self.require(study)
        return self._journal.read(study, after_seq)

    @property
    def journal(self) -> JournalReader:
        """The journal itself, for those that fold its events their own way."""
        return self._journal

    def ask_head(self, study: str, command: Json) -> str:
        """Put a request into the commands table; returns the id that its acknowledgement will carry."""
        return self._journal.put_command(study, command)

    def head_is_running(self) -> bool:
        """Does a program hold the journal for writing now?"""
        return self._journal.has_writer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ignored: object) -> None:
        self._journal.close()
