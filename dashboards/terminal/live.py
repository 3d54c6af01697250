"""Following running studies: a screen that is redrawn, or a line per event.

Both take what the head's observers are told, `(state, event)`, and write to the given console (stderr in the
command line, since stdout is for data).
"""

from __future__ import annotations

import time
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live

from ...search.events import Event, StudyEnded
from ...search.study_data import StudyData
from . import plain
from .figures import number
from .standing import settled
from .study_view import study_view

REDRAW_S = 0.125
"""Least time between two drawings: eight a second look continuous to the eye."""


class Follower(Protocol):
    """Is told each event of each study after it is durable."""

    def __call__(self, state: StudyData, event: Event) -> None: ...

    def show(self, state: StudyData) -> None:
        """Begin with a study as it stands."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class PlainFollower:
    """Writes one line per event."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def __call__(self, state: StudyData, event: Event) -> None:
        text = plain.line(state, event)
        if text is not None:
            print(text, file=self._console.file)  # as it is: wrapping is for screens

    def show(self, state: StudyData) -> None:
        best = "" if state.best is None else f"; best {number(state.best.value)} in #{state.best.number}"
        done = f"{settled(state)} of {state.spec.budget.trials or '?'} trials"
        print(f"{state.name} {state.status}: {done}{best}", file=self._console.file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ignored: object) -> None:
        return None


class LiveFollower:
    """Keeps one screen of all studies up to date."""

    def __init__(self, console: Console) -> None:
        self._live = Live(console=console, auto_refresh=False, transient=False, vertical_overflow="ellipsis")
        self._studies: dict[str, StudyData] = {}
        self._drawn_at = 0.0

    def __call__(self, state: StudyData, event: Event) -> None:
        self._studies[state.name] = state
        if isinstance(event, StudyEnded) or time.monotonic() - self._drawn_at >= REDRAW_S:
            self.draw()

    def show(self, state: StudyData) -> None:
        self._studies[state.name] = state
        self.draw()

    def draw(self) -> None:
        """Draw the studies as they stand now."""
        self._drawn_at = time.monotonic()
        self._live.update(screen(list(self._studies.values()), time.time()), refresh=True)

    def __enter__(self) -> Self:
        self._live.start(refresh=False)
        return self

    def __exit__(self, *ignored: object) -> None:
        if self._studies:
            self.draw()
        self._live.stop()


def screen(states: list[StudyData], at: float) -> RenderableType:
    """All studies under each other; with several, each gets fewer rows."""
    if len(states) == 1:
        return study_view(states[0], at)
    return Group(*(study_view(state, at, at_work=4, waiting=1, ended=2) for state in states))


def follower(console: Console, *, plain_lines: bool) -> Follower:
    """The live screen on a terminal, lines elsewhere or when asked for."""
    if plain_lines or not console.is_terminal:
        return PlainFollower(console)
    return LiveFollower(console)
