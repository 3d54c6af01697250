"""What the head tells a runner, and what a runner tells the head.

Frozen dataclasses of plain values on both sides of the runner port (`service/ports.py`); inside a node the same
facts travel as JSON lines between agent and workers (`wire.py`), never as pickles. Every message about a trial carries
its `generation`; whoever receives one of a past generation ignores it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Json = Any  # a JSON value: the one named boundary where the type is open

Verdict = Literal["continue", "pause", "stop"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One worker's devices: GPU ids (empty: CPU only), the share of each in (0, 1], CPUs.

    `node` says where, in a pool of several nodes.
    """

    gpus: tuple[str, ...] = ()
    gpu_share: float = 1.0
    cpus: int = 1
    node: str = ""


# --- head → runner -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class PrepareStudy:
    """Make the node ready for a study's trials: unpack its code, warm a fork server, keep `standby` workers forked.

    `entry` is the EntryPoint as JSON (kind, module, function, command); `archive` the project's archive ("" and None:
    no files); `space` the space as JSON (None: define by run); `study_dir` where trials/NNNN/ are kept.
    """

    study: str
    entry: Mapping[str, Json]
    space: Json
    code: str
    archive: Path | None
    study_dir: Path
    threads_per_worker: int = 1
    reuse_workers: bool = False
    standby: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FailAt:
    """For tests: before the backward pass of batch `step` (from 1) of `epoch` (from 0), the worker that is `rank` then
    dies ("kill"; "stop": it only falls silent; "raise"), or finds that the trial was asked to pause ("pause")."""

    rank: int
    epoch: int
    step: int
    how: Literal["kill", "stop", "raise", "pause"] = "kill"


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchTrial:
    """Start, or resume, trial `number`, with one worker a slot.

    The node of the first slot is the trial's home: its agent has it, and workers elsewhere join those at home.

    `metric`, `direction` and `value_from`: the first objective, so that the checkpoint of the best epoch is kept.
    `other_metrics`: the further objectives, which a function may return too.
    `reported_step`: the last step the head knows of (reports at or below it are not sent again). `suggested`: answers
    given so far (define by run). `parent`: the trial whose last checkpoint it starts from.
    `time_limit_s`: what is left of the trial's own limit, None without one.
    `split`: V is so many times what the configuration gives, since the trial ran out of memory. `memory_gib`: what each
    of its workers may use, None without a limit.
    `moved`: this generation goes on from what it saved on another node.
    `unjudged`: the answer to each of its reports is "continue", unless a person says otherwise.
    `fail_at`: for tests. `trace`: keep digests of the state before every step (`trace.py`).
    """

    study: str
    number: int
    generation: int
    config: Json
    seed: int
    metric: str
    direction: str
    slots: tuple[Slot, ...]
    max_workers: int
    max_shards: int
    reported_step: int = 0
    suggested: Mapping[str, Json] = field(default_factory=dict)
    parent: int | None = None
    unjudged: bool = False
    moved: bool = False
    other_metrics: tuple[str, ...] = ()
    time_limit_s: float | None = None
    split: int = 1
    memory_gib: float | None = None
    fail_at: FailAt | None = None
    trace: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ResizeTrial:
    """Go over to one worker a slot at the next step boundary, while the trial runs; the reply is `Resized`.

    Slots that the trial has already keep their workers. `resize` names the order. Ignored when the trial cannot
    change: it has no exact step boundaries, or the number of slots is no power of two.
    """

    study: str
    number: int
    generation: int
    resize: int
    slots: tuple[Slot, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerReport:
    """The verdict on the report at `step`."""

    study: str
    number: int
    generation: int
    step: int
    verdict: Verdict
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSuggestion:
    """The value of `path`; `error` is set instead when the strategy cannot give one."""

    study: str
    number: int
    generation: int
    path: str
    value: Json
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseTrial:
    """Pause at the next step boundary: checkpoint, then let go. Ignored when the trial cannot pause."""

    study: str
    number: int
    generation: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KillTrial:
    """End the trial's processes now; the reply is `Ended(outcome="cancelled")`."""

    study: str
    number: int
    generation: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetStudy:
    """Free what the node keeps for the study: standby workers, fork server."""

    study: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MeetNode:
    """Another node of the pool, and where its agent takes in workers of this node's trials (`guest_house.py`).

    `token`: what they are let in for.
    """

    node: str
    host: str
    port: int
    token: str = field(repr=False)


Instruction = (
    PrepareStudy | LaunchTrial | ResizeTrial | AnswerReport | AnswerSuggestion | PauseTrial | KillTrial | ForgetStudy
    | MeetNode
)


# --- runner → head -------------------------------------------------------------------------------


USUAL_START = "fork server"
"""`Prepared.note` when workers start the fast way and there is nothing to say about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """The study's code was imported once on this node; `note` says how workers start ("fork server", or why not)."""

    study: str
    ok: bool
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """The first line of user code is about to run; `start_s` since the runner was told to launch."""

    study: str
    number: int
    generation: int
    start_s: float
    pids: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """`step` epochs are done. The worker waits for `AnswerReport` at its next step boundary.

    `most_workers`: so many the trial can have, by its shards; 0: their number cannot change, since it prepared nothing;
    None: the runner cannot tell. `gpu_memory_gib`: the most that rank 0 has held of a GPU so far, 0 without one.
    """

    study: str
    number: int
    generation: int
    step: int
    metrics: Mapping[str, Json]
    can_pause: bool
    most_workers: int | None = None
    gpu_memory_gib: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestionAsked:
    """Define by run: the trial waits for the value of `path` out of `domain` (a leaf domain of `spaces`, as JSON)."""

    study: str
    number: int
    generation: int
    path: str
    domain: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Resized:
    """The trial runs on these slots now; it stood still for `stall_s`.

    `resize` names the order that this answers, 0: none, some of its workers were lost. `ok`: False when the order
    could not be carried out and the trial goes on as it was.
    """

    study: str
    number: int
    generation: int
    resize: int
    ok: bool
    slots: tuple[Slot, ...]
    stall_s: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Warned:
    """Something the person should know (a repeated step, an unregistered scheduler); printed once."""

    study: str
    number: int
    generation: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The trial's workers are gone, their devices free again.

    `outcome`: "completed" (the function returned), "paused" (checkpointed and let go), "stopped" (obeyed a stop verdict
    or raised TrialPruned), "failed", "cancelled" (killed on request). `failure`: a FailureKind name when failed.
    `value`: what the objective returned. `phases_s`: where the time went, by "start", "user", "report_wait",
    "checkpoint". `shards`: the trial ran out of memory with so many shards a batch before its first report, and twice
    as many would need less. `approximate`: it was trained with `exact=False`.
    """

    study: str
    number: int
    generation: int
    outcome: Literal["completed", "stopped", "failed", "cancelled", "paused"]
    reason: str
    value: Json = None
    failure: str | None = None
    phases_s: Mapping[str, float] = field(default_factory=dict)
    shards: int | None = None
    approximate: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeJoined:
    """A node is ready for trials of every study: from now on it may be given some. Memory in GiB."""

    node: str
    gpus: tuple[str, ...]
    cpus: int
    memory_gib: float
    device_model: str
    gpu_memory_gib: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDraining:
    """A person wants the node to be empty: nothing new may go there, and what can move leaves it.

    `draining` False: the wish was taken back.
    """

    node: str
    draining: bool
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLost:
    """The node is gone; the `Ended` of every trial that it had follows at once."""

    node: str
    reason: str


RunnerEvent = Prepared | Started | Reported | SuggestionAsked | Resized | Warned | Ended
NodeEvent = NodeJoined | NodeDraining | NodeLost
