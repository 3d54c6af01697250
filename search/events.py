"""The vocabulary of the journal: everything that can happen to a study.

Each event is one frozen dataclass; `kind` in the journal is the class name. All fields are JSON values
(non-finite numbers as the strings "nan", "inf", "-inf", see `numbers.py`). `at` is seconds since the epoch on the
runner's clock, so that a replay needs no clock of its own. `reason` is never empty: `shoal explain` prints it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from .spec import Json


class FailureKind(StrEnum):
    """Why a trial failed. Only BUG, OOM, TIMEOUT and DIVERGED are the user's own."""

    BUG = "BUG"
    OOM = "OOM"
    TIMEOUT = "TIMEOUT"
    DIVERGED = "DIVERGED"
    LOST = "LOST"
    PREEMPTED = "PREEMPTED"

    @property
    def is_users(self) -> bool:
        return self not in (FailureKind.LOST, FailureKind.PREEMPTED)


Outcome = Literal["completed", "stopped", "failed", "cancelled", "paused"]
Source = Literal["strategy", "enqueued", "fallback"]
EndState = Literal["completed", "stopped", "failed"]
Decision = Literal["pause", "stop", "promote", "cancel", "finish"]
DecidedBy = Literal["rule", "person", "end", "pool"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What all events share."""

    at: float


# --- the study -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyCreated(Event):
    spec: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadOpened(Event):
    """A head took the study over. Trials that a former head left running are LOST and queue again, but for those that
    are `kept`: they went on without a head, on other machines."""

    fence: int
    host: str
    pid: int
    kept: Sequence[int] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyEdited(Event):
    """New spec for the same study: a larger budget, a new version of the space, other code."""

    spec: Json
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyPaused(Event):
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyResumed(Event):
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyStopping(Event):
    """No new trials. `now=False`: running trials finish; `now=True`: they are killed."""

    now: bool
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyEnded(Event):
    state: EndState
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandDone(Event):
    """Acknowledges a row of the commands table; `effect` is what the person is told."""

    command: str
    ok: bool
    effect: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteWritten(Event):
    """A person's note on the study (`number` None) or on a trial. It replaces the former one; "" takes it away."""

    text: str
    by: str
    number: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TagsChanged(Event):
    """A person's tags on the study (`number` None) or on a trial: some more, some no longer."""

    added: Sequence[str]
    removed: Sequence[str]
    by: str
    number: int | None = None


# --- proposals -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Enqueued(Event):
    """A person asks for this configuration before the strategy's own; the same `key` counts once."""

    config: Json
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryBorrowed(Event):
    """The strategy begins with results of another study; they are no trials of this one.

    `results` have `config`, `state`, `values`, `outcomes` and `cost_s`, mapped to this study's space and objectives;
    `best` is the configuration of the best of them.
    """

    study: str
    results: tuple[Json, ...]
    best: Json
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialProposed(Event):
    """Trial `number` exists. `ask` is the ask index it came from (-1: enqueued); `seen_seq` the last journal
    sequence number whose results the strategy had been told; `attrs` is what the strategy wants back with the result.
    `duplicate_of` names the trial whose result is told again instead of running (policy "reuse"). `parent` is the trial
    whose last checkpoint it starts from; at step `until` it has trained as far as the strategy wants."""

    number: int
    config: Json
    source: Source
    ask: int
    seen_seq: int
    reason: str
    attrs: Json = None
    duplicate_of: int | None = None
    parent: int | None = None
    until: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AskAnswered(Event):
    """Ask `ask` is over; `exhausted` when the strategy has nothing more to propose."""

    ask: int
    count: int
    exhausted: bool
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialSuggested(Event):
    """Define by run: the trial asked for `path` and was given `value`."""

    number: int
    path: str
    domain: Json
    value: Json


# --- one trial -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialInfeasible(Event):
    """Refused before launch; the reason says what would fit."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialAssigned(Event):
    """Written before the runner is told to start (or resume) the trial."""

    number: int
    generation: int
    node: str
    workers: int
    gpus: tuple[str, ...]
    gpu_share: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialResizing(Event):
    """The running trial is to go over to other devices; written before the runner is told. `resize` numbers the order;
    until `TrialResized` answers it the trial holds both."""

    number: int
    generation: int
    resize: int
    workers: int
    gpus: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialResized(Event):
    """The trial runs on these devices now, after standing still for `stall_s`.

    `resize` is the order that this answers, 0 for none: some of its workers were lost and the others go on. With `ok`
    False the order could not be carried out.
    """

    number: int
    generation: int
    resize: int
    ok: bool
    workers: int
    gpus: tuple[str, ...]
    stall_s: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialReported(Event):
    """`step` epochs are done; `metrics` by name. `can_pause`: the trial has state that a resume can start from."""

    number: int
    generation: int
    step: int
    metrics: Mapping[str, Json]
    can_pause: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialDecided(Event):
    """A decision at a report or about a paused trial.

    "promote": it goes on from rung `rung`, at once if it stands there, else when devices are its own. "finish": it has
    trained as far as the study wants, so whatever it ends with counts as completed; "stop": it keeps the values it
    reported; "cancel": it keeps none. `by` says whose decision it is ("end": the study ended while the trial was
    paused; extending the study takes that back; "pool": the policy that shares the devices out, which also decides at
    rungs). `rung` goes with "promote".
    """

    number: int
    decision: Decision
    reason: str
    by: DecidedBy = "rule"
    rung: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialEnded(Event):
    """The trial let its workers go. `value` is what an objective returned (None: judged by its reports);
    `run_s` is this generation's wall time from assignment to release, `gpu_s` the GPU-seconds it held. `shards`: it ran
    out of memory with so many shards a batch, and twice as many would need less. `approximate`: its result depends on
    the number of workers that it had."""

    number: int
    generation: int
    outcome: Outcome
    reason: str
    value: Json = None
    failure: FailureKind | None = None
    run_s: float = 0.0
    gpu_s: float = 0.0
    phases_s: Mapping[str, float] = field(default_factory=dict)
    shards: int | None = None
    approximate: bool = False
