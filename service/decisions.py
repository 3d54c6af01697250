"""What is to be decided in a turn of the head: by each study, and by the policy for all of them.

Studies want things done, the policy hears of what concerns the pool and acts; each may lead to the other. Nothing of
it reaches the outside before the commit: what is to be done there is kept as deeds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from ..scheduler.port import Action, NodeDown, NodeUp, Policy, PoolEvent, Promote, Refuse, Resize, Start, Stop
from ..scheduler.port import Pause as PoolPause
from ..search.events import Event
from ..search.instructions import Ask, Instruction, Offer, Withdraw
from ..search.transitions import TrialStatus
from .ports import Runner, StrategyHost
from .study_run import StudyRun

Deed = Callable[[], None]


class Decisions:
    """Takes events of studies and of the pool in, and settles everything that follows from them.

    `runs` are the studies by name, `nodes` those that are up. `changed`: something happened since the studies were
    last asked what they wish. `draining`: the head was interrupted, so nothing new begins and the policy is asked no
    more.
    """

    def __init__(self, *, runner: Runner, host: StrategyHost, policy: Policy) -> None:
        self.runs: dict[str, StudyRun] = {}
        self.nodes: dict[str, NodeUp] = {}
        self.changed = False
        self.draining = False
        self._runner = runner
        self._host = host
        self._policy = policy
        self._todo: deque[tuple[StudyRun, Instruction]] = deque()
        self._inbox: list[PoolEvent] = []
        self._deeds: list[Deed] = []

    def take(self, run: StudyRun, event: Event) -> None:
        """An event of a study: journaled, handled, and what the study wants because of it is to do."""
        self.changed = True
        self.do(run, run.take(event))

    def do(self, run: StudyRun, instructions: Iterable[Instruction]) -> None:
        """What a study wants done."""
        self._todo.extend((run, instruction) for instruction in instructions)

    def after_commit(self, deed: Deed) -> None:
        """Do this once the journal has what led to it."""
        self._deeds.append(deed)

    def deeds(self) -> list[Deed]:
        """What is to be done now that the journal has been committed."""
        deeds, self._deeds = self._deeds, []
        return deeds

    def decide(self) -> None:
        """Settle what is to do, then let the studies wish for more trials until none does."""
        self.settle()
        while self.changed and not self.draining:
            self.changed = False
            for run in self.runs.values():
                if not run.state.is_over:
                    room = self._policy.room(run.request) - len(run.early_offers)
                    self.do(run, run.wish(max(room, 0), self._runner.now()))
            self.settle()

    def settle(self) -> None:
        """Carry out what studies want and tell the policy what concerns it, until nothing is left to do."""
        while True:
            while self._todo:
                run, instruction = self._todo.popleft()
                self._carry_out(run, instruction)
            if self.draining:
                self._put_off()
            else:
                self._consult()
            if not self._todo and not self._inbox:
                return

    def tell_policy(self, *events: PoolEvent) -> None:
        """Events of the pool, to be decided about together with what else happens in this turn."""
        self._inbox += events
        for event in events:
            if isinstance(event, NodeUp):
                self.nodes[event.node] = event
            elif isinstance(event, NodeDown):
                self.nodes.pop(event.node, None)

    def prepared(self, run: StudyRun) -> None:
        """The runner can start the study's trials: those that waited for that are offered."""
        run.is_prepared = True
        offers, run.early_offers = run.early_offers, {}
        self.tell_policy(*offers.values())

    # --- the policy ------------------------------------------------------------------------------

    def _consult(self) -> None:
        """Let the policy decide about what has happened; where it does not answer for a rung, the study's rule does."""
        at = self._runner.now()
        events: list[PoolEvent] = [news for run in self.runs.values() for news in run.in_pool.news(at)]
        events += self._inbox
        self._inbox = []
        for action in self._policy.steps(events) if events else ():
            run = self.runs[action.study]
            if run.awaits(action):
                self._act(run, action, at)
        for run in self.runs.values():
            for number in list(run.state.at_rung):
                self.do(run, run.unanswered(number, at))

    def _put_off(self) -> None:
        """Nothing is decided any more: trials that stand at a rung pause there."""
        self._inbox = []
        for run in self.runs.values():
            for number in list(run.state.at_rung):
                self.do(run, run.state.put_off(number, "interrupted"))

    def _act(self, run: StudyRun, action: Action, at: float) -> None:
        match action:
            case Start():
                if run.state.trials[action.number].status is TrialStatus.PAUSED:
                    self.take(run, run.decided(action, "promote", at))
                self.take(run, run.assigned(action, at))
                launch = run.launch(action)
                self.after_commit(lambda: self._runner.perform(launch))
            case Resize():
                self.take(run, run.resizing(action, at))
                resize = run.resize(action)
                self.after_commit(lambda: self._runner.perform(resize))
            case Promote():
                self.take(run, run.decided(action, "promote", at))
            case PoolPause():
                self.take(run, run.decided(action, "pause", at))
            case Stop():
                has_run = bool(run.state.trials[action.number].steps)
                self.take(run, run.decided(action, "stop" if has_run else "cancel", at, by="end"))
            case Refuse():
                self.take(run, run.refused(action, at))
            case _:
                raise AssertionError(f"nobody carries out {action!r}")

    # --- what studies want -----------------------------------------------------------------------

    def _carry_out(self, run: StudyRun, instruction: Instruction) -> None:
        """Pass an instruction to the policy now, or to the outside after the commit."""
        at = self._runner.now()
        match instruction:
            case Offer():
                offer = run.in_pool.offered(instruction, at)
                if run.is_prepared:
                    self.tell_policy(offer)
                else:
                    run.early_offers[offer.number] = offer
            case Withdraw():
                run.early_offers.pop(instruction.number, None)
                self.tell_policy(run.in_pool.withdrawn(instruction.number, at))
            case Ask():
                self.after_commit(lambda: self._ask(run, instruction))
            case _:
                message = run.for_runner(instruction)
                self.after_commit(lambda: self._runner.perform(message))

    def _ask(self, run: StudyRun, ask: Ask) -> None:
        wanted = [config for _, config in ask.wanted]
        self._host.ask(run.name, ask.ask, ask.first_number, ask.n, ask.results, ask.pending, ask.seed, wanted)
