"""What outlives a trial's processes: the state of its objects, what the user saved, and where it was."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..errors import TrialError
from .checkpoints import Checkpoint, CheckpointFolder
from .inheriting import inherited
from .plain_state import State, to_plain
from .progress import Progress
from .seeding import rng_state, set_rng_state
from .trial_state import TrialState

if TYPE_CHECKING:
    import torch


class TrialMemory:
    """Writes and reads the checkpoints of one trial.

    Args:
        warn: called with (topic, text) when a checkpoint on disk cannot be used.
        writes: does this worker write? One of a group does.
        arrive: where a worker that comes in later gets the trial's state from, instead of from the disk.
        inherits: the checkpoints of the trial whose state this one starts from.
    """

    def __init__(
        self,
        folder: CheckpointFolder,
        state: TrialState,
        *,
        warn: Callable[[str, str], None],
        writes: Callable[[], bool],
        arrive: Callable[[], Checkpoint] | None = None,
        inherits: CheckpointFolder | None = None,
    ) -> None:
        self._folder = folder
        self._state = state
        self._warn = warn
        self._writes = writes
        self._arrive = arrive
        self._inherits = inherits
        self._is_inherited = False
        self._user: bytes | None = None
        self._user_at_epoch: bytes | None = None
        self._resumed: Checkpoint | None = None
        self._looked = False
        self.spent_s = 0.0

    @property
    def can_pause(self) -> bool:
        """Is there state that a resume can start from?"""
        return len(self._state) > 0 or self._user is not None

    def resumed(self) -> Checkpoint | None:
        """The checkpoint that this run continues, read once; None at a fresh start.

        Raises:
            TrialError: it is to start from another trial's state, which has none.
        """
        if not self._looked:
            began = time.perf_counter()
            self._looked = True
            damage: list[str] = []
            if self._arrive is None:
                self._resumed, damage = self._folder.newest()
                if self._resumed is None and self._inherits is not None:
                    self._resumed, self._is_inherited = inherited(self._inherits), True
            else:
                self._resumed = self._arrive()
            self.spent_s += time.perf_counter() - began
            for found in damage:
                self._warn("damage", f"a checkpoint cannot be read and an older one is used instead: {found}.")
            if self._resumed is not None and self._user is None:
                self._user = self._resumed.user
        return self._resumed

    def begin_epoch(self) -> None:
        """What is saved now is what one who goes through this epoch again should load."""
        self._user_at_epoch = self._user

    def capture(self, progress: Progress, running: State = None) -> tuple[State, list[torch.Tensor]]:
        """Everything as it is now; the tensors are not copied.

        Args:
            running: in the middle of an epoch, what it has come to.
        """
        state: dict[str, State] = {}
        tensors: list[torch.Tensor] = []
        if progress.loop >= 0:  # only `trial.epochs` restores objects; loops without it load what they saved
            state["objects"] = self._state.capture(tensors)
            state["rng"] = to_plain(rng_state(), "the random generators", tensors)
        if running is not None:
            running = running | {"user": self._user, "gradients": [p.grad for p in self._state.parameters()]}
            state["running"] = to_plain(running, "the epoch", tensors)
        return state, tensors

    def write(self, progress: Progress, *, step: int, value: float | None, running: State = None) -> None:
        """Keep everything as it is now, on disk."""
        if not self._writes():
            return
        began = time.perf_counter()
        state, tensors = self.capture(progress, running)
        self._folder.write(
            state,
            tensors,
            self._user if running is None else self.user_at_epoch,
            epoch=max(progress.epoch, step) if progress.loop < 0 else progress.epoch,
            loop=progress.loop,
            loop_epoch=progress.loop_epoch,
            step=step,
            value=value,
        )
        self.spent_s += time.perf_counter() - began

    def restore(self, checkpoint: Checkpoint) -> None:
        """Put objects, gradients and random generators back; of another trial's state only what training has made."""
        self._state.restore(checkpoint.state["objects"], inherited=self._is_inherited)
        if self._is_inherited:
            return
        if checkpoint.running is not None:
            self._user = checkpoint.running["user"]
            for parameter, gradient in zip(
                self._state.parameters(), checkpoint.running["gradients"], strict=True
            ):
                if gradient is not None and not parameter.is_contiguous():  # norms add up in memory order
                    gradient = parameter.detach().clone().copy_(gradient)
                parameter.grad = gradient
        set_rng_state(checkpoint.state["rng"])

    def restore_resumed(self) -> None:
        """Put everything back as the checkpoint that this run continues has it."""
        assert self._resumed is not None, "there is one where there was something to go through again"
        self.restore(self._resumed)

    @property
    def user_at_epoch(self) -> bytes | None:
        """What had been saved when the running epoch began."""
        return self._user_at_epoch

    def save_user(self, obj: object) -> None:
        """Keep a copy of `obj` for the next `write`.

        Raises:
            TrialError: it cannot be pickled.
        """
        import cloudpickle  # knows classes and functions that were defined in a notebook

        try:
            self._user = cloudpickle.dumps(obj)
        except Exception as error:  # whatever the user's own __reduce__ raises
            raise TrialError(
                f"trial.save was given a {type(obj).__name__} that cannot be pickled: {error}",
                "Save plain values, arrays or state_dicts.",
            ) from error

    def load_user(self) -> Any:
        """What was saved last, by this run or by the one it continues; None: nothing.

        Raises:
            TrialError: it cannot be unpickled.
        """
        self.resumed()
        if self._user is None:
            return None
        try:
            return pickle.loads(self._user)
        except Exception as error:  # whatever the user's own classes raise
            raise TrialError(
                f"what trial.save kept cannot be loaded: {error}", "Keep the saved classes importable and unchanged."
            ) from error
