"""One turn of a live study: collects the events and instructions that one incoming fact leads to."""

from __future__ import annotations

from .events import Event
from .fold import StudyFold
from .instructions import Instruction, Outcome


class Turn:
    """Applies what is emitted at once, so that each later decision of the turn sees it."""

    __slots__ = ("_events", "_instructions", "_seq", "_state", "at")

    def __init__(self, state: StudyFold, at: float, seq: int) -> None:
        self._state = state
        self._seq = seq
        self._events: list[Event] = []
        self._instructions: list[Instruction] = []
        self.at = at

    def emit(self, event: Event) -> None:
        """A further event of this turn."""
        took_effect = self._state.apply(event, self._seq)
        assert took_effect, f"the study decided something that changes nothing: {event}"
        self._seq += 1
        self._events.append(event)

    def perform(self, instruction: Instruction) -> None:
        """Have the head do something once the events are safe."""
        self._instructions.append(instruction)

    def outcome(self) -> Outcome:
        return Outcome(events=tuple(self._events), instructions=tuple(self._instructions))
