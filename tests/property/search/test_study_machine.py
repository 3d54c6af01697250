"""A study under every order of events: nothing is lost, nothing runs twice, a replay agrees with the live study."""

import json
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from shoal.search import snapshot
from shoal.search.codec import decode, encode
from shoal.search.early_stopping.port import Promotion, StoppingRule, Verdict
from shoal.search.events import (
    Enqueued,
    Event,
    FailureKind,
    HeadOpened,
    StudyCreated,
    StudyEdited,
    StudyPaused,
    StudyResumed,
    StudyStopping,
    TrialAssigned,
    TrialDecided,
    TrialEnded,
    TrialReported,
)
from shoal.search.fold import StudyFold
from shoal.search.instructions import Answer, End, Kill, Offer, Outcome, Pause, Withdraw
from shoal.search.spec import Budget, Chosen, EntryPoint, Objective, StudySpec
from shoal.search.strategies.port import Proposal
from shoal.search.study_state import StudyState
from shoal.search.transitions import TrialStatus
from shoal.spaces import Configuration, Int, Space

SPACE = Space(x=Int(0, 30))
RUNGS = (1, 2)
LAST_STEP = 3
SLOTS = 3


class UpperHalf:
    """A small successive halving: at each rung the upper half goes on. A function of the set of reports."""

    def __init__(self) -> None:
        self.seen: dict[int, dict[int, float]] = {}

    def observe(self, number: int, step: int, value: float | None) -> None:
        if value is not None and value == value:
            self.seen.setdefault(step, {}).setdefault(number, value)

    def _is_upper(self, number: int, step: int) -> bool:
        values = self.seen.get(step, {})
        if number not in values:
            return False
        ranked = sorted(values, key=lambda n: (-values[n], n))
        return ranked.index(number) < len(ranked) // 2

    def _step(self, number: int) -> int:
        return max((step for step, values in self.seen.items() if number in values), default=0)

    def verdict(self, number: int, *, can_pause: bool) -> Verdict:
        step = self._step(number)
        if step >= LAST_STEP:
            return Verdict(action="stop", reason="the last epoch", finished=True)
        if step not in RUNGS or self._is_upper(number, step):
            return Verdict(action="continue", reason="goes on")
        return Verdict(action="pause" if can_pause else "stop", reason="lower half")

    def promotions(self, paused: Sequence[int], *, closing: bool = False) -> list[Promotion]:
        able = [n for n in paused if self._is_upper(n, self._step(n))]
        return [Promotion(number=n, rung=self._step(n), reason="upper half now") for n in able]

    def farewell(self, number: int) -> str:
        return "stayed in the lower half"


def spec(trials: int, duplicates: Any, max_failures: int | None) -> StudySpec:
    return StudySpec(
        name="machine",
        space=SPACE.to_json(),
        objectives=(Objective(metric="acc", direction="maximize"),),
        entry=EntryPoint(kind="trial"),
        strategy=Chosen(name="fake"),
        early_stopping=Chosen(name="fake"),
        budget=Budget(trials=trials, max_failures=max_failures),
        duplicates=duplicates,
    )


