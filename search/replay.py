"""Opening a study from its journal: the latest snapshot, then the events after it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TypeVar

from ..errors import JournalError, NotFound
from . import snapshot
from .early_stopping.port import Promotion, StoppingRule, Verdict
from .events import Event, StudyCreated
from .fold import StudyFold
from .journal.port import Journal, JournalReader
from .spec import Chosen, Objective, StudySpec
from .study_state import StudyState

State = TypeVar("State", bound=StudyFold)

SNAPSHOT_EVERY = 20_000
"""Events between two snapshots: folding so many takes under half a second, as does writing a large snapshot."""


class Onlooker:
    """The stopping rule of somebody who only reads: the decisions are in the journal, so it keeps nothing."""

    def observe(self, number: int, step: int, value: float | None) -> None:
        """Nothing to keep."""

    def observe_all(self, number: int, step: int, losses: tuple[float, ...] | None) -> None:
        """Nothing to keep."""

    def verdict(self, number: int, *, can_pause: bool) -> Verdict:
        raise AssertionError("a reader decides nothing")

    def promotions(self, paused: Collection[int], *, closing: bool = False) -> list[Promotion]:
        raise AssertionError("a reader decides nothing")

    def farewell(self, number: int) -> str:
        raise AssertionError("a reader decides nothing")


def load_study(journal: JournalReader, study: str) -> StudyState:
    """The study, ready to be gone on with.

    Raises:
        NotFound: the journal has no such study.
        JournalError: the journal cannot be read.
    """
    return _load(journal, study, StudyState.create)


def read_study(journal: JournalReader, study: str) -> StudyFold:
    """The study as its journal has it, for reading only: neither strategy nor stopping rule is built.

    Raises:
        NotFound: the journal has no such study.
        JournalError: the journal cannot be read.
    """
    return _load(journal, study, lambda spec: StudyFold(spec, _onlooker))


def begin_study(journal: JournalReader, study: str) -> StudyFold:
    """The study before its first event, for readers that want to see every one of them: `catch_up` tells them all.

    Raises:
        NotFound: the journal has no such study.
        JournalError: the journal cannot be read.
    """
    return StudyFold(_first_spec(journal, study), _onlooker)


def catch_up(state: StudyFold, journal: JournalReader, *observers: Callable[[Event], None]) -> int:
    """Take in what the journal has beyond `state` and tell the observers each event; how many they were."""
    count = 0
    for seq, event in journal.read(state.name, state.last_seq):
        state.apply(event, seq)
        for observe in observers:
            observe(event)
        count += 1
    return count


def save_snapshot(state: StudyFold, journal: Journal) -> None:
    """Keep the state as it is now; everything it knows must be committed. Worth it every `SNAPSHOT_EVERY` events."""
    journal.save_snapshot(state.name, state.last_seq, snapshot.to_json(state))


def _load(journal: JournalReader, study: str, make: Callable[[StudySpec], State]) -> State:
    kept = journal.snapshot(study)
    if kept is not None and snapshot.is_usable(kept.body):
        state = make(snapshot.spec_of(kept.body))
        snapshot.restore(state, kept.body, kept.seq)
    else:
        state = make(_first_spec(journal, study))
    catch_up(state, journal)
    return state


def _first_spec(journal: JournalReader, study: str) -> StudySpec:
    for _, event in journal.read(study):
        if isinstance(event, StudyCreated):
            return StudySpec.from_json(event.spec)
        raise JournalError(
            f"study {study!r} begins with {type(event).__name__} instead of its creation.",
            "The journal is damaged: go on from a copy.",
        )
    raise NotFound(f"no study {study!r} in the journal.", "List the studies with: shoal ls")


def _onlooker(chosen: Chosen, objective: Objective) -> StoppingRule:
    return Onlooker()
