"""The head: one loop that joins search, scheduler, runner and strategies.

One thread, one turn after another. A turn takes in what has arrived (strategies' answers, commands, the
runner's events, signals), lets each study's state and the policy decide, commits everything to the journal
in one transaction, and only then tells the outside: runner, strategies, observers. A head that dies between
two turns has therefore told nobody anything that is not in the journal.
"""

from __future__ import annotations

import os
import select
import socket
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from ..scheduler.port import (
    Action,
    NodeUp,
    Policy,
    PoolEvent,
    Refuse,
    Resize,
    Start,
    Tick,
    TrialReleased,
    TrialResized,
    TrialWithdrawn,
)
from ..search.events import (
    CommandDone,
    Event,
    HeadOpened,
    StudyEnded,
    TrialInfeasible,
    TrialSuggested,
)
from ..search.instructions import Ask, Instruction, Kill, Offer, Pause, Withdraw
from ..search.journal.port import Journal
from ..search.seeds import suggest_seed
from ..search.spec import Json
from ..search.strategies.port import PastAsk
from ..search.study_state import StudyState
from ..trial_runner.messages import (
    USUAL_START,
    AnswerSuggestion,
    Ended,
    Prepared,
    Reported,
    Resized,
    RunnerEvent,
    Started,
    SuggestionAsked,
    Warned,
)
from .command_effects import effect_of
from .interrupts import Interrupts
from .ports import Answer as StrategyAnswer
from .ports import Runner, StrategyHost, SuggestionAnswer
from .study_run import StudyRun, random_value

COMMAND_POLL_S = 0.1
"""How long a command may lie in the journal before the head looks. A look costs one PRAGMA, about 10
microseconds."""

TICK_S = 1.0
"""How often the policy is told the time although nothing happened: its patience is tens of seconds."""

MAX_STANDBY = 8
"""Workers kept forked ahead of need. More would only help when more trials than this start at the same
moment."""

Observer = Callable[[StudyState, Event], None]
Notice = Callable[[str], None]
Deed = Callable[[], None]


