"""Results of another study as a start for this one.

What a strategy is told of them is marked (`Result.borrowed_from`), has negative numbers and counts as nobody's trial.
Configurations are mapped by path: a parameter that the other study did not have takes its default, or else the middle
of its domain; one that this study does not have is dropped; a value that this study does not allow, or a rule that it
breaks, leaves the whole result out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal

from ..errors import SpaceError, SpecError
from ..spaces import Configuration, Decision, Space
from .numbers import decode_number, encode_number
from .spec import Json, StudySpec
from .strategies.port import Result
from .study_data import StudyData
from .transitions import TrialStatus
from .trial_record import TrialRecord

LIMIT = 100
"""Results that are borrowed at most: the better half of them the best ones, the others spread over the rest. So many
are what strategies learn from at first (`told.BORROWED`)."""


Fit = tuple[tuple[float, ...], TrialRecord, Configuration]
"""The objectives' values, the trial, its configuration in this space."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loan:
    """What can be borrowed: results as JSON, the best configuration, and in one line what was left out and filled
    in."""

    results: tuple[Json, ...]
    best: Configuration
    story: str


def loan(donor: StudyData, spec: StudySpec) -> Loan:
    """The results of `donor` for a study `spec`.

    Raises:
        SpecError: the two have nothing in common that could be learned from.
    """
    if donor.spec.space is None or spec.space is None:
        raise SpecError(f"study {donor.name!r} cannot be borrowed from: both need a declared space.", "Leave like out.")
    metrics = [objective.metric for objective in spec.objectives]
    known = {name for record in donor.trials.values() for name in record.columns}
    known |= {objective.metric for objective in donor.spec.objectives}
    lacking = [metric for metric in metrics if metric not in known]
    if lacking:
        raise SpecError(
            f"study {donor.name!r} cannot be borrowed from: it never measured {lacking[0]}.",
            f"It has {', '.join(sorted(known))}.",
        )
    here, there = Space.from_json(spec.space), Space.from_json(donor.spec.space)
    fits: list[Fit] = []
    reasons: Counter[str] = Counter()
    filled: set[str] = set()
    for record in _ended(donor):
        values = tuple(value for metric in metrics if (value := _measured(record, metric)) is not None)
        if len(values) < len(metrics) or not all(map(isfinite, values)):
            reasons[f"no finite {', '.join(metrics)}"] += 1
            continue
        config, why = _mapped(record, there, here, filled)
        if config is None:
            reasons[why] += 1
        else:
            fits.append((values, record, config))
    if not fits:
        why = reasons.most_common(1)[0][0] if reasons else "it has no result yet"
        raise SpecError(f"study {donor.name!r} has nothing to borrow: {why}.", "Leave like out, or name another study.")
    kept = _chosen(fits, spec)
    best = min(kept, key=lambda fit: (spec.objective.loss(fit[0][0]), fit[1].number))
    results = tuple(_result_json(values, record, config, spec) for values, record, config in kept)
    return Loan(results=results, best=best[2], story=_story(donor, len(kept), reasons, filled))


def borrowed_results(loans: Iterable[tuple[str, Json]], space: Space | None) -> list[Result]:
    """(donor's name, result as JSON) pairs as a strategy is told them; what the space has no place for is left out."""
    results = []
    if space is None:
        return []
    for place, (donor, body) in enumerate(loans):
        try:
            config = space.configuration(body["config"])
        except SpaceError:
            continue
        results.append(
            Result(
                number=-1 - place,
                config=config,
                state=body["state"],
                values=tuple(value for part in body["values"] if (value := decode_number(part)) is not None),
                outcomes=tuple(map(decode_number, body["outcomes"])),
                cost_s=body["cost_s"],
                borrowed_from=donor,
            )
        )
    return results


def _ended(donor: StudyData) -> list[TrialRecord]:
    kept = (TrialStatus.COMPLETED, TrialStatus.STOPPED)
    return [record for number in sorted(donor.trials) if (record := donor.trials[number]).status in kept]


def _measured(record: TrialRecord, metric: str) -> float | None:
    """An objective's value, or else the last report of the metric."""
    named = record.named_values or {}
    if metric in named:
        return named[metric]
    return next((cell for cell in reversed(record.columns.get(metric, ())) if cell is not None), None)


def _mapped(record: TrialRecord, there: Space, here: Space, filled: set[str]) -> tuple[Configuration | None, str]:
    """The configuration in this space, or why there is none."""
    try:
        values = {d.path: value for d, value in there.decisions_of(there.configuration(record.config))}
    except SpaceError as error:
        return None, error.cause
    missing: set[str] = set()

    def decide(decision: Decision) -> Any:
        if decision.path in values:
            return values[decision.path]
        missing.add(decision.path)
        return decision.domain.initial()

    try:
        config = here.build(decide)
    except SpaceError as error:
        return None, f"{error.cause.partition(' = ')[0]} is outside of this space"  # without the value, to be counted
    broken = here.violations(config)
    if broken:
        return None, f"breaks {broken[0]}"
    filled |= missing
    return config, ""


def _chosen(fits: list[Fit], spec: StudySpec) -> list[Fit]:
    if len(fits) <= LIMIT:
        return fits
    by_loss = sorted(fits, key=lambda fit: (spec.objective.loss(fit[0][0]), fit[1].number))
    best, rest = by_loss[: LIMIT // 2], by_loss[LIMIT // 2 :]
    count = LIMIT - len(best)
    spread = [rest[place * len(rest) // count] for place in range(count)]
    return sorted([*best, *spread], key=lambda fit: fit[1].number)


def _result_json(values: tuple[float, ...], record: TrialRecord, config: Configuration, spec: StudySpec) -> Json:
    state: Literal["completed", "stopped"] = "completed" if record.status is TrialStatus.COMPLETED else "stopped"
    outcomes = [_measured(record, constraint.metric) for constraint in spec.constraints]
    return {
        "config": config.to_json(),
        "state": state,
        "values": [*map(encode_number, values)],
        "outcomes": [*map(encode_number, outcomes)],
        "cost_s": record.run_s,
    }


def _story(donor: StudyData, kept: int, reasons: Counter[str], filled: set[str]) -> str:
    text = f"{kept} results of study {donor.name}"
    if reasons:
        why = "; ".join(f"{count}: {reason}" for reason, count in reasons.most_common(3))
        text += f"; {sum(reasons.values())} left out ({why})"
    if filled:
        text += f"; it had no {', '.join(sorted(filled)[:5])}: filled in"
    return text
