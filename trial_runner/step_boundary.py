"""What may happen to a trial between two steps: its workers change, or it pauses.

Rank 0 alone knows that something is to happen. It says so along with a sum over gradients, so that it costs nothing
while nothing happens; before the next step all workers ask it what.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from .checkpoints import Checkpoint, CheckpointHeader
from .group import Group, decide
from .let_go import TrialLetGo
from .messages import FailAt
from .plain_state import from_plain, to_plain
from .progress import Progress
from .reports import Reports
from .running_epoch import RunningEpoch
from .trace import Trace
from .trial_memory import TrialMemory

if TYPE_CHECKING:
    from .elastic_group import Bundle, ElasticGroup
    from .sharded_loader import GlobalBatch

Choice = Any  # a JSON value: ["change"], ["pause", reason], or None


class Elastic(Protocol):
    """A group that can change (`ElasticGroup`)."""

    def has_order(self) -> bool: ...

    def change(self, state: Callable[[], Bundle]) -> None: ...

    on_lead: Callable[[], None]


class StepBoundary:
    """Passed before the first backward pass over each batch; `elastic` is None where the workers never change."""

    def __init__(
        self,
        group: Group,
        progress: Progress,
        memory: TrialMemory,
        running: RunningEpoch,
        reports: Reports,
        elastic: Elastic | None,
        fail_at: FailAt | None,
        trace: Trace | None,
    ) -> None:
        self._group = group
        self._elastic = elastic
        self._progress = progress
        self._memory = memory
        self._running = running
        self._reports = reports
        self._fail_at = fail_at
        self._trace = trace
        self._due = False

    def is_called(self) -> bool:
        """Is something to happen before the next step? Rank 0 knows."""
        if self._group.rank != 0:
            return False
        ordered = self._elastic is not None and self._elastic.has_order()
        return ordered or (self._memory.can_pause and self._reports.pause_reason() is not None)

    def count(self, calls: float) -> None:
        """So many workers said so with the last exchange."""
        self._due = calls > 0

    def before_backward(self, batch: GlobalBatch) -> bool:
        """Do what is due; True when the pass was made already, by the run that this one continues.

        Raises:
            TrialLetGo: the trial is paused, or goes on without this worker.
        """
        if self._running.replaying:
            if not self._running.at_end_of_replay:
                return True
            self._memory.restore_resumed()
            self._running.arrive()
            self._keep_trace()
        elif self._running.at_first("loss"):
            self._keep_trace()
            self._pass(batch.shards)
        return False

    def _keep_trace(self) -> None:
        if self._trace is not None:
            self._trace.write(self._group.rank, self._progress.epoch, self._progress.step)

    def _pass(self, shards: int) -> None:
        if self._fail_at is not None:
            self._fail(self._fail_at)
        if self._group.world_size == 1:
            self._due = self.is_called()
        elif shards == 1:  # every worker does the whole work: there is no exchange to say it with
            self._due = decide(self._group, self.is_called)
        if not self._due:
            return
        self._due = False
        choice = decide(self._group, self._choose)
        if choice is None:
            return
        if choice[0] == "pause":
            self._memory.write(
                self._progress, step=self._reports.last_step, value=self._reports.value, running=self._running.capture()
            )
            raise TrialLetGo("paused", choice[1])
        assert self._elastic is not None, "only an elastic group is told to change"
        self._elastic.change(self._bundle)

    def _choose(self) -> Choice:
        if self._elastic is not None and self._elastic.has_order():
            return ["change"]
        reason = self._reports.pause_reason() if self._memory.can_pause else None
        return None if reason is None else ["pause", reason]

    def _bundle(self) -> Bundle:
        """The trial's whole state, for a worker that comes in."""
        progress = self._progress
        state, tensors = self._memory.capture(progress, self._running.capture())
        where = {
            "epoch": progress.epoch, "loop": progress.loop, "loop_epoch": progress.loop_epoch,
            "step": self._reports.last_step, "value": self._reports.value,
        }  # fmt: skip
        return [where, state, to_plain(self._memory.user_at_epoch, "trial.save", tensors)], tensors

    def _fail(self, at: FailAt) -> None:
        here = (self._group.rank, self._progress.epoch, self._progress.step)
        if here == (at.rank, at.epoch, at.step):
            self._fail_at = None
            if at.how == "raise":
                raise RuntimeError(f"told to fail at {here}")
            if at.how == "pause":
                self._reports.request_pause(f"told to pause at {here}")
                return
            os.kill(os.getpid(), signal.SIGKILL if at.how == "kill" else signal.SIGSTOP)


def arrival(group: ElasticGroup) -> Checkpoint:
    """Join the workers that are training; where they are, as if it came from a checkpoint."""
    (where, state, user), tensors = group.join()
    header = CheckpointHeader(**where, state_bytes=0, tensor_bytes=0, user_bytes=None)
    return Checkpoint(header=header, state=from_plain(state, tensors), user=from_plain(user))
