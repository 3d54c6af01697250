"""What the study's state wants done: plain values that the head carries out after the journal has committed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from .events import EndState, Event
from .spec import Json
from .strategies.port import Pending, Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """What all instructions share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask(Instruction):
    """Tell the strategy `results`, then ask it for `n` configurations. Reply with `StudyState.answer`.

    `results` holds what has ended since the last ask of this process; the first ask carries everything. `wanted` are
    (key, configuration) pairs that people enqueued, to be judged where networks can be predicted: the reply begins with
    them, and says which of them fit no device.
    """

    ask: int
    first_number: int
    n: int
    results: tuple[Result, ...]
    pending: tuple[Pending, ...]
    seed: int
    wanted: tuple[tuple[str, Json], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer(Instruction):
    """The trial may run. `generation` is the one its `TrialAssigned` will carry."""

    number: int
    generation: int
    rung: int
    priority: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdraw(Instruction):
    """The trial no longer wants to start."""

    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Instruction):
    """What the trial does after its report of `step`."""

    number: int
    generation: int
    step: int
    verdict: Literal["continue", "pause", "stop"]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill(Instruction):
    """End the trial's processes now; its `TrialEnded` follows."""

    number: int
    generation: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause(Instruction):
    """Let the trial save itself at its next boundary and go; its `TrialEnded` follows."""

    number: int
    generation: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class End(Instruction):
    """The study is over."""

    state: EndState
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one step of the state led to.

    `events` are already applied; journal them after the event that caused them, commit, then perform `instructions`.
    """

    events: tuple[Event, ...] = field(default=())
    instructions: tuple[Instruction, ...] = field(default=())
