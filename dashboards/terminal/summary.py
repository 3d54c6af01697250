"""What a person wants to know when a study has ended: the best configuration, and where the time went."""

from __future__ import annotations

from pathlib import Path

from ...search.study_data import StudyData
from .figures import configuration, duration, number, parameter
from .parameters import flat

FRONT_ROWS = 12
"""So many trials of a front are printed: a screen keeps room for the rest of the summary."""


def summary(state: StudyData, data: Path) -> str:
    """The closing text of `shoal run`.

    Args:
        data: the data directory, named so that it can be found again.
    """
    lines = [f"{state.name}: {state.status} ({state.reason})", "", *_best(state), "", *_time(state), ""]
    lines.append(f"data: {data}")
    lines.append(f"more: shoal show {state.name} --data {data}; shoal trials {state.name} --data {data}")
    return "\n".join(lines)


def _best(state: StudyData) -> list[str]:
    best, objective = state.best, state.spec.objective
    if best is None:
        return [*_closest(state)] or [f"no trial completed with a value of {objective.metric}"]
    if len(state.spec.objectives) > 1:
        return _front(state)
    step = best.best_step if best.value_from == "best" else best.last_step
    at = f", epoch {step}" if step else ""
    lines = [f"best {objective.metric} = {number(best.value)} (trial {best.number}{at})"]
    parameters = flat(state, best)
    width = max((len(path) for path in parameters), default=0)
    return lines + [f"  {path:<{width}}  {parameter(value)}" for path, value in parameters.items()]


def _closest(state: StudyData) -> list[str]:
    """What came nearest to the constraints, where trials completed and none keeps them."""
    trial = state.closest
    if trial is None:
        return []
    bounds = ", ".join(map(str, state.spec.constraints))
    outcomes = ", ".join(
        f"{constraint.metric} = {number(outcome)}"
        for constraint, outcome in zip(state.spec.constraints, trial.outcomes, strict=True)
    )
    return [f"no completed trial keeps {bounds}; the nearest is trial {trial.number}: {outcomes}"]


def _front(state: StudyData) -> list[str]:
    """The Pareto front, a line a trial, from the best in the first objective on."""
    first = state.spec.objective
    trials = sorted((state.trials[n] for n in state.front), key=lambda t: (first.loss(t.value or 0.0), t.number))
    wanted = ", ".join(f"{o.direction} {o.metric}" for o in state.spec.objectives)
    lines = [f"{len(trials)} trials on the front ({wanted}):"]
    for trial in trials[:FRONT_ROWS]:
        values = "  ".join(f"{metric} = {number(value)}" for metric, value in (trial.named_values or {}).items())
        lines.append(f"  #{trial.number}  {values}  {configuration(flat(state, trial))}")
    if len(trials) > FRONT_ROWS:
        lines.append(f"  and {len(trials) - FRONT_ROWS} more: shoal show {state.name}")
    return lines


def _time(state: StudyData) -> list[str]:
    counts = ", ".join(f"{n} {status}" for status, n in state.counts().items() if n)
    wall_s = None
    if state.created_at is not None and state.ended_at is not None:
        wall_s = state.ended_at - state.created_at
    lines = [
        f"trials: {len(state.trials)} ({counts}), {state.epochs_trained} epochs",
        f"time: {duration(wall_s)} from first to last event, {duration(state.run_s)} summed over trials"
        + (f", {duration(state.gpu_s)} on GPUs" if state.gpu_s else ""),
    ]
    spent = sum(state.phases_s.values())
    for phase, seconds in sorted(state.phases_s.items(), key=lambda item: -item[1]):
        share = seconds / spent if spent else 0.0
        lines.append(f"  {phase:<12} {duration(seconds):>12}  {share:4.0%}")
    return lines
