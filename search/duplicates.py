"""What happens to a configuration that the study has tried already: `StudySpec.duplicates`.

"reuse": the duplicate is a trial that ends at once with the known result, or waits for it. "reject": it ends at once
as cancelled and costs no budget. "replicate": it runs. A trial that failed, was cancelled or refused has no result to
know, so its configuration runs again under each policy.
"""

from __future__ import annotations

from .ended_trials import RESULTLESS, config_key
from .events import TrialEnded
from .fold import StudyFold
from .numbers import encode_number
from .spec import Json
from .transitions import TrialStatus
from .trial_record import TrialRecord
from .turn import Turn

MAX_KNOWN_IN_A_ROW = 100
"""After so many proposals in a row that were all known the space counts as exhausted. With m untried configurations
among n, a blind proposer misses that often with probability (1 - m/n)^100: below 1 % for m/n > 4.5 %."""


def known_trial(state: StudyFold, config: Json) -> TrialRecord | None:
    """The trial whose result `config` shares, or will share."""
    if config is None or state.spec.duplicates == "replicate":
        return None
    number = state.trial_of_key.get(config_key(config))
    if number is None:
        return None
    record = state.trials[number]
    return None if record.status in RESULTLESS else record


def settle_twins(state: StudyFold, turn: Turn) -> None:
    """End the duplicates whose original has its result."""
    for original in [number for number in state.twins if state.trials[number].status.is_terminal]:
        for number in list(state.twins.get(original, ())):
            tell_known(state, turn, number)


def tell_known(state: StudyFold, turn: Turn, number: int) -> None:
    """End the duplicate `number` with the result of its original."""
    record = state.trials[number]
    assert record.duplicate_of is not None
    original = state.trials[record.duplicate_of]
    completed = original.status is TrialStatus.COMPLETED
    turn.emit(
        TrialEnded(
            at=turn.at,
            number=number,
            generation=record.generation,
            outcome="completed" if completed else "stopped",
            reason=f"same configuration as trial {original.number}, whose result counts here too",
            value=_told_value(original),
        )
    )


def turn_away(state: StudyFold, turn: Turn, number: int) -> None:
    """Policy "reject": end the duplicate without a result."""
    record = state.trials[number]
    turn.emit(
        TrialEnded(
            at=turn.at,
            number=number,
            generation=record.generation,
            outcome="cancelled",
            reason=f"rejected: same configuration as trial {record.duplicate_of}",
        )
    )


def _told_value(original: TrialRecord) -> Json:
    if original.values is None:
        return None
    numbers = [encode_number(value) for value in original.values]
    return numbers[0] if len(numbers) == 1 else numbers