class StudyMachine(RuleBasedStateMachine):
    """The study, a pool of three slots and a journal kept as rows of text."""

    @initialize(
        trials=st.integers(1, 15),
        duplicates=st.sampled_from(["reuse", "reject", "replicate"]),
        max_failures=st.sampled_from([None, None, 3]),
        uses_history=st.booleans(),
        widest=st.sampled_from([3, 8, 30]),
        seed=st.integers(0, 2**32),
    )
    def create(
        self, trials: int, duplicates: str, max_failures: int | None, uses_history: bool, widest: int, seed: int
    ) -> None:
        self.spec = self.first_spec = spec(trials, duplicates, max_failures)
        self.uses_history = uses_history
        self.widest = 30 if duplicates == "reject" else widest  # else most proposals would be turned away
        self.extended = 0
        self.rows: list[tuple[str, float, str]] = []
        self.at = 0.0
        self.fence = 0
        self.ends = 0
        self.started: set[tuple[int, int]] = set()
        self.state = self.fresh()
        self.take(StudyCreated(at=0.0, spec=self.spec.to_json()))
        self.open_head()
        self.run_for_a_while(seed=seed, moves=40)

    def fresh(self) -> StudyState:
        def make_rule(chosen: Chosen, objective: Objective) -> StoppingRule:
            return UpperHalf()

        return StudyState(self.first_spec, make_rule=make_rule, needs_history=lambda chosen: self.uses_history)

    # --- the head's part ---------------------------------------------------------------------------

    def journal(self, events: Sequence[Event]) -> None:
        for event in events:
            kind, body = encode(event)
            self.rows.append((kind, event.at, body))

    def take(self, event: Event) -> None:
        self.journal([event])
        self.perform(self.state.handle(event, len(self.rows)))

    def perform(self, outcome: Outcome) -> None:
        self.journal(outcome.events)
        for instruction in outcome.instructions:
            match instruction:
                case Offer(number=number, generation=generation):
                    assert number not in self.offered, "offered twice"
                    self.offered[number] = generation
                case Withdraw(number=number):
                    del self.offered[number]
                case Answer(number=number, verdict=verdict):
                    self.running[number] = verdict
                case Kill(number=number):
                    self.running[number] = "kill"
                case Pause(number=number):
                    self.running[number] = "pause"
                case End():
                    self.ends += 1

    def open_head(self) -> None:
        self.offered: dict[int, int] = {}
        self.running: dict[int, str] = {}
        self.fence += 1
        self.take(HeadOpened(at=self.at, fence=self.fence, host="here", pid=self.fence))

    def replay(self) -> StudyState:
        state = self.fresh()
        for seq, (kind, at, body) in enumerate(self.rows, start=1):
            state.apply(decode(kind, at, body), seq)
        return state

    def folded(self, state: StudyFold) -> str:
        return json.dumps(snapshot.to_json(state))

    # --- what can happen ---------------------------------------------------------------------------

    @rule(seed=st.integers(0, 2**32), moves=st.integers(1, 30))
    def go_on_running(self, seed: int, moves: int) -> None:
        self.run_for_a_while(seed, moves)

    def run_for_a_while(self, seed: int, moves: int) -> None:
        """The pool does what it does, in an order of its own."""
        rng = Random(seed)
        for _ in range(moves):
            self.at += 1.0
            self.wish()
            able = [self.answer] * (self.state.pending_ask is not None)
            able += [self.start] * (bool(self.offered) and len(self.running) < SLOTS)
            able += [self.go_on] * (3 * bool(self.running)) + [self.leave] * bool(self.running)
            if able:
                rng.choice(able)(rng)

    def wish(self) -> None:
        room = max(0, SLOTS - len(self.running) - len(self.offered))
        self.perform(self.state.wish(room, self.at, len(self.rows) + 1))

    def answer(self, rng: Random) -> None:
        ask = self.state.pending_ask
        assert ask is not None
        assert ask.first_number == len(self.state.trials)
        n = ask.n if rng.random() < 0.9 else ask.n - 1
        proposals = [Proposal(config=self.draw(rng), reason="drawn") for _ in range(n)]
        error = "took too long" if rng.random() < 0.1 else ""
        self.perform(self.state.answer(ask.ask, proposals, False, error, self.at, len(self.rows) + 1))

    def draw(self, rng: Random) -> Configuration:
        return SPACE.configuration({"x": rng.randint(0, self.widest)})

    def start(self, rng: Random) -> None:
        number = rng.choice(sorted(self.offered))
        generation = self.offered.pop(number)
        assert (number, generation) not in self.started, "started twice"
        self.started.add((number, generation))
        self.running[number] = "continue"
        self.take(
            TrialAssigned(
                at=self.at, number=number, generation=generation, node="here", workers=1, gpus=("0",), gpu_share=1.0,
                reason="room",
            )
        )  # fmt: skip

    def go_on(self, rng: Random) -> None:
        """A running trial obeys what it was told, or trains on."""
        number = rng.choice(sorted(self.running))
        told = self.running[number]
        if told != "continue":
            self.end(number, {"pause": "paused", "stop": "stopped", "kill": "cancelled"}[told], None)
            return
        metrics: dict[str, Any] = rng.choice([{"acc": float(rng.randint(0, 5))}] * 6 + [{}, {"acc": "nan"}])
        record = self.state.trials[number]
        self.take(
            TrialReported(
                at=self.at, number=number, generation=record.generation, step=record.last_step + 1, metrics=metrics,
                can_pause=rng.random() < 0.8,
            )
        )  # fmt: skip

    def leave(self, rng: Random) -> None:
        """A running trial returns, or dies."""
        number = rng.choice(sorted(self.running))
        failure = rng.choice([None, FailureKind.LOST, FailureKind.PREEMPTED, FailureKind.BUG])
        self.end(number, "completed" if failure is None else "failed", failure)

    def end(self, number: int, outcome: Any, failure: FailureKind | None) -> None:
        del self.running[number]
        generation = self.state.trials[number].generation
        self.take(
            TrialEnded(
                at=self.at, number=number, generation=generation, outcome=outcome, reason="so it went",
                failure=failure, run_s=1.0,
            )
        )  # fmt: skip

    @rule(seed=st.integers(0, 2**32))
    def deliver_again(self, seed: int) -> None:
        """Old reports and ends arrive once more: they change nothing but the count of such."""
        about_trials = ("TrialReported", "TrialEnded", "TrialAssigned")
        old = [decode(kind, at, body) for kind, at, body in self.rows if kind in about_trials]
        for event in Random(seed).sample(old, min(len(old), 5)):
            assert isinstance(event, TrialReported | TrialEnded | TrialAssigned)
            record = self.state.trials[event.number]
            if record.status is not TrialStatus.RUNNING or event.generation != record.generation:
                self.take_stale(event)

    def take_stale(self, event: Event) -> None:
        before = snapshot.to_json(self.state)
        outcome = self.state.handle(event, len(self.rows) + 1)
        assert outcome == Outcome()
        after = snapshot.to_json(self.state)
        self.journal([event])
        for changed in ("stale_events", "last_at", "active_s"):
            del before[changed], after[changed]
        assert before == after

    @precondition(lambda self: self.state.is_over and self.extended < 2)
    @rule(more=st.integers(1, 5))
    def extend(self, more: int) -> None:
        """A finished study goes on with a larger budget."""
        self.spec = replace(self.spec, budget=replace(self.spec.budget, trials=(self.spec.budget.trials or 0) + more))
        self.ends = 0
        self.extended += 1
        self.take(StudyEdited(at=self.at, spec=self.spec.to_json(), reason="more trials"))
        self.run_for_a_while(seed=more, moves=10)

    @rule(x=st.integers(0, 30), key=st.sampled_from("abc"))
    def enqueue(self, x: int, key: str) -> None:
        if not self.state.is_over:
            self.take(Enqueued(at=self.at, config={"x": x}, key=key))

    @rule()
    def pause_or_resume(self) -> None:
        if self.state.status == "running":
            self.take(StudyPaused(at=self.at, reason="lunch"))
        elif self.state.status == "paused":
            self.take(StudyResumed(at=self.at, reason="back"))

    @precondition(lambda self: len(self.rows) > 100)
    @rule(now=st.booleans())
    def stop(self, now: bool) -> None:
        if not self.state.is_over:
            self.take(StudyStopping(at=self.at, now=now, reason="enough"))

    @rule(pick=st.integers(0, 50), decision=st.sampled_from(["pause", "stop", "cancel", "promote"]))
    def person_decides(self, pick: int, decision: Any) -> None:
        if pick < len(self.state.trials) and not self.state.is_over:
            number = pick
            self.take(TrialDecided(at=self.at, number=number, decision=decision, reason="so I wish", by="person"))

    @rule()
    def program_is_killed(self) -> None:
        """A new head folds the journal and goes on."""
        state = self.replay()
        assert self.folded(state) == self.folded(self.state)
        self.state = state
        self.ends = 0
        self.open_head()

    @rule()
    def restore_from_snapshot(self) -> None:
        body = json.loads(self.folded(self.state))
        state = StudyState(
            self.spec, make_rule=lambda chosen, objective: UpperHalf(), needs_history=lambda chosen: self.uses_history
        )
        snapshot.restore(state, body, len(self.rows))
        assert self.folded(state) == self.folded(self.state)
        assert state.rule.__dict__ == self.state.rule.__dict__

    # --- what must always hold ---------------------------------------------------------------------

    @invariant()
    def the_budget_holds(self) -> None:
        paid = len(self.state.trials) - self.state.rejected
        assert paid <= (self.spec.budget.trials or 0)
        assert sorted(self.state.trials) == list(range(len(self.state.trials)))

    @invariant()
    def statuses_agree(self) -> None:
        for status, numbers in self.state.by_status.items():
            assert all(self.state.trials[number].status is status for number in numbers)
        assert sum(self.state.counts().values()) == len(self.state.trials)
        assert set(self.running) == self.state.by_status[TrialStatus.RUNNING]
        if self.state.status == "running":
            waiting = {n for n in self.state.by_status[TrialStatus.QUEUED] if self.state.trials[n].duplicate_of is None}
            assert set(self.offered) == waiting

    @invariant()
    def each_trial_ends_once(self) -> None:
        assert len(set(self.state.ended)) == len(self.state.ended)
        assert {n for n, r in self.state.trials.items() if r.status.is_terminal} == set(self.state.ended)
        assert all(record.reason for record in self.state.trials.values())

    @invariant()
    def the_end_is_the_end(self) -> None:
        assert self.ends <= 1
        if self.state.is_over:
            assert len(self.state.ended) == len(self.state.trials)

    def teardown(self) -> None:
        """Left alone, every study comes to its end with its exact budget."""
        if not hasattr(self, "state"):
            return
        rng = Random(0)
        for _ in range(3000):
            if self.state.is_over:
                break
            if self.state.status == "paused":
                self.take(StudyResumed(at=self.at, reason="back"))
            self.run_for_a_while(seed=rng.getrandbits(32), moves=1)
        assert self.state.is_over, snapshot.to_json(self.state)
        self.the_end_is_the_end()
        self.each_trial_ends_once()
        if self.state.status == "completed" and not self.state.exhausted:
            assert self.state.budget_left == 0
        assert self.folded(self.replay()) == self.folded(self.state)


TestStudyMachine = StudyMachine.TestCase
TestStudyMachine.settings = settings(
    max_examples=60, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
