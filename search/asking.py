"""How a live study gets its configurations: from people first, then from the strategy, asked ahead of need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .duplicates import MAX_KNOWN_IN_A_ROW, known_trial, tell_known, turn_away
from .events import AskAnswered, Source, TrialDecided, TrialInfeasible, TrialProposed
from .instructions import Ask
from .misfits import misfit
from .offering import offer, offer_freed, withdraw
from .reproducible import may_ask
from .seeds import ask_seed
from .spec import Json
from .strategies.port import Proposal
from .study_data import StudyData
from .transitions import TrialStatus
from .turn import Turn

if TYPE_CHECKING:
    from .study_state import StudyState

BLOCK = 64
"""Configurations a history-free strategy is asked for at once: some 10 ms of work, and the blocks start at the same
trial numbers however fast the pool is, so that a resumed study is asked the same."""

LOW_WATER = 16
"""Ask for the next block when fewer history-free trials than this wait: at 500 trials/s the answer has 32 ms."""


def propose_enqueued(state: StudyState, turn: Turn) -> None:
    """Make trials of what people asked for, before all that has never run. Where the strategy's proposals have used up
    the budget, the last of them make room."""
    behind = [n for n in _never_started(state) if n in state.offered] if state.enqueued else []
    for number in behind:
        withdraw(state, turn, number)
    while state.enqueued and (state.budget_left != 0 or _take_one_back(state, turn)):
        key, config = state.enqueued[0]
        reason = f"enqueued by a person as {key!r}"
        unfit = misfit(state, config)
        if not unfit and state.has_networks and key not in state.fits:
            _ask_what_fits(state, turn)
            break
        if unfit:
            _propose_unfit(state, turn, config, reason, unfit)
        else:
            wanted = Proposal(config=None, reason=reason, infeasible=state.fits.get(key, ""))
            _propose(state, turn, wanted, config, source="enqueued", ask=-1, seen_seq=0)
    for number in behind:
        if state.trials[number].status is TrialStatus.QUEUED:
            offer(state, turn, number, state.trials[number].reason)


def _ask_what_fits(state: StudyState, turn: Turn) -> None:
    """Have what people asked for judged as the strategy's own proposals are, where torch is."""
    if state.pending_ask is not None:
        return
    wanted = tuple(
        (key, config) for key, config in state.enqueued if key not in state.fits and not misfit(state, config)
    )
    ask = Ask(
        ask=state.next_ask, first_number=len(state.trials), n=0, results=(), pending=(), seed=0, wanted=wanted
    )
    state.begin_ask(ask)
    turn.perform(ask)


def take_verdicts(state: StudyState, turn: Turn, ask: Ask, proposals: Sequence[Proposal]) -> None:
    """What fits a device is now known of the enqueued configurations; where judging failed they are tried."""
    for place, (key, _) in enumerate(ask.wanted):
        state.fits[key] = proposals[place].infeasible if place < len(proposals) else ""
    if state.status == "running":
        propose_enqueued(state, turn)


def room_for_enqueued(state: StudyData) -> bool:
    """Would one more enqueued configuration come to run?"""
    left = state.budget_left
    return left is None or left + len(_never_started(state)) > len(state.enqueued)


def _never_started(state: StudyData) -> list[int]:
    """The strategy's proposals that still wait for their first start, by number."""
    queued = (state.trials[number] for number in state.numbers(TrialStatus.QUEUED))
    return [record.number for record in queued if record.generation == 0 and record.source != "enqueued"]


def _take_one_back(state: StudyState, turn: Turn) -> bool:
    """Give the budget of the last proposal back that has not run; False if there is none."""
    never_started = _never_started(state)
    if not never_started:
        return False
    number = never_started[-1]
    withdraw(state, turn, number)
    reason = "made room for a configuration that a person enqueued"
    turn.emit(TrialDecided(at=turn.at, number=number, decision="cancel", reason=reason))
    offer_freed(state, turn)
    return True


