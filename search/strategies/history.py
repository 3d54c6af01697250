"""The former asks of a study, read back from its journal, for strategies with `replays_asks`.

The journal says with every proposal which ask it came from and up to which sequence number results had been told
(`TrialProposed.ask`, `seen_seq`). So each ask is what the fold up to that number knew. Asks that failed were answered
with random configurations; they are not repeated, and their results are told with the next one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from ..early_stopping.unstopped import UnstoppedRule
from ..events import Event, StudyCreated, TrialProposed
from ..seeds import ask_seed
from ..spec import StudySpec
from ..study_state import StudyState
from .port import PastAsk


def past_asks(events: Iterable[tuple[int, Event]]) -> list[PastAsk]:
    """The asks behind a study's trials, in order, from all its events with their sequence numbers.

    A head gives them to `StrategyHost.open` and marks their results as told (`StudyState.mark_told`).
    """
    journal = list(events)
    waiting: deque[_Block] = deque()
    for _, event in journal:
        if isinstance(event, TrialProposed) and event.source == "strategy":
            if waiting and waiting[-1].ask == event.ask:
                waiting[-1].n += 1
            else:
                waiting.append(_Block(event))
    asks: list[PastAsk] = []
    state: StudyState | None = None
    for seq, event in journal:
        if state is None:
            state = _onlooker(event)
        while waiting and waiting[0].seen_seq < seq:
            asks.append(_ask(waiting.popleft(), state))
        state.apply(event, seq)
    return asks


class _Block:
    """Consecutive proposals of one ask."""

    def __init__(self, first: TrialProposed) -> None:
        self.ask = first.ask
        self.seen_seq = first.seen_seq
        self.first_number = first.number
        self.n = 1


def _onlooker(event: Event) -> StudyState:
    """A state that follows a study without deciding anything."""
    assert isinstance(event, StudyCreated), "a study begins with its creation"
    spec = StudySpec.from_json(event.spec)
    return StudyState(spec, make_rule=lambda chosen, objective: UnstoppedRule(), needs_history=lambda chosen: True)


def _ask(block: _Block, state: StudyState) -> PastAsk:
    results = state.untold_results(block.first_number)
    state.mark_told(results)
    return PastAsk(
        ask=block.ask,
        first_number=block.first_number,
        n=block.n,
        seed=ask_seed(state.spec.seed, block.ask),
        results=results,
        pending=state.pending_trials(block.first_number),
    )
