"""What a command does to a study: the event it becomes, and the words in which its effect is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches

from ..errors import ShoalError, SpecError
from ..search.asking import room_for_enqueued
from ..search.editing import edit
from ..search.ended_trials import config_key
from ..search.events import (
    Decision,
    Enqueued,
    Event,
    NoteWritten,
    StudyEdited,
    StudyPaused,
    StudyResumed,
    StudyStopping,
    TagsChanged,
    TrialDecided,
)
from ..search.remarks import bearer, check_tags, note_of
from ..search.spec import Json
from ..search.study_data import StudyData
from ..search.transitions import TrialStatus
from ..spaces import Space
from .commands import REMARK_VERBS, Command


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """The events a command becomes (none when it cannot be done) and what the person is told."""

    ok: bool
    text: str
    events: tuple[Event, ...] = ()


def effect_of(body: Json, state: StudyData, at: float) -> Effect:
    """Read a row of the commands table against the study as it is now."""
    try:
        command = Command.from_json(body)
        if command.verb == "enqueue":
            return _enqueue(command, state, at)
        if command.verb == "edit":
            return _edit(command, state, at)
        if command.verb in REMARK_VERBS:
            return _remark(command, state, at)
        if command.number is None:
            return _on_study(command, state, at)
        return _on_trial(command, state, at)
    except ShoalError as error:
        return Effect(ok=False, text=str(error))


def remark_elsewhere(body: Json, study: str, at: float) -> Effect | None:
    """The effect of a note or tags on a study that this head does not run, and so knows nothing of but its name.

    None: the command is of another kind; the study's own head will see it.
    """
    try:
        command = Command.from_json(body)
    except ShoalError:
        return None
    return _written(command, study, at) if command.verb in REMARK_VERBS else None


def _remark(command: Command, state: StudyData, at: float) -> Effect:
    on = bearer(state, command.number)
    if on is None:
        return _no_such_trial(command.number, state)
    if command.verb == "tag":
        check_tags(on.tags, command.added, command.removed)
    return _written(command, state.name, at)


def _written(command: Command, study: str, at: float) -> Effect:
    number, who = command.number, command.who
    name = f"study {study}" if number is None else f"trial {study}#{number}"
    if command.verb == "note":
        text = note_of(command.text)
        told = f"{name}: note {'written' if text else 'taken away'}"
        return Effect(ok=True, text=told, events=(NoteWritten(at=at, text=text, by=who, number=number),))
    added, removed = tuple(command.added), tuple(command.removed)
    told = f"{name}: tags {' '.join([*(f'+{tag}' for tag in added), *(f'-{tag}' for tag in removed)])}"
    event = TagsChanged(at=at, added=added, removed=removed, by=who, number=number)
    return Effect(ok=True, text=told, events=(event,))


def _no_such_trial(number: int | None, state: StudyData) -> Effect:
    text = f"trial {state.name}#{number} does not exist; the study has {len(state.trials)} trials"
    return Effect(ok=False, text=text)


def _on_study(command: Command, state: StudyData, at: float) -> Effect:
    reason = f"asked by {command.who}"
    running, queued = _count(state, TrialStatus.RUNNING), _count(state, TrialStatus.QUEUED)
    if command.verb == "resume":
        if state.status != "paused":
            return Effect(ok=False, text=f"study {state.name} is {state.status}, not paused")
        paused = _count(state, TrialStatus.PAUSED)
        text = f"study {state.name} goes on: {queued} queued and {paused} paused trials may start"
        return Effect(ok=True, text=text, events=(StudyResumed(at=at, reason=reason),))
    if state.is_over:
        return Effect(ok=False, text=f"study {state.name} is {state.status} already")
    if command.verb == "pause":
        if state.status == "paused":
            return Effect(ok=False, text=f"study {state.name} is paused already")
        pausable = sum(1 for n in state.numbers(TrialStatus.RUNNING) if state.trials[n].can_pause)
        text = (
            f"study {state.name} pauses: {pausable} of {running} running trials at their next epoch, "
            f"the others when they end; {queued} queued trials wait"
        )
        return Effect(ok=True, text=text, events=(StudyPaused(at=at, reason=reason),))
    now = command.verb == "kill"
    how = "are killed" if now else "finish"
    text = f"study {state.name} ends: {running} running trials {how}, {queued} queued trials are cancelled"
    return Effect(ok=True, text=text, events=(StudyStopping(at=at, now=now, reason=reason),))


def _on_trial(command: Command, state: StudyData, at: float) -> Effect:
    number = command.number
    assert number is not None
    record = state.trials.get(number)
    name = f"trial {state.name}#{number}"
    if record is None:
        return _no_such_trial(number, state)
    status = record.status
    if status.is_terminal:
        return Effect(ok=False, text=f"{name} is {status} already")
    if command.verb == "pause":
        if status is not TrialStatus.RUNNING:
            return Effect(ok=False, text=f"{name} is {status}, not running")
        if record.decision in ("stop", "cancel", "finish"):
            return Effect(ok=False, text=f"{name} is about to end: {record.reason}")
        if not record.can_pause:
            return Effect(ok=False, text=f"{name} cannot pause: it has nothing saved yet that it could go on from")
        return _decide(command, number, "pause", f"1 trial: {name} pauses at its next epoch", at)
    if command.verb == "resume":
        if status is not TrialStatus.PAUSED:
            return Effect(ok=False, text=f"{name} is {status}, not paused")
        return _decide(command, number, "promote", f"1 trial: {name} is queued again", at, rung=record.rung)
    if command.verb == "stop":
        when = "stops at its next report" if status is TrialStatus.RUNNING else "is stopped"
        return _decide(command, number, "stop", f"1 trial: {name} {when}", at)
    how = "is killed" if status is TrialStatus.RUNNING else "is cancelled"
    return _decide(command, number, "cancel", f"1 trial: {name} {how}", at)


def _decide(command: Command, number: int, decision: Decision, text: str, at: float, *, rung: int = 0) -> Effect:
    event = TrialDecided(
        at=at,
        number=number,
        decision=decision,
        reason=f"asked by {command.who}",
        by="person",
        rung=rung,
    )
    return Effect(ok=True, text=text, events=(event,))


def _enqueue(command: Command, state: StudyData, at: float) -> Effect:
    if command.key in state.enqueued_keys:
        return Effect(ok=True, text="0 trials: this configuration was enqueued before (same key)")
    if state.is_over:
        return Effect(ok=False, text=f"study {state.name} is {state.status}; extend it first (--trials)")
    if not room_for_enqueued(state):
        budget = state.spec.budget.trials
        return Effect(ok=False, text=f"all {budget} trials of study {state.name} have started; raise its budget first")
    config = command.config
    if state.spec.space is not None:
        config = Space.from_json(state.spec.space).validate(config).to_json()
    return Effect(
        ok=True,
        text=f"1 trial: {config_key(config)} is next in line",
        events=(Enqueued(at=at, config=config, key=command.key),),
    )


def _edit(command: Command, state: StudyData, at: float) -> Effect:
    if state.is_over:
        return Effect(ok=False, text=f"study {state.name} is {state.status}; shoal run goes on with it (--trials N)")
    before = state.spec
    parts: dict[str, dict[str, Json]] = {"budget": {}, "study": {}}
    told = []
    for name, value in command.changes.items():
        part, field = changeable(name)
        parts[part][field] = value
        old = getattr(before.budget if part == "budget" else before, field)
        told.append(f"{name} {_shown(old)} -> {_shown(value)}")
    spec = edit(before, replace(before, **parts["study"], budget=replace(before.budget, **parts["budget"])))
    what = ", ".join(told)
    event = StudyEdited(at=at, spec=spec.to_json(), reason=f"{what}: asked by {command.who}")
    return Effect(ok=True, text=f"study {state.name}: {what}", events=(event,))


CHANGEABLE: Mapping[str, tuple[str, str]] = {
    "trials": ("budget", "trials"),
    "max_failures": ("budget", "max_failures"),
    "trial_time_limit_s": ("budget", "trial_time_limit_s"),
    "time_limit_s": ("budget", "study_time_limit_s"),
    "gpu_hours": ("budget", "gpu_hours"),
    "weight": ("study", "weight"),
    "priority": ("study", "priority"),
}
"""What may change while a study runs, by the names of `Study(...)`, and where it lives in the spec."""


def changeable(name: str) -> tuple[str, str]:
    """Where the setting lives.

    Raises:
        SpecError: it cannot change while the study runs (did you mean).
    """
    if name not in CHANGEABLE:
        close = get_close_matches(name, CHANGEABLE, n=1)
        hint = f"Did you mean {close[0]}?" if close else f"These can: {', '.join(CHANGEABLE)}."
        raise SpecError(f"{name} cannot change while the study runs.", hint)
    return CHANGEABLE[name]


def _shown(value: Json) -> str:
    return "none" if value is None else str(value)


def _count(state: StudyData, status: TrialStatus) -> int:
    return len(state.numbers(status))
