"""How a trial stops in the middle of the user's code."""

from __future__ import annotations

from typing import Literal

Outcome = Literal["paused", "stopped", "released"]
"""How a worker's part in a trial ends. "released": the trial goes on without this worker."""


class TrialLetGo(BaseException):
    """The trial was paused or stopped: unwinds the user's function to the worker, which reports `outcome`.

    Not an `Exception`, so that a training loop's `except Exception` does not swallow it; `finally` blocks run.
    """

    def __init__(self, outcome: Outcome, reason: str) -> None:
        super().__init__(f"{outcome}: {reason}")
        self.outcome = outcome
        self.reason = reason
