"""How a trial ended, as its worker saw it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .failures import classify, with_place
from .let_go import TrialLetGo
from .messages import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """The facts of `Ended` that only the worker knows; `message` becomes its reason."""

    outcome: Literal["completed", "stopped", "failed", "paused", "released"]
    message: str
    value: Json = None
    failure: str | None = None


def ending_of(error: BaseException, code_dir: str) -> Ending:
    """What it means that user code ended with this exception.

    >>> ending_of(TrialLetGo("paused", "rung 1: waits"), "").outcome
    'paused'
    >>> ending_of(SystemExit(0), "").outcome, ending_of(SystemExit(3), "").failure
    ('completed', 'BUG')
    """
    if isinstance(error, TrialLetGo):
        return Ending(outcome=error.outcome, message=error.reason)
    if type(error).__name__ == "TrialPruned" and type(error).__module__.startswith("optuna"):
        return Ending(outcome="stopped", message=str(error) or "the objective raised TrialPruned")
    if isinstance(error, SystemExit) and error.code in (None, 0):
        return Ending(outcome="completed", message="the function left with sys.exit()")
    return Ending(outcome="failed", failure=classify(error), message=with_place(error, code_dir))
