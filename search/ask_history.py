"""Opening a study whose strategy has to repeat its former asks (CMA-ES, NSGA-II keep state about their own)."""

from __future__ import annotations

from .events import StudyCreated, StudyEdited
from .journal.port import JournalReader
from .replay import load_study
from .strategies.history import past_asks
from .strategies.port import PastAsk
from .study_state import StudyState


def load_with_asks(journal: JournalReader, study: str) -> tuple[StudyState, list[PastAsk]]:
    """The study ready to be gone on with, and the asks that restore its strategy.

    What those asks told counts as told. A study whose strategy or space was changed on the way has no asks to repeat:
    the new strategy is told every result at its next one.

    Raises:
        NotFound: the journal has no such study.
        JournalError: the journal cannot be read.
    """
    state = load_study(journal, study)
    events = list(journal.read(study))
    specs = [event.spec for _, event in events if isinstance(event, StudyCreated | StudyEdited)]
    if any(spec[part] != specs[0][part] for spec in specs for part in ("strategy", "space")):
        return state, []
    asks = past_asks(events)
    for ask in asks:
        state.mark_told(ask.results)
    return state, asks
