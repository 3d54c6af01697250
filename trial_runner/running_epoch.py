"""How to get to the same place in the middle of an epoch, in another process.

Models, optimizers and generators can be handed over at any step; the local variables of the user's loop cannot. So a
worker that comes in during an epoch (because the trial grew, or was paused there) runs the loop from the epoch's
beginning, and is told what the loop was told then: `backward` returns the losses and `evaluate` the values of the first
time, without computing anything. At the first backward pass of the step that is to come, it takes over the state. What
a step costs then is what the user's own lines cost; optimizers find no gradients and do nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ..errors import TrialError
from .metrics import EpochMeans
from .progress import Progress
from .reports import Reports

if TYPE_CHECKING:
    import torch

Json = Any  # a JSON value: the one named boundary where the type is open
Told = Any  # a loss (0-d tensor) or the value of an evaluation (float)
What = Literal["loss", "evaluation"]


class RunningEpoch:
    """What the user's loop has been told in this epoch, or is told again."""

    def __init__(self, progress: Progress, means: EpochMeans, reports: Reports) -> None:
        self._progress = progress
        self._means = means
        self._reports = reports
        self._told: dict[tuple[int, str, int], Told] = {}
        self._asked: dict[str, int] = {}  # how often in this step, by kind
        self._asked_at = -1
        self._again: dict[tuple[int, str, int], Told] = {}
        self._until = 0
        self._captured: Json = None

    def begin(self) -> None:
        """Another epoch begins.

        Raises:
            TrialError: the one before did not get to where it was left.
        """
        if self.replaying and self._told:
            raise TrialError(
                f"the epoch that was left at step {self._until} ended at step {self._progress.step} when it was gone "
                "through again.",
                "Let the number of steps depend on the configuration, the data and what trial methods return only.",
            )
        self._told.clear()
        self._progress.step, self._asked_at = 0, -1

    @property
    def replaying(self) -> bool:
        return self._captured is not None

    @property
    def at_end_of_replay(self) -> bool:
        """Is the next backward pass the first one that was not made then?"""
        return self._progress.step >= self._until and self.at_first("loss")

    def at_first(self, what: What) -> bool:
        """Is the next one the first of its kind in this step?"""
        return self._asked_at != self._progress.step or what not in self._asked

    def note(self, what: What, told: Told) -> None:
        """Keep what the loop is told."""
        self._told[self._key(what)] = told

    def recall(self, what: What) -> Told:
        """What the loop was told then; NaN where it had not asked."""
        key = self._key(what)
        told = self._again.get(key, float("nan"))
        if what == "loss" and not hasattr(told, "dtype"):
            import torch

            told = torch.tensor(told)
        self._told[key] = told
        return told

    def capture(self) -> Json:
        """Everything that `replay` and `arrive` need."""
        told = [[*key, float(value), _dtype(value)] for key, value in self._told.items()]
        return {
            "step": self._progress.step, "told": told, "means": dict(self._means.sums()),
            "reports": self._reports.capture(),
        }  # fmt: skip

    def replay(self, captured: Json) -> None:
        """From the next epoch's beginning, tell the loop what it was told then."""
        self._captured = captured
        self._until = captured["step"]
        self._again = {(step, what, n): _retold(value, dtype) for step, what, n, value, dtype in captured["told"]}

    def arrive(self) -> None:
        """The end of the replay: means and reports are what they were."""
        captured, self._captured = self._captured, None
        self._again = {}
        self._means.clear()
        for name, (total, weight) in captured["means"].items():
            self._means.set(name, total, weight)
        self._reports.restore(captured["reports"])

    def _key(self, what: What) -> tuple[int, str, int]:
        if self._asked_at != self._progress.step:
            self._asked_at = self._progress.step
            self._asked.clear()
        n = self._asked.get(what, 0)
        self._asked[what] = n + 1
        return self._progress.step, what, n


def _dtype(value: Told) -> str | None:
    return str(value.dtype).removeprefix("torch.") if hasattr(value, "dtype") else None


def _retold(value: float, dtype: str | None) -> float | torch.Tensor:
    if dtype is None:
        return value
    import torch

    return torch.tensor(value, dtype=getattr(torch, dtype))
