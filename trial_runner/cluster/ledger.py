"""What an agent has seen and no head has taken in yet: pure books, so that nothing is lost and nothing told twice.

Events get numbers and stay until a head says that they are in its journal. When a head takes over, it is also told
again what its predecessor knew and had not answered: the trial that asked is waiting still.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace

from ..messages import (
    AnswerReport,
    AnswerSuggestion,
    Ended,
    Instruction,
    LaunchTrial,
    Prepared,
    Reported,
    Resized,
    RunnerEvent,
    SuggestionAsked,
    Warned,
)
from .ports import RunningTrial

MAX_WARNINGS = 1_000
"""Warnings that wait for a head. Every other kind of event is bounded by the number of trials, since trials wait for
answers; a trial can warn without end."""

Question = Reported | SuggestionAsked
TrialKey = tuple[str, int]


class Ledger:
    """The books of one agent."""

    def __init__(self) -> None:
        self._log: deque[tuple[int, RunnerEvent]] = deque()
        self._next = 1
        self._warnings = 0
        self._trials: dict[TrialKey, RunningTrial] = {}
        self._questions: dict[TrialKey, Question] = {}
        self._unjudged: set[TrialKey] = set()

    @property
    def trials(self) -> tuple[RunningTrial, ...]:
        """Trials that run, and those whose end nobody has taken in."""
        return tuple(self._trials.values())

    @property
    def last(self) -> int:
        """The number of the newest event that nobody has taken in yet, 0: there is none."""
        return self._log[-1][0] if self._log else 0

    def obvious_answers(self) -> list[AnswerReport]:
        """What any head would say to those reports that nobody judges."""
        return [
            AnswerReport(
                study=asked.study, number=asked.number, generation=asked.generation, step=asked.step,
                verdict="continue", reason="no head is here, and nobody judges the trial's reports",
            )
            for key, asked in self._questions.items() if key in self._unjudged and isinstance(asked, Reported)
        ]  # fmt: skip

    def told(self, instruction: Instruction, code: str = "") -> None:
        """Note an instruction that is being carried out; `code` is what the study of a launch runs."""
        match instruction:
            case LaunchTrial():
                if instruction.unjudged:
                    self._unjudged.add((instruction.study, instruction.number))
                self._trials[instruction.study, instruction.number] = RunningTrial(
                    launch=instruction, code=code, slots=instruction.slots
                )
            case AnswerReport():
                asked = self._questions.get((instruction.study, instruction.number))
                if isinstance(asked, Reported) and asked.step <= instruction.step:
                    del self._questions[instruction.study, instruction.number]
            case AnswerSuggestion():
                asked = self._questions.get((instruction.study, instruction.number))
                if isinstance(asked, SuggestionAsked) and asked.path == instruction.path:
                    del self._questions[instruction.study, instruction.number]
            case _:
                pass

    def record(self, event: RunnerEvent) -> None:
        """Take an event in."""
        match event:
            case Warned():
                if self._warnings >= MAX_WARNINGS:
                    return
                self._warnings += 1
            case Reported() | SuggestionAsked():
                self._questions[event.study, event.number] = event
            case Ended():
                self._questions.pop((event.study, event.number), None)
                self._unjudged.discard((event.study, event.number))
            case Resized():
                trial = self._trials.get((event.study, event.number))
                if trial is not None:
                    self._trials[event.study, event.number] = replace(trial, slots=event.slots)
            case _:
                pass
        self._log.append((self._next, event))
        self._next += 1

    def after(self, since: int) -> tuple[tuple[int, RunnerEvent], ...]:
        """Events with a number above `since`."""
        return tuple(entry for entry in self._log if entry[0] > since)

    def forget(self, done: int) -> None:
        """Events up to number `done` are in the head's journal."""
        while self._log and self._log[0][0] <= done:
            _, event = self._log.popleft()
            if isinstance(event, Warned):
                self._warnings -= 1
            elif isinstance(event, Ended):
                trial = self._trials.get((event.study, event.number))
                if trial is not None and trial.generation == event.generation:
                    del self._trials[event.study, event.number]

    def drop(self, study: str) -> None:
        """Forget a study with everything that was said of it."""
        self._log = deque(entry for entry in self._log if entry[1].study != study)
        self._trials = {key: trial for key, trial in self._trials.items() if key[0] != study}
        self._questions = {key: asked for key, asked in self._questions.items() if key[0] != study}
        self._unjudged = {key for key in self._unjudged if key[0] != study}

    def hand_over(self) -> None:
        """Another head listens from now on: what nobody has answered is told again, unless it waits to be told."""
        kept = [entry for entry in self._log if not isinstance(entry[1], Prepared)]  # it asks for its own
        untold = {id(event) for _, event in kept}
        self._log = deque(kept)
        for question in self._questions.values():
            if id(question) not in untold:
                self._log.append((self._next, question))
                self._next += 1