def _propose_unfit(state: StudyState, turn: Turn, config: Json, reason: str, unfit: str) -> None:
    number = len(state.trials)
    turn.emit(
        TrialProposed(
            at=turn.at, number=number, config=config, source="enqueued", ask=-1, seen_seq=0, reason=reason
        )
    )
    turn.emit(TrialDecided(at=turn.at, number=number, decision="cancel", reason=unfit))


def ask_ahead(state: StudyState, turn: Turn, room: int) -> None:
    """Ask the strategy if the trials at hand are running out."""
    if state.exhausted or state.enqueued or state.awaits_result:
        return
    left = state.budget_left
    queued = state.startable
    low = queued < max(LOW_WATER, room + 1)
    n = room + 1 - queued if state.uses_history else BLOCK * low
    if state.uses_history and state.spec.reproducible is not None:
        n = min(n, 1) if may_ask(state) else 0
    if left is not None:
        n = min(n, left)
    if n <= 0:
        return
    first_number = len(state.trials)
    ask = Ask(
        ask=state.next_ask,
        first_number=first_number,
        n=n,
        results=state.untold_results(first_number),
        pending=state.pending_trials(first_number),
        seed=ask_seed(state.spec.seed, state.next_ask),
    )
    state.begin_ask(ask)
    turn.perform(ask)


def take_proposals(
    state: StudyState, turn: Turn, ask: Ask, proposals: Sequence[Proposal], *, exhausted: bool, error: str
) -> None:
    """Turn a strategy's answer into trials. After an error they are random ones: the study goes on."""
    seen_seq = state.asked_at_seq
    source: Source = "strategy"
    exhausted = exhausted or len(proposals) < ask.n
    if error:
        source, exhausted = "fallback", False
        proposals = _random_proposals(state, ask, error)
    wanted = ask.n if state.budget_left is None else min(ask.n, state.budget_left)
    taken = proposals[:wanted]
    for proposal in taken:
        config = None if proposal.config is None else proposal.config.to_json()
        number = _propose(state, turn, proposal, config, source=source, ask=ask.ask, seen_seq=seen_seq)
        state.remember(number, proposal.config)
    reason = error or f"{len(taken)} of {ask.n} configurations"
    if exhausted and state.strategy_waits and state.has_open_trials:
        exhausted, reason = False, f"{reason}: more when a trial has ended"
        state.wait_for_result()
    elif exhausted:
        reason = f"{reason}: the space is exhausted"
    elif state.known_in_a_row >= MAX_KNOWN_IN_A_ROW:
        exhausted, reason = True, f"the last {state.known_in_a_row} proposals were all known already"
    turn.emit(AskAnswered(at=turn.at, ask=ask.ask, count=len(taken), exhausted=exhausted, reason=reason))


def _propose(
    state: StudyState, turn: Turn, proposal: Proposal, config: Json, *, source: Source, ask: int, seen_seq: int
) -> int:
    number = len(state.trials)
    known = known_trial(state, config) if proposal.until is None else None  # a stretch of a longer training is its own
    turn.emit(
        TrialProposed(
            at=turn.at,
            number=number,
            config=config,
            source=source,
            ask=ask,
            seen_seq=seen_seq,
            reason=proposal.reason,
            attrs=proposal.attrs,
            duplicate_of=None if known is None else known.number,
            parent=proposal.parent,
            until=proposal.until,
        )
    )
    if proposal.infeasible:
        turn.emit(TrialInfeasible(at=turn.at, number=number, reason=proposal.infeasible))
    elif known is None:
        offer(state, turn, number, proposal.reason)
    elif state.spec.duplicates == "reject":
        turn_away(state, turn, number)
    elif known.status.is_terminal:
        tell_known(state, turn, number)
    return number


def _random_proposals(state: StudyState, ask: Ask, error: str) -> list[Proposal]:
    """Random valid configurations instead of the strategy's."""
    import numpy

    reason = f"random, since the strategy failed: {error}"
    if state.space is None:
        return [Proposal(config=None, reason=reason)] * ask.n
    rng = numpy.random.default_rng(ask.seed)
    return [Proposal(config=state.space.sample(rng), reason=reason) for _ in range(ask.n)]
