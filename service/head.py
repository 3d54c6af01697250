"""The head: one loop that joins search, scheduler, runner and strategies.

One thread, one turn after another. A turn takes in what has arrived (strategies' answers, commands, the
runner's events, signals: `arrivals.py`), lets each study's state and the policy decide (`decisions.py`), commits
everything to the journal in one transaction, and only then tells the outside: runner, strategies, observers. A head
that dies between two turns has therefore told nobody anything that is not in the journal.
"""

from __future__ import annotations

import os
import select
import socket
import time
from collections.abc import Callable, Iterable, Sequence

from ..scheduler.port import NodeUp, Policy, Tick
from ..search.events import CommandDone, Event, HeadOpened
from ..search.instructions import Kill, Pause
from ..search.journal.port import Journal
from ..search.spec import Json
from ..search.strategies.port import PastAsk
from ..search.study_state import StudyState
from ..trial_runner.cluster.ports import RunningTrial
from .arrivals import Arrivals, Notice
from .command_effects import effect_of, remark_elsewhere
from .decisions import Decisions
from .interrupts import Interrupts
from .pool_view import PoolView
from .ports import Runner, StrategyHost
from .study_run import StudyRun

COMMAND_POLL_S = 0.1
"""How long a command may lie in the journal before the head looks. A look costs one PRAGMA, about 10
microseconds."""

TICK_S = 1.0
"""How often the policy is told the time although nothing happened: its patience is tens of seconds."""

MAX_STANDBY = 8
"""Workers kept forked ahead of need. More would only help when more trials than this start at the same
moment."""

Observer = Callable[[StudyState, Event], None]


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
        wish: told now and then how many devices all studies together could use.
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
        wish: Callable[[int], None] = lambda devices: None,
    ) -> None:
        self._journal = journal
        self._runner = runner
        self._host = host
        self._policy = policy
        self._interrupts = interrupts
        self._notice = notice
        self._wish = wish
        self._decisions = Decisions(runner=runner, host=host, policy=policy)
        self._arrivals = Arrivals(runner=runner, host=host, decisions=self._decisions, notice=notice)
        self._runs = self._decisions.runs
        self._pool_view = PoolView(journal, policy)
        self._observers: list[Observer] = []
        self._next_poll = self._next_tick = 0.0
        for node in nodes:
            self._decisions.tell_policy(node)
        self._decisions.settle()

    # --- set-up ----------------------------------------------------------------------------------

    def add(
        self,
        run: StudyRun,
        first_events: Iterable[Event] = (),
        history: Sequence[PastAsk] = (),
        found: Sequence[RunningTrial] = (),
    ) -> None:
        """Take a study on: open its strategy, prepare its workers, queue what a former head left running.

        Args:
            run: the study.
            first_events: what this head begins with: its creation, or what has changed since it was last run.
            history: the former asks that its strategy has to repeat.
            found: trials that went on without a head. Those of the study are taken over: `run.running` has them.
        """
        self._runs[run.name] = run
        for event in first_events:
            self._decisions.take(run, event)
        self._host.open(run.name, run.state.spec, history)  # as it is now: an edit may have brought another space
        at = self._runner.now()
        self._decisions.tell_policy(*run.in_pool.introduction(at), *run.adopt(found, at))
        opened = HeadOpened(
            at=at, fence=self._journal.fence, host=socket.gethostname(), pid=os.getpid(), kept=sorted(run.running)
        )
        self._decisions.take(run, opened)
        standby = min(self._policy.room(run.request) * run.request.k_min, MAX_STANDBY)
        prepare = run.prepare(standby)
        self._decisions.after_commit(lambda: self._runner.perform(prepare))

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
            KeyboardInterrupt: somebody pressed Ctrl-C; after the first, running trials were given the time to save
                themselves at their next epoch.
            JournalError: the journal cannot be written; nothing that it does not hold has been told to anybody.
        """
        self.turn()
        while not self._is_done():
            self._wait()
            self.turn()
        self._pool_view.update(self._decisions.nodes, self._runs.values(), self._runner.now(), at_once=True)
        if self._decisions.draining:
            raise KeyboardInterrupt

    def turn(self) -> bool:
        """Take in what has arrived, decide, commit, act; False when there was nothing to do."""
        answers = self._host.drain()
        for answer in answers:
            self._arrivals.take_answer(answer)
        self._poll_commands()
        if not answers:  # a simulated clock moves on in `drain`: answers come before it does
            for event in self._runner.drain():
                self._arrivals.take_runner_event(event)
        self._check_interrupts()
        self._tick()
        self._decisions.decide()
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
        if self._decisions.draining:
            second = self._interrupts is not None and self._interrupts.count > 1
            return second or not any(run.running for run in self._runs.values())
        return all(run.state.is_over and not run.running for run in self._runs.values())

    def _commit_and_act(self) -> bool:
        self._journal.commit()
        deeds = self._decisions.deeds()
        for deed in deeds:
            deed()
        for run in self._runs.values():
            for event in run.committed():
                for observer in self._observers:
                    observer(run.state, event)
        self._pool_view.update(self._decisions.nodes, self._runs.values(), self._runner.now())
        return bool(deeds)

    # --- people and time -------------------------------------------------------------------------

    def _poll_commands(self) -> None:
        now = time.monotonic()
        if now < self._next_poll:
            return
        self._next_poll = now + COMMAND_POLL_S
        for command_id, study, body in self._journal.new_commands():
            run = self._runs.get(study)
            at = self._runner.now()
            if run is None:
                self._remark_elsewhere(command_id, study, body, at)
                continue
            effect = effect_of(body, run.state, at)
            for event in effect.events:
                self._decisions.take(run, event)
            self._decisions.take(run, CommandDone(at=at, command=command_id, ok=effect.ok, effect=effect.text))
            self._notice(effect.text)

    def _remark_elsewhere(self, command: str, study: str, body: Json, at: float) -> None:
        """A command for another study in the same journal: only its own head does anything but write remarks down."""
        effect = remark_elsewhere(body, study, at)
        if effect is None or study not in self._journal.studies():
            return
        self._journal.append(study, [*effect.events, CommandDone(at=at, command=command, ok=True, effect=effect.text)])

    def _check_interrupts(self) -> None:
        if self._interrupts is None or not self._interrupts.count:
            return
        self._interrupts.clear()
        if self._decisions.draining:
            return
        self._decisions.draining = True
        waiting = 0
        for run in self._runs.values():
            for number, held in run.running.items():
                can_pause = run.state.trials[number].can_pause
                waiting += can_pause
                instruct = Pause if can_pause else Kill
                self._decisions.do(run, [instruct(number=number, generation=held.generation, reason="interrupted")])
        if waiting:
            self._notice(f"interrupted: {waiting} trials save themselves at their next epoch; again to end now")

    def _tick(self) -> None:
        now = time.monotonic()
        if now >= self._next_tick:
            self._next_tick = now + TICK_S
            self._decisions.changed = True  # a time limit may have passed
            self._decisions.tell_policy(Tick(at=self._runner.now()))
            self._wish(sum(share.wanted for share in self._policy.shares(self._runner.now())))
