"""One line per event, for logs and pipes."""

from __future__ import annotations

import time
from collections.abc import Callable

from ...search import events as e
from ...search.numbers import decode_number
from ...search.story import noted, tagged
from ...search.study_data import StudyData
from ...search.trial_record import TrialRecord
from .figures import configuration, duration, number
from .parameters import flat


def line(state: StudyData, event: e.Event) -> str | None:
    """What `event` says to a person who reads along; None for events without news.

    Args:
        state: the study's state after the event.
    """
    write = LINES.get(type(event))
    text = write(state, event) if write is not None else None
    return None if text is None else f"{clock(event.at)} {state.name} {text}"


def clock(at: float) -> str:
    """Local time of day."""
    return time.strftime("%H:%M:%S", time.localtime(at))


def _created(state: StudyData, event: e.StudyCreated) -> str:
    budget = state.spec.budget
    goals = ", ".join(f"{objective.direction} {objective.metric}" for objective in state.spec.objectives)
    if state.spec.constraints:
        goals += f" subject to {', '.join(map(str, state.spec.constraints))}"
    trials = f"{budget.trials} trials" if budget.trials is not None else "trials until the time limit"
    return f"study created: {trials}, {goals}, strategy {state.spec.strategy.name}"


def _opened(state: StudyData, event: e.HeadOpened) -> str | None:
    return f"taken up by process {event.pid} on {event.host}"


def _reasoned(what: str) -> Callable[[StudyData, e.Event], str]:
    def write(state: StudyData, event: e.Event) -> str:
        return f"{what}: {getattr(event, 'reason')}"  # noqa: B009 - every event listed with it has a reason

    return write


def _ended_study(state: StudyData, event: e.StudyEnded) -> str:
    best = state.best
    found = f"; best {number(best.value)} in #{best.number}" if best is not None else ""
    return f"study {event.state}: {event.reason}{found}"


def _proposed(state: StudyData, event: e.TrialProposed) -> str:
    trial = state.trials.get(event.number)
    origin = "" if event.source == "strategy" else f" ({event.source})"
    return f"#{event.number} proposed{origin}: {configuration(None if trial is None else flat(state, trial))}"


def _infeasible(state: StudyData, event: e.TrialInfeasible) -> str:
    return f"#{event.number} infeasible: {event.reason}"


def _assigned(state: StudyData, event: e.TrialAssigned) -> str:
    devices = "GPU " + ",".join(event.gpus) if event.gpus else _workers(event.workers)
    verb = "started" if event.generation <= 1 else "resumed"
    return f"#{event.number} {verb} on {event.node}, {devices}: {event.reason}"


def _resizing(state: StudyData, event: e.TrialResizing) -> str:
    return f"#{event.number} is to train on {_workers(event.workers)}: {event.reason}"


def _resized(state: StudyData, event: e.TrialResized) -> str:
    went = "trains on" if event.ok else "stays on"
    return f"#{event.number} {went} {_workers(event.workers)} after {duration(event.stall_s)}: {event.reason}"


def _workers(count: int) -> str:
    return f"{count} worker" + "s" * (count != 1)


def _reported(state: StudyData, event: e.TrialReported) -> str:
    metrics = " ".join(f"{name}={number(decode_number(value))}" for name, value in event.metrics.items())
    return f"#{event.number} epoch {event.step}: {metrics}"


def _decided(state: StudyData, event: e.TrialDecided) -> str:
    return f"#{event.number} {event.decision}: {event.reason}"


def _ended_trial(state: StudyData, event: e.TrialEnded) -> str:
    trial = state.trials.get(event.number)
    value = "" if trial is None else _judged_by(state, trial)
    outcome, failure, reason = event.outcome, event.failure, event.reason
    if trial is not None and trial.failure is not None:  # judged so, however the function itself ended
        outcome, failure, reason = "failed", trial.failure, trial.message or reason
    kind = f" {failure}" if failure is not None else ""
    return f"#{event.number} {outcome}{kind}{value} after {duration(event.run_s)}: {reason}"


def _noted(state: StudyData, event: e.NoteWritten) -> str:
    return f"{_on(event)}{noted(event)}"


def _tagged(state: StudyData, event: e.TagsChanged) -> str:
    return f"{_on(event)}{tagged(event)}"


def _on(event: e.NoteWritten | e.TagsChanged) -> str:
    return "" if event.number is None else f"#{event.number} "


def _judged_by(state: StudyData, trial: TrialRecord) -> str:
    """What the study makes of an ended trial: all objectives, and the constraints that it breaks."""
    if trial.named_values is None:
        now = trial.value  # it goes on later
        return "" if now is None else f" {state.spec.objective.metric}={number(now)}"
    values = "".join(f" {metric}={number(value)}" for metric, value in trial.named_values.items())
    pairs = zip(state.spec.constraints, trial.outcomes, strict=False)
    broken = ", ".join(str(constraint) for constraint, outcome in pairs if constraint.excess(outcome))
    return f"{values} (not {broken})" if broken else values


LINES: dict[type[e.Event], Callable[..., str | None]] = {
    e.StudyCreated: _created,
    e.HeadOpened: _opened,
    e.StudyEdited: _reasoned("study edited"),
    e.StudyPaused: _reasoned("study paused"),
    e.StudyResumed: _reasoned("study resumed"),
    e.StudyStopping: _reasoned("study stopping"),
    e.StudyEnded: _ended_study,
    e.HistoryBorrowed: _reasoned("borrowed"),
    e.TrialProposed: _proposed,
    e.TrialInfeasible: _infeasible,
    e.TrialAssigned: _assigned,
    e.TrialResizing: _resizing,
    e.TrialResized: _resized,
    e.TrialReported: _reported,
    e.TrialDecided: _decided,
    e.TrialEnded: _ended_trial,
    e.NoteWritten: _noted,
    e.TagsChanged: _tagged,
}
