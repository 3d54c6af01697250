"""Hosts of strategies: in this process, for simulations and tests, or in one process of their own.

A host never blocks its caller and never loses a study: whatever it told a strategy it remembers, so that a strategy
that raised, hung or died is built again at the next ask. The failed ask itself is answered with an error.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Sequence

from ..search.spec import Json, StudySpec
from ..search.strategies.port import PastAsk, Pending, Proposal, Result
from .feasibility import DeviceMemory
from .ports import Answer, SuggestionAnswer
from .strategy_channel import ChannelClosed, StrategyChannel
from .strategy_desk import StrategyDesk, told_error
from .strategy_memory import AskRequest, Request, StudyMemory, SuggestRequest
from .strategy_wire import proposals_from_json, request_to_json

DEADLINE_S = 60.0
"""Seconds an ask may take. Optuna's GP, the slowest, needs up to 1 s at 100 results and some 5 s at 1,000 on one core;
one that takes ten times as long hangs."""


class InProcessHost:
    """Strategies in this process, answered at once; the answer waits for `drain`.

    Args:
        device: the largest device of the pool, to refuse what fits none; None: nothing is refused.
    """

    def __init__(self, *, device: DeviceMemory | None = None) -> None:
        self._device = device
        self._studies: dict[str, StudyMemory] = {}
        self._desk = StrategyDesk()
        self._built: set[str] = set()
        self._answers: list[Answer | SuggestionAnswer] = []
        self._bell: tuple[int, int] | None = None

    def open(self, study: str, spec: StudySpec, history: Sequence[PastAsk] = ()) -> None:
        self._studies[study] = StudyMemory(spec, list(history), self._device)
        self._built.discard(study)

    def uses_history(self, study: str) -> bool:
        return self._studies[study].uses_history

    def ask(
        self,
        study: str,
        ask: int,
        first_number: int,
        n: int,
        results: Sequence[Result],
        pending: Sequence[Pending],
        seed: int,
        wanted: Sequence[Json] = (),
    ) -> None:
        request = AskRequest(
            study=study,
            ask=ask,
            first_number=first_number,
            n=n,
            results=tuple(results),
            pending=tuple(pending),
            seed=seed,
            wanted=tuple(wanted),
        )
        try:
            self._build(study)
            proposals = self._desk.ask(study, first_number, n, results, pending, seed, wanted)
            error = ""
        except Exception as raised:
            proposals, error = [], told_error(raised)
        self._finish(study, ok=not error)
        self._studies[study].answered(request, ok=not error)
        self._ring(asked(request, proposals, error))

    def suggest(self, study: str, number: int, generation: int, path: str, domain: Json, seed: int) -> None:
        request = SuggestRequest(study=study, number=number, generation=generation, path=path, domain=domain, seed=seed)
        try:
            self._build(study)
            value, error = self._desk.suggest(study, number, path, domain, seed), ""
        except Exception as raised:
            value, error = None, told_error(raised)
        self._finish(study, ok=not error)
        self._ring(suggested(request, value, error))

    def waitables(self) -> Sequence[int]:
        if self._bell is None:
            self._bell = os.pipe()
            if self._answers:
                os.write(self._bell[1], b"!")
        return (self._bell[0],)

    def drain(self) -> list[Answer | SuggestionAnswer]:
        if self._bell is not None and self._answers:
            os.read(self._bell[0], 1)
        answers, self._answers = self._answers, []
        return answers

    def close(self) -> None:
        for fd in self._bell or ():
            os.close(fd)
        self._bell = None

    def _build(self, study: str) -> None:
        if study not in self._built:
            self._desk.open(self._studies[study].opening())
            self._built.add(study)

    def _finish(self, study: str, *, ok: bool) -> None:
        if not ok:
            self._built.discard(study)

    def _ring(self, answer: Answer | SuggestionAnswer) -> None:
        if self._bell is not None and not self._answers:
            os.write(self._bell[1], b"!")
        self._answers.append(answer)


class ProcessHost:
    """Strategies in one process of their own, asked one question at a time.

    The process is started at the first `open`. When it dies, or does not answer in `deadline_s`, it is killed and a new
    one is started for the next question; the question itself is answered with an error.

    Args:
        device: the largest device of the pool, to refuse what fits none; None: nothing is refused.
        deadline_s: seconds for one question, the start of the process and the building of its strategy included.
        clock: seconds, monotonic.
        channel: starts a strategy process.
    """

    def __init__(
        self,
        *,
        device: DeviceMemory | None = None,
        deadline_s: float = DEADLINE_S,
        clock: Callable[[], float] = time.monotonic,
        channel: Callable[[], StrategyChannel] = StrategyChannel,
    ) -> None:
        self._device = device
        self._deadline_s = deadline_s
        self._clock = clock
        self._make_channel = channel
        self._channel: StrategyChannel | None = None
        self._studies: dict[str, StudyMemory] = {}
        self._built: set[str] = set()
        self._queue: deque[Request] = deque()
        self._current: Request | None = None
        self._due = 0.0
        self._answers: list[Answer | SuggestionAnswer] = []

    def open(self, study: str, spec: StudySpec, history: Sequence[PastAsk] = ()) -> None:
        self._studies[study] = StudyMemory(spec, list(history), self._device)
        self._built.discard(study)
        if self._channel is None:
            self._channel = self._make_channel()

    def uses_history(self, study: str) -> bool:
        return self._studies[study].uses_history

    def ask(
        self,
        study: str,
        ask: int,
        first_number: int,
        n: int,
        results: Sequence[Result],
        pending: Sequence[Pending],
        seed: int,
        wanted: Sequence[Json] = (),
    ) -> None:
        self._queue.append(
            AskRequest(
                study=study,
                ask=ask,
                first_number=first_number,
                n=n,
                results=tuple(results),
                pending=tuple(pending),
                seed=seed,
                wanted=tuple(wanted),
            )
        )
        self._send_next()

    def suggest(self, study: str, number: int, generation: int, path: str, domain: Json, seed: int) -> None:
        self._queue.append(
            SuggestRequest(study=study, number=number, generation=generation, path=path, domain=domain, seed=seed)
        )
        self._send_next()

    def waitables(self) -> Sequence[int]:
        return () if self._channel is None else (self._channel.fileno(),)

    def drain(self) -> list[Answer | SuggestionAnswer]:
        self._receive()
        self._send_next()
        answers, self._answers = self._answers, []
        return answers

    def close(self) -> None:
        if self._channel is not None:
            self._channel.kill()
        self._channel = None

    def _send_next(self) -> None:
        while self._current is None and self._queue:
            request = self._queue.popleft()
            if self._channel is None:
                self._channel = self._make_channel()
            opening = None if request.study in self._built else self._studies[request.study].opening()
            self._current = request
            self._due = self._clock() + self._deadline_s
            try:
                self._channel.send(request_to_json(request, opening))
                self._built.add(request.study)
            except ChannelClosed as closed:
                self._lose(str(closed))

    def _receive(self) -> None:
        if self._channel is None:
            return
        try:
            replies = self._channel.receive()
        except ChannelClosed as closed:
            self._lose(str(closed))
            return
        for reply in replies:
            self._take(reply)
        if self._current is not None and self._clock() > self._due:
            self._lose(f"the strategy did not answer in {self._deadline_s:g} s and was ended")

    def _take(self, reply: Json) -> None:
        request, self._current = self._current, None
        assert request is not None, "a reply without a question"
        memory = self._studies[request.study]
        if reply["error"]:
            self._built.discard(request.study)
        if isinstance(request, AskRequest):
            memory.answered(request, ok=not reply["error"])
            proposals = proposals_from_json(reply["proposals"], memory.space)
            self._answers.append(asked(request, proposals, reply["error"]))
        else:
            self._answers.append(suggested(request, reply["value"], reply["error"]))

    def _lose(self, why: str) -> None:
        """The process is gone or has to go: its question fails, and all studies are built again in the next one."""
        assert self._channel is not None
        self._channel.kill()
        self._channel = None
        self._built.clear()
        if self._current is not None:
            self._take({"error": why, "proposals": [], "value": None})


def asked(request: AskRequest, proposals: Sequence[Proposal], error: str) -> Answer:
    """The answer to an ask: fewer proposals than wanted, without an error, mean that the space is exhausted."""
    return Answer(
        study=request.study,
        ask=request.ask,
        proposals=tuple(proposals),
        exhausted=not error and len(proposals) < request.n + len(request.wanted),
        error=error,
    )


def suggested(request: SuggestRequest, value: Json, error: str) -> SuggestionAnswer:
    """The answer to a suggestion."""
    return SuggestionAnswer(
        study=request.study,
        number=request.number,
        generation=request.generation,
        path=request.path,
        value=value,
        error=error,
    )
