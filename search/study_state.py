"""`StudyState`: a live study. Facts in, events and instructions out; it owns its state and nothing else changes it.

Three ways in, each gives an `Outcome`: `handle` for what has happened, `wish` for how much more the pool could take,
`answer` for what the strategy proposed. Pure: no clock, no I/O; time comes inside the events.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Self

from ..errors import SpaceError
from ..spaces import Configuration, Space
from ..spaces.architecture import has_architecture
from .asking import ask_ahead, propose_enqueued, take_proposals, take_verdicts
from .borrowing import borrowed_results
from .duplicates import settle_twins
from .ending import end_if_over, stop_at_limits
from .events import Event, TrialReported
from .fold import StudyFold
from .instructions import Answer, Ask, Instruction, Outcome
from .promoting import promote_all
from .reactions import REACTIONS, answer_by_rule
from .reproducible import known_below
from .results import pending_of, result_of
from .spec import Chosen, Json, StudySpec
from .strategies.port import Pending, Proposal, Result
from .study_data import RuleMaker
from .trial_record import PENDING, TrialRecord
from .turn import Turn


class StudyState(StudyFold):
    """A study that is being run.

    `pending_ask` is the ask whose answer is outstanding. What only a live study knows (that ask, which results the
    strategy has been told, which trials the pool knows of, parsed configurations) is not part of the folded state: a
    new head asks again and tells everything again.

    Args:
        spec: the study.
        make_rule: builds the stopping rule, again when an edit changes it.
        needs_history: do the strategy's proposals depend on results? Otherwise it is asked far ahead.
        waits: may the strategy have nothing to propose until an open trial has ended?
    """

    def __init__(
        self,
        spec: StudySpec,
        *,
        make_rule: RuleMaker,
        needs_history: Callable[[Chosen], bool],
        waits: Callable[[Chosen], bool] = lambda chosen: False,
    ) -> None:
        super().__init__(spec, make_rule)
        self.pending_ask: Ask | None = None
        self.asked_at_seq = 0
        self._needs_history = needs_history
        self._waits = waits
        self._ended_at_short_answer: int | None = None
        self._told: set[int] = set()
        self.offered: dict[int, int] = {}
        self.at_rung: dict[int, TrialReported] = {}
        self._configs: dict[int, Configuration] = {}
        self._lent: list[Result] = []
        self.fits: dict[str, str] = {}
        self._has_networks = False
        self._space: Space | None = None
        self._space_json: Json = None

    @classmethod
    def create(cls, spec: StudySpec) -> Self:
        """With the registered stopping rules and strategies.

        Raises:
            SpecError: no such rule or strategy, or its options are wrong.
        """
        from .early_stopping import make_rule
        from .strategies import describe

        return cls(
            spec,
            make_rule=make_rule,
            needs_history=lambda chosen: describe(chosen.name).uses_history,
            waits=lambda chosen: describe(chosen.name).waits,
        )

    @property
    def space(self) -> Space | None:
        """The study's space; None for define by run."""
        if self._space_json is not self.spec.space:
            self._space = Space.from_json(self.spec.space)
            self._space_json = self.spec.space
            self._configs.clear()
            self._lent.clear()
            self.fits.clear()
            self._has_networks = self._space is not None and has_architecture(self._space)
        return self._space

    @property
    def has_networks(self) -> bool:
        """Can some of its configurations be built into networks, whose memory is predicted?"""
        return self.space is not None and self._has_networks

    @property
    def uses_history(self) -> bool:
        return self._needs_history(self.spec.strategy)

    @property
    def strategy_waits(self) -> bool:
        return self._waits(self.spec.strategy)

    @property
    def has_open_trials(self) -> bool:
        """Is there a trial whose result is still to come?"""
        return any(self.by_status[status] for status in PENDING)

    @property
    def awaits_result(self) -> bool:
        """Did the strategy have no more to propose, and has no trial ended since?"""
        return self._ended_at_short_answer == len(self.ended)

    def wait_for_result(self) -> None:
        """Do not ask again before a trial has ended."""
        self._ended_at_short_answer = len(self.ended)

    def handle(self, event: Event, seq: int) -> Outcome:
        """Take `event` in, which the journal keeps as `seq`, and decide what follows.

        The outcome's events follow it in the journal, as seq + 1 and on. A stale message changes nothing.
        """
        turn = Turn(self, event.at, seq + 1)
        if self.apply(event, seq):
            reaction = REACTIONS.get(type(event))
            if reaction is not None:
                reaction(self, event, turn)
            if type(event) is not TrialReported:
                self._settle(turn)
        return turn.outcome()

    def wish(self, room: int, at: float, seq: int) -> Outcome:
        """The pool could start `room` more trials of this study now. Call it once a round, also with 0.

        `seq` is the journal's next number: the one the outcome's first event gets.
        """
        turn = Turn(self, at, seq)
        stop_at_limits(self, turn)
        if self.status == "running":
            if room > 0:
                promote_all(self, turn)
            if self.pending_ask is None:
                propose_enqueued(self, turn)
                ask_ahead(self, turn, room)
        end_if_over(self, turn, asking=self.pending_ask is not None)
        return turn.outcome()

    def answer(
        self, ask: int, proposals: Sequence[Proposal], exhausted: bool, error: str, at: float, seq: int
    ) -> Outcome:
        """The strategy's answer to `Ask(ask)`. `seq` as in `wish`. An answer nobody waits for changes nothing."""
        turn = Turn(self, at, seq)
        asked = self.pending_ask
        if asked is None or asked.ask != ask:
            return turn.outcome()
        self.pending_ask = None
        if self.status in ("running", "paused"):
            if asked.wanted:
                take_verdicts(self, turn, asked, proposals)
            else:
                take_proposals(self, turn, asked, proposals, exhausted=exhausted, error=error)
            self._settle(turn)
        return turn.outcome()

    def unanswered(self, number: int, at: float, seq: int) -> Outcome:
        """The pool has said nothing about a trial `at_rung`: its rule decides. `seq` as in `wish`."""
        turn = Turn(self, at, seq)
        answer_by_rule(self, self.at_rung.pop(number), turn)
        return turn.outcome()

    def put_off(self, number: int, reason: str) -> tuple[Instruction, ...]:
        """The program is being left: a trial `at_rung` saves itself there and goes, and nothing is decided about it."""
        report = self.at_rung.pop(number)
        return (
            Answer(number=number, generation=report.generation, step=report.step, verdict="pause", reason=reason),
        )

    def begin_ask(self, ask: Ask) -> None:
        """`ask` goes out: its results count as told."""
        self.pending_ask = ask
        self.asked_at_seq = self.last_seq
        self.mark_told(ask.results)

    def mark_told(self, results: Sequence[Result]) -> None:
        """The strategy knows these; later asks leave them out."""
        self._told.update(result.number for result in results)

    def remember(self, number: int, config: Configuration | None) -> None:
        """Keep a parsed configuration, so that it is not parsed again."""
        if config is not None:
            self._configs[number] = config

    def untold_results(self, first_number: int | None = None) -> tuple[Result, ...]:
        """What an ask for trials from `first_number` on (None: the next) is told: what has ended since the last ask of
        this process, in the order of ending; of a reproducible study only what it may know, by number and without
        seconds. Borrowed results come first."""
        numbers = [number for number in self.ended if number not in self._told]
        before = known_below(self.spec, len(self.trials) if first_number is None else first_number)
        if before is not None:
            numbers = sorted(number for number in numbers if number < before)
        records = [self.trials[number] for number in numbers]
        lent = (result for result in self._lent_results() if result.number not in self._told)
        own = (
            result_of(record, config, self.trials.get(-1 if record.duplicate_of is None else record.duplicate_of))
            for record, config in self._with_configs(records)
        )
        return (*lent, *(own if before is None else (replace(result, cost_s=0.0) for result in own)))

    def pending_trials(self, first_number: int | None = None) -> tuple[Pending, ...]:
        """Proposed trials that have no result yet, by number; of a reproducible study those whose results an ask for
        trials from `first_number` on (None: the next) is not to know, without their curves."""
        first_number = len(self.trials) if first_number is None else first_number
        before = known_below(self.spec, first_number)
        if before is None:
            numbers = sorted(set().union(*(self.by_status[status] for status in PENDING)))
        else:
            numbers = list(range(before, first_number))
        pairs = self._with_configs([self.trials[number] for number in numbers])
        found = (pending_of(record, config) for record, config in pairs)
        return tuple(found if before is None else (replace(pending, curve=()) for pending in found))

    def _lent_results(self) -> list[Result]:
        """The borrowed results, parsed once for each version of the space."""
        space = self.space
        if self.borrowed and not self._lent:
            self._lent = borrowed_results(self.borrowed, space)
        return self._lent

    def _with_configs(self, records: list[TrialRecord]) -> list[tuple[TrialRecord, Configuration | None]]:
        """Pairs of trial and parsed configuration; trials of a former version of the space that do not fit this one
        are left out: a strategy could not place them."""
        space = self.space
        if space is None:
            return [(record, None) for record in records]
        pairs: list[tuple[TrialRecord, Configuration | None]] = []
        for record in records:
            if record.number not in self._configs:
                try:
                    self._configs[record.number] = space.configuration(record.config)
                except SpaceError:
                    continue
            pairs.append((record, self._configs[record.number]))
        return pairs

    def _settle(self, turn: Turn) -> None:
        settle_twins(self, turn)
        stop_at_limits(self, turn)
        promote_all(self, turn)
        end_if_over(self, turn, asking=self.pending_ask is not None)