class Head:
    """Runs studies until all have ended or somebody interrupts.

    Args:
        journal: opened for writing.
        runner: runs the trials and owns the clock.
        host: keeps the strategies.
        policy: decides who runs where; `nodes` are announced to it.
        nodes: what the pool consists of.
        interrupts: Ctrl-C; None where nobody can press it.
        notice: told, in one line, what a person should know and no event says.
    """

    def __init__(
        self,
        *,
        journal: Journal,
        runner: Runner,
        host: StrategyHost,
        policy: Policy,
        nodes: Iterable[NodeUp],
        interrupts: Interrupts | None = None,
        notice: Notice = lambda text: None,
    ) -> None:
        self._journal = journal
        self._runner = runner
        self._host = host
        self._policy = policy
        self._interrupts = interrupts
        self._notice = notice
        self._runs: dict[str, StudyRun] = {}
        self._todo: deque[tuple[StudyRun, Instruction]] = deque()
        self._after_commit: list[Deed] = []
        self._observers: list[Observer] = []
        self._changed = False
        self._draining = False
        self._next_poll = self._next_tick = 0.0
        for node in nodes:
            self._policy.step(node)

    # --- set-up ----------------------------------------------------------------------------------

    def add(self, run: StudyRun, first_events: Iterable[Event] = (), history: Sequence[PastAsk] = ()) -> None:
        """Take a study on: open its strategy, prepare its workers, queue what a former head left running.

        Args:
            run: the study.
            first_events: what this head begins with: its creation, or what has changed since it was last run.
            history: the former asks that its strategy has to repeat.
        """
        self._runs[run.name] = run
        for event in first_events:
            self._take(run, event)
        self._host.open(run.name, run.state.spec, history)  # as it is now: an edit may have brought another space
        opened = HeadOpened(
            at=self._runner.now(), fence=self._journal.fence, host=socket.gethostname(), pid=os.getpid()
        )
        self._take(run, opened)
        standby = min(self._policy.room(run.request) * run.request.k_min, MAX_STANDBY)
        prepare = run.prepare(standby)
        self._after_commit.append(lambda: self._runner.perform(prepare))

    def subscribe(self, observer: Observer) -> None:
        """Call `observer(state, event)` after each event has been committed. It must not raise."""
        self._observers.append(observer)

    def reconsider(self) -> None:
        """Have the policy and the studies look again in the next turn, though nothing has arrived."""
        self._next_tick = 0.0

    # --- the loop --------------------------------------------------------------------------------

    def run(self) -> None:
        """Turn after turn until every study has ended.

        Raises:
            KeyboardInterrupt: somebody pressed Ctrl-C; after the first, running trials were given the time
            to save
                themselves at their next epoch.
            JournalError: the journal cannot be written; nothing that it does not hold has been told to
            anybody.
        """
        self.turn()
        while not self._is_done():
            self._wait()
            self.turn()
        if self._draining:
            raise KeyboardInterrupt

    def turn(self) -> bool:
        """Take in what has arrived, decide, commit, act; False when there was nothing to do."""
        answers = self._host.drain()
        for answer in answers:
            self._take_answer(answer)
        self._poll_commands()
        if not answers:  # a simulated clock moves on in `drain`: answers come before it does
            for event in self._runner.drain():
                self._take_runner_event(event)
        self._check_interrupts()
        self._tick()
        self._decide()
        return self._commit_and_act() or bool(answers)

    def _wait(self) -> None:
        """Sleep until something arrives, at most until the next poll of the commands table."""
        due_s = self._runner.next_due_s()
        timeout_s = COMMAND_POLL_S if due_s is None else min(max(due_s, 0.0), COMMAND_POLL_S)
        poll = select.poll()
        for fd in self._runner.waitables():
            poll.register(fd, select.POLLIN)
        for fd in self._host.waitables():
            poll.register(fd, select.POLLIN)
        if self._interrupts is not None:
            poll.register(self._interrupts.fileno(), select.POLLIN)
        poll.poll(timeout_s * 1000)

    def _is_done(self) -> bool:
        if self._draining:
            second = self._interrupts is not None and self._interrupts.count > 1
            return second or not any(run.running for run in self._runs.values())
        return all(run.state.is_over and not run.running for run in self._runs.values())

    # --- what arrives ----------------------------------------------------------------------------

    def _take_answer(self, answer: StrategyAnswer | SuggestionAnswer) -> None:
        run = self._runs[answer.study]
        self._changed = True
        at = self._runner.now()
        if isinstance(answer, StrategyAnswer):
            self._do(run, run.answer(answer, at))
        elif run.runs(answer.number, answer.generation):
            self._suggest(run, answer, at)

    def _suggest(self, run: StudyRun, answer: SuggestionAnswer, at: float) -> None:
        number, path, value = answer.number, answer.path, answer.value
        domain = run.asked_domains.pop((number, path))
        if answer.error:
            value = random_value(domain, suggest_seed(run.state.spec.seed, number, path))
            self._notice(f"{run.name}#{number}: {path} is random, since the strategy failed: {answer.error}")
        self._take(run, TrialSuggested(at=at, number=number, path=path, domain=domain, value=value))
        self._answer_suggestion(run, number, answer.generation, path, value)

    def _answer_suggestion(self, run: StudyRun, number: int, generation: int, path: str, value: Json) -> None:
        reply = AnswerSuggestion(study=run.name, number=number, generation=generation, path=path, value=value)
        self._after_commit.append(lambda: self._runner.perform(reply))

    def _take_runner_event(self, event: RunnerEvent) -> None:
        run = self._runs[event.study]
        at = self._runner.now()
        self._changed = True
        match event:
            case Reported():
                self._take(run, run.reported(event, at))
            case Ended():
                self._take(run, run.ended(event, at, interrupted=self._draining))
                released = TrialReleased(at=at, study=run.name, number=event.number, generation=event.generation)
                # What the end makes possible (a promotion) is offered before its devices are given away.
                self._settle()
                self._step_policy(released)
            case SuggestionAsked():
                self._suggestion_asked(run, event, at)
            case Prepared():
                self._prepared(run, event, at)
            case Resized():
                self._resized(run, event, at)
            case Warned():
                self._notice(f"{run.name}#{event.number}: {event.text}")
            case Started():
                pass  # the assignment is in the journal already

    def _resized(self, run: StudyRun, event: Resized, at: float) -> None:
        """The policy hears of the resizes that it has ordered and that were carried out."""
        run.resized(event, at)
        if not event.ok or not event.resize:
            self._notice(f"{run.name}#{event.number} trains on {len(event.slots)} workers: {event.reason}")
            return
        resized = TrialResized(
            at=at,
            study=run.name,
            number=event.number,
            generation=event.generation,
            resize=event.resize,
            stall_s=event.stall_s,
        )
        self._step_policy(resized)

    def _suggestion_asked(self, run: StudyRun, asked: SuggestionAsked, at: float) -> None:
        if not run.runs(asked.number, asked.generation):
            return
        record = run.state.trials[asked.number]
        number, path = asked.number, asked.path
        enqueued = record.config if isinstance(record.config, dict) else {}
        if path in enqueued and path not in record.flat:
            given = TrialSuggested(at=at, number=number, path=path, domain=asked.domain, value=enqueued[path])
            self._take(run, given)
        if path in record.flat:
            self._answer_suggestion(run, number, asked.generation, path, record.flat[path])
            return
        run.asked_domains[asked.number, asked.path] = asked.domain
        seed = suggest_seed(run.state.spec.seed, asked.number, asked.path)
        self._after_commit.append(
            lambda: self._host.suggest(run.name, asked.number, asked.generation, asked.path, asked.domain, seed)
        )

    def _prepared(self, run: StudyRun, event: Prepared, at: float) -> None:
        if event.ok:
            if event.note not in ("", USUAL_START):
                self._notice(f"{run.name}: {event.note}")
            run.is_prepared = True
            offers, run.early_offers = run.early_offers, {}
            for offer in offers.values():
                self._step_policy(offer)
            return
        run.code_error = event.note
        self._take(run, StudyEnded(at=at, state="failed", reason=event.note))

    def _poll_commands(self) -> None:
        now = time.monotonic()
        if now < self._next_poll:
            return
        self._next_poll = now + COMMAND_POLL_S
        for command_id, study, body in self._journal.new_commands():
            run = self._runs.get(study)
            if run is None:
                continue  # another study in the same journal; its own head will see it
            at = self._runner.now()
            effect = effect_of(body, run.state, at)
            for event in effect.events:
                self._take(run, event)
            self._take(run, CommandDone(at=at, command=command_id, ok=effect.ok, effect=effect.text))
            self._notice(effect.text)

    def _check_interrupts(self) -> None:
        if self._interrupts is None or not self._interrupts.count:
            return
        self._interrupts.clear()
        if self._draining:
            return
        for study, number, _ in list(self._policy.waiting()):
            self._policy.step(TrialWithdrawn(at=self._runner.now(), study=study, number=number))
        self._draining = True
        waiting = 0
        for run in self._runs.values():
            for number, held in run.running.items():
                if run.state.trials[number].can_pause:
                    waiting += 1
                    pause = Pause(number=number, generation=held.generation, reason="interrupted")
                    self._todo.append((run, pause))
                else:
                    kill = Kill(number=number, generation=held.generation, reason="interrupted")
                    self._todo.append((run, kill))
        if waiting:
            self._notice(f"interrupted: {waiting} trials save themselves at their next epoch; again to end now")

    def _tick(self) -> None:
        now = time.monotonic()
        if now >= self._next_tick:
            self._next_tick = now + TICK_S
            self._changed = True  # a time limit may have passed
            self._step_policy(Tick(at=self._runner.now()))

    # --- decisions -------------------------------------------------------------------------------

    def _take(self, run: StudyRun, event: Event) -> None:
        self._changed = True
        self._do(run, run.take(event))

    def _do(self, run: StudyRun, instructions: Iterable[Instruction]) -> None:
        self._todo.extend((run, instruction) for instruction in instructions)

    def _decide(self) -> None:
        """Settle what is to do, then let the studies wish for more trials until none does."""
        self._settle()
        while self._changed and not self._draining:
            self._changed = False
            for run in self._runs.values():
                if not run.state.is_over:
                    room = self._policy.room(run.request) - len(run.early_offers)
                    self._do(run, run.wish(max(room, 0), self._runner.now()))
            self._settle()

    def _settle(self) -> None:
        while self._todo:
            run, instruction = self._todo.popleft()
            self._carry_out(run, instruction)

    def _carry_out(self, run: StudyRun, instruction: Instruction) -> None:
        """Pass an instruction to the policy now, or to the outside after the commit."""
        at = self._runner.now()
        match instruction:
            case Offer():
                offer = run.offered(instruction, at)
                if run.is_prepared:
                    self._step_policy(offer)
                else:
                    run.early_offers[offer.number] = offer
            case Withdraw():
                run.early_offers.pop(instruction.number, None)
                self._step_policy(TrialWithdrawn(at=at, study=run.name, number=instruction.number))
            case Ask():
                self._after_commit.append(lambda: self._ask(run, instruction))
            case _:
                message = run.for_runner(instruction)
                self._after_commit.append(lambda: self._runner.perform(message))

    def _step_policy(self, event: PoolEvent) -> None:
        if self._draining and not isinstance(event, TrialReleased | TrialWithdrawn):
            return
        for action in self._policy.step(event):
            self._act(action)

    def _act(self, action: Action) -> None:
        run = self._runs[action.study]
        at = self._runner.now()
        match action:
            case Start():
                self._take(run, run.assigned(action, at))
                launch = run.launch(action)
                self._after_commit.append(lambda: self._runner.perform(launch))
            case Resize():
                resize = run.resize(action)
                self._after_commit.append(lambda: self._runner.perform(resize))
            case Refuse():
                self._take(run, TrialInfeasible(at=at, number=action.number, reason=action.reason))
            case _:
                raise AssertionError(f"nobody carries out {action!r}")

    def _ask(self, run: StudyRun, ask: Ask) -> None:
        self._host.ask(run.name, ask.ask, ask.first_number, ask.n, ask.results, ask.pending, ask.seed)

    # --- the outside -----------------------------------------------------------------------------

    def _commit_and_act(self) -> bool:
        self._journal.commit()
        deeds, self._after_commit = self._after_commit, []
        for deed in deeds:
            deed()
        for run in self._runs.values():
            for event in run.committed():
                for observer in self._observers:
                    observer(run.state, event)
        return bool(deeds)
