"""What a study begins with besides its spec: borrowed results, and the configurations that are tried first."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from ..errors import NotFound, SpecError
from ..search.borrowing import loan
from ..search.events import Enqueued, Event, HistoryBorrowed
from ..search.journal.port import JournalReader
from ..search.replay import read_study
from ..search.strategies import describe
from ..search.study_state import StudyState

if TYPE_CHECKING:
    from .arrivals import Notice
    from .study import Study


def wishes(study: Study, state: StudyState, journal: JournalReader, *, now: float, notice: Notice) -> list[Event]:
    """The events that a study about to run begins with; what the journal has of them already is not repeated.

    Raises:
        NotFound: there is no study to borrow from.
        SpecError: it has nothing to lend, or the strategy would not learn from it.
    """
    first: list[Event] = []
    points = list(study.first_points)
    if study.like is not None and study.like not in state.lenders:
        found = _loan_events(study, study.like, journal, now)
        notice(f"{study.name} begins with {found.reason}")
        first.append(found)
        points.append((found.best, f"the best of {study.like}"))
    first += [
        Enqueued(at=now, config=config, key=key) for config, key in points if key not in state.enqueued_keys
    ]
    return first


def _loan_events(study: Study, like: str, journal: JournalReader, now: float) -> HistoryBorrowed:
    spec = study.spec()
    names = [name for name in journal.studies() if name != spec.name]
    if like not in names:
        near = difflib.get_close_matches(like, names, n=1)
        hint = f"Did you mean {near[0]}?" if near else f"There are: {', '.join(names) or 'none'}."
        raise NotFound(f"no study {like!r} to borrow from.", hint)
    if not describe(spec.strategy.name).borrows:
        raise SpecError(
            f"like={like!r}: strategy {spec.strategy.name!r} does not learn from other studies.",
            "Use strategy='portfolio', 'bayesian', 'random_forest' or 'evolution'.",
        )
    lent = loan(read_study(journal, like), spec)
    return HistoryBorrowed(at=now, study=like, results=lent.results, best=lent.best.to_json(), reason=lent.story)
