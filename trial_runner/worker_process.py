"""The agent's view of one worker: who it is, what it runs, what it says."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Literal

from .logs import LOG_NAME, checkpoints_dir
from .memory_watch import used_memory_gib
from .messages import Ended, Json, LaunchTrial, Reported, RunnerEvent, Started, SuggestionAsked, Warned
from .pulse import processor_s
from .shards import MOST_SPLIT
from .wire import Channel, Message

LARGE_SHARE_OF_MEMORY = 0.5
"""A killed worker that had more than this of the machine's memory was probably killed for it: the kernel's choice is
the largest process."""


EndedFor = Literal["cancelled", "timeout", "memory", "lost"]
"""Why the agent ends a worker."""

FAILURES = {"timeout": "TIMEOUT", "memory": "OOM", "lost": "LOST"}


class WorkerProcess:
    """A worker, from the request to fork it until nothing of it is left.

    `launch` is what it runs, None while it stands by; times are `time.monotonic`, which all processes of a node share.
    """

    def __init__(self, number: int, channel: Channel) -> None:
        self.id = number
        self.channel = channel
        self.pid: int | None = None
        self.node = ""
        """The other node that it runs on; "": it is on the agent's own."""
        self.host = ""
        """The address of that node."""
        self.launch: LaunchTrial | None = None
        self.log = Path()
        self.started_at: float | None = None
        self.store_port: int | None = None
        """Where it keeps the study's store; None: it keeps none."""
        self.beat_at: float | None = None
        """When it last gave a sign of life; None: it gives none."""
        self._about_group: list[Message] = []
        self._launched_at = 0.0
        self._ended: Message | None = None
        self._end_reason: tuple[EndedFor, str] | None = None
        self._shards: int | None = None
        self._most_workers = 0
        self._has_reported = False
        self._approximate = False

    def assign(
        self, launch: LaunchTrial, trial_dir: Path, inherits: Path | None, launched_at: float, place: Mapping[str, Json]
    ) -> None:
        """Give it a trial, or its part in one.

        Args:
            inherits: the checkpoints of the trial that it starts from.
            place: its `rank` among so many `workers`, and whether it `arrives` when they are training already.
        """
        checkpoint_dir = checkpoints_dir(trial_dir)
        trial_dir.mkdir(parents=True, exist_ok=True)
        checkpoint_dir.mkdir(exist_ok=True)
        self.launch = launch
        self.log = trial_dir / (LOG_NAME if place["rank"] == 0 else f"log-worker-{self.id}.txt")
        self.started_at, self._launched_at = None, launched_at
        self._ended, self._end_reason = None, None
        self._approximate = False
        self._shards, self._has_reported = None, launch.reported_step > 0
        self._most_workers = 0
        self.channel.send(
            "assign", study=launch.study, number=launch.number, generation=launch.generation, config=launch.config,
            seed=launch.seed, metric=launch.metric, direction=launch.direction,
            objectives=[launch.metric, *launch.other_metrics], slot=asdict(launch.slots[0]),
            max_workers=launch.max_workers, max_shards=launch.max_shards, split=launch.split,
            reported_step=launch.reported_step, suggested=dict(launch.suggested), trial_dir=str(trial_dir),
            checkpoint_dir=str(checkpoint_dir),
            inherits=None if inherits is None else str(inherits), log=str(self.log),
            fail_at=None if launch.fail_at is None else asdict(launch.fail_at), trace=launch.trace, **place,
        )

    def end_with(self, outcome: EndedFor, reason: str) -> None:
        """Note why it is being killed; the first reason stands."""
        self._end_reason = self._end_reason or (outcome, reason)

    def release(self) -> None:
        """Its trial has been told as ended; it stands by for the next."""
        self.launch = None

    @property
    def has_ended(self) -> bool:
        """Has its trial said its last word?"""
        return self._ended is not None

    @property
    def was_released(self) -> bool:
        """Did its trial go on without it?"""
        return self._ended is not None and self._ended["outcome"] == "released"

    @property
    def takes_another(self) -> bool:
        """Has its trial ended in a way that lets it stay?"""
        return self._ended is not None and self._ended.get("again") is True

    def processor_s(self) -> float:
        """Seconds of processor time that it has used."""
        return 0.0 if self.pid is None else processor_s(self.pid)

    def memory_gib(self, limit_gib: float) -> float:
        """What it uses, with all that it has started; up to `limit_gib` a quicker measure will do."""
        return 0.0 if self.pid is None else used_memory_gib(self.pid, limit_gib)

    def events(self) -> list[RunnerEvent]:
        """What its trial has said since the last call.

        Raises:
            ValueError: it sent something that is no message of a worker.
        """
        said: list[RunnerEvent] = []
        for message in self.channel.receive():
            try:
                event = self._event(message)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                raise ValueError(f"message {str(message)[:80]!r}: {error!r}") from error
            if event is not None:
                said.append(event)
        return said

    def about_group(self) -> list[Message]:
        """What it has said about its group since the last call."""
        messages, self._about_group = self._about_group, []
        return messages

    def _event(self, message: Message) -> RunnerEvent | None:
        if message["kind"] == "store":
            self.store_port = int(message["port"])
        if self.launch is None or self._ended is not None:
            return None
        study, number, generation = self.launch.study, self.launch.number, self.launch.generation
        match message["kind"]:
            case "started":
                self.started_at = float(message["at"])
                start_s = self.started_at - self._launched_at
                return Started(
                    study=study, number=number, generation=generation, start_s=start_s, pids=(int(message["pid"]),)
                )
            case "approximate":
                self._approximate = True
            case "workers":
                self._most_workers = int(message["most"])
            case "shards":
                self._shards = int(message["shards"])
            case "report":
                self._has_reported = True
                return Reported(
                    study=study, number=number, generation=generation, step=int(message["step"]),
                    metrics={name: _number(value) for name, value in message["metrics"].items()},
                    can_pause=bool(message["can_pause"]), most_workers=self._most_workers,
                    gpu_memory_gib=float(message.get("gpu_memory_gib", 0.0)),
                )
            case "suggest":
                json.dumps(message["domain"], allow_nan=False)  # the journal could not keep it
                return SuggestionAsked(
                    study=study, number=number, generation=generation, path=str(message["path"]),
                    domain=message["domain"],
                )
            case "warn":
                return Warned(study=study, number=number, generation=generation, text=str(message["text"]))
            case "ended":
                self._ended = _checked_ending(message)
            case "beat":
                self.beat_at = time.monotonic()
            case "formed":
                self._about_group.append({**message, "stall_s": _number(message["stall_s"])})
            case "ready" | "forming" | "lost":
                self._about_group.append(message)
        return None

    def ended(self, status: int | None, peak_mib: int, memory_mib: float) -> Ended:
        """The end of its trial.

        Args:
            status: how the process ended (negative: by a signal); None: it has not, it stands by again.
            peak_mib: the most memory it had.
            memory_mib: the machine's memory.
        """
        assert self.launch is not None
        outcome: Literal["completed", "stopped", "failed", "cancelled", "paused"] = "failed"
        value: Json = None
        failure: str | None = None
        if self._ended is not None:
            outcome, reason = self._ended["outcome"], str(self._ended["message"])
            value, failure = self._ended["value"], self._ended["failure"]
        elif self._end_reason is not None:
            why, reason = self._end_reason
            outcome, failure = ("cancelled", None) if why == "cancelled" else ("failed", FAILURES[why])
        else:
            failure, reason = self._unsaid_end(status, peak_mib, memory_mib)
        return Ended(
            study=self.launch.study, number=self.launch.number, generation=self.launch.generation, outcome=outcome,
            reason=reason, value=value, failure=failure, phases_s=self._phases_s(),
            approximate=self._approximate, shards=self._shards if failure == "OOM" and self._may_split() else None,
        )

    def _may_split(self) -> bool:
        """May its trial begin again with twice as many shards? Not once somebody has judged it by its reports."""
        assert self.launch is not None
        return self.launch.split < MOST_SPLIT and not self._has_reported

    def _unsaid_end(self, status: int | None, peak_mib: int, memory_mib: float) -> tuple[str, str]:
        """Failure and reason of a worker that ended without a word."""
        if status is None:
            return "LOST", "its fork server died, and the worker with it"
        if status >= 0:
            return "BUG", f"the process left with exit status {status} without returning (os._exit?)"
        reason = f"the worker was killed by {signal.Signals(-status).name}"
        if status == -signal.SIGKILL and peak_mib > LARGE_SHARE_OF_MEMORY * memory_mib:
            reason += (
                f", probably for memory: it had {peak_mib / 1024:.1f} of the machine's {memory_mib / 1024:.1f} GiB"
            )
        return "LOST", reason

    def _phases_s(self) -> dict[str, float]:
        """Where the time went, as far as the worker could still tell."""
        if self.started_at is None:
            return {"start": time.monotonic() - self._launched_at}
        start_s = self.started_at - self._launched_at
        if self._ended is None:
            return {"start": start_s, "user": time.monotonic() - self.started_at}
        return {**self._ended["phases_s"], "start": start_s}


def _checked_ending(message: Message) -> Message:
    """The message, if an `Ended` can be made of it."""
    whole = message.keys() >= {"outcome", "message", "value", "failure", "phases_s"}
    if not whole or message["outcome"] not in ("completed", "stopped", "failed", "paused", "released"):
        raise ValueError("not an ending")
    if message["value"] is not None:
        for value in message["value"] if isinstance(message["value"], list) else [message["value"]]:
            _number(value)
    return {**message, "phases_s": {str(phase): _number(spent_s) for phase, spent_s in message["phases_s"].items()}}


def _number(value: Json) -> float:
    """Raises: ValueError: `value` is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{value!r} is no number")
    return value
