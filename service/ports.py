"""The ports the head stands on: a runner of trials and a host of strategies.

Both are asked, never call back: `perform`/`ask` return at once, `drain` hands over what has happened, and the head
waits on their `waitables` together. A runner also owns the clock: real seconds for the node agent, virtual ones for
the simulation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ..search.spec import Json, StudySpec
from ..search.strategies.port import PastAsk, Pending, Proposal, Result
from ..trial_runner.messages import Instruction, NodeEvent, RunnerEvent


class Runner(Protocol):
    """Runs trials on one or more nodes."""

    def now(self) -> float:
        """Seconds since the epoch on this runner's clock."""
        ...

    def perform(self, instruction: Instruction) -> None: ...

    def waitables(self) -> Sequence[int]:
        """File descriptors that become readable when `drain` has something."""
        ...

    def next_due_s(self) -> float | None:
        """In how many seconds the runner wants `drain` called though nothing became readable (time limits,
        virtual time); None: never. A simulation returns 0."""
        ...

    def drain(self) -> Sequence[RunnerEvent | NodeEvent]:
        """What has happened since the last call, in order. Never blocks. A simulation advances its clock to its
        next event here."""
        ...

    def close(self) -> None:
        """End every process this runner started."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A host's reply to `ask`: proposals (fewer than asked: exhausted), or what went wrong."""

    study: str
    ask: int
    proposals: tuple[Proposal, ...]
    exhausted: bool
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestionAnswer:
    """A host's reply to `suggest`."""

    study: str
    number: int
    generation: int
    path: str
    value: Json
    error: str = ""


class StrategyHost(Protocol):
    """Keeps one strategy per study."""

    def open(self, study: str, spec: StudySpec, history: Sequence[PastAsk] = ()) -> None:
        """Build the study's strategy. Its first `ask` carries every result that `history` does not.

        `history` is for strategies with `replays_asks`: the former asks in order, repeated to restore their state.
        Without it they are told all results and begin a new run of their own from there.

        Raises:
            SpecError: an unknown strategy or option.
        """
        ...

    def uses_history(self, study: str) -> bool: ...

    def ask(
        self,
        study: str,
        ask: int,
        first_number: int,
        n: int,
        results: Sequence[Result],
        pending: Sequence[Pending],
        seed: int,
        wanted: Sequence[Json] = (),
    ) -> None:
        """Tell `results`, then ask. One `Answer` follows; it begins with the `wanted` configurations, judged as the
        strategy's own are."""
        ...

    def suggest(self, study: str, number: int, generation: int, path: str, domain: Json, seed: int) -> None: ...

    def waitables(self) -> Sequence[int]: ...

    def drain(self) -> list[Answer | SuggestionAnswer]: ...

    def close(self) -> None: ...
