"""`reproducible`: the same trials from the same seed and spec, whatever the timing and the number of devices.

Proposal n is made from exactly the results of the trials with numbers below n - lag, told in order of their numbers.
The trials in between count as pending and without a curve, whatever has become of them by then, and one proposal is
asked for at a time. So a proposal waits until every trial below n - lag has ended, and nothing that a clock decides
reaches the strategy. What such a study cannot have is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import SpecError

if TYPE_CHECKING:
    from .spec import StudySpec
    from .study_data import StudyData

LAG = 8
"""Trials that a proposal does not know the results of, where `reproducible=True` says no number: so many may run side
by side without waiting for one another, and a model behind by so many of a hundred results has lost little."""

ALONE = ("none", "patience", "threshold")
"""Stopping rules that look at one trial alone. The others compare it with what has been reported by then."""


def lag_of(reproducible: bool | int) -> int | None:
    """The lag that `reproducible=` of a study means: True is `LAG`, False none."""
    if isinstance(reproducible, bool):
        return LAG if reproducible else None
    return reproducible


def check_reproducible(spec: StudySpec) -> None:
    """Refuse what a clock decides in a study that is to be reproducible.

    Raises:
        SpecError: a lag below 1, a time limit, or a strategy or stopping rule whose decisions depend on the timing.
    """
    lag = spec.reproducible
    if lag is None:
        return
    if isinstance(lag, bool) or not isinstance(lag, int) or lag < 1:
        raise SpecError(
            f"reproducible={lag!r} is not a whole number of at least 1.",
            "Give how many trials may run side by side, e.g. reproducible=8, or leave it out.",
        )
    for name, limit in (
        ("trial_time_limit_s", spec.budget.trial_time_limit_s),
        ("time_limit_s", spec.budget.study_time_limit_s),
        ("gpu_hours", spec.budget.gpu_hours),
    ):
        if limit is not None:
            raise _refused(f"{name}={limit:g}", "a clock would decide where it ends", f"Leave {name} out.")
    rule = spec.early_stopping.name
    if rule not in ALONE:
        why = "it compares trials with what others have reported by then"
        raise _refused(f"early_stopping={rule!r}", why, f"Use {', '.join(ALONE[1:])} or no early stopping.")
    strategy = spec.strategy.name
    if strategy == "population":
        raise _refused("strategy='population'", "members wait for one another's ends", "Use another strategy.")
    if spec.strategy.options.get("cost_aware"):
        raise _refused("cost_aware=True", "seconds decide what it proposes", "Leave cost_aware out.")
    if spec.space is None and strategy != "random":
        why = "each trial asks for its parameters when it comes to them"
        raise _refused(f"strategy={strategy!r} without a space", why, "Give a space, or use strategy='random'.")


def may_ask(state: StudyData) -> bool:
    """Is everything known that the next proposal is to be made from?"""
    before = known_below(state.spec, len(state.trials))
    if before is None:
        return True
    open_trials = (numbers for status, numbers in state.by_status.items() if not status.is_terminal)
    return all(number >= before for numbers in open_trials for number in numbers)


def known_below(spec: StudySpec, first_number: int) -> int | None:
    """A proposal for trial `first_number` knows the results of the trials below this one; None: of all there are."""
    return None if spec.reproducible is None else max(first_number - spec.reproducible, 0)


def _refused(what: str, why: str, remedy: str) -> SpecError:
    return SpecError(f"a reproducible study cannot have {what}: {why}.", remedy)
