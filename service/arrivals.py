"""What arrives from strategies and from the runner becomes events of studies and of the pool."""

from __future__ import annotations

from collections.abc import Callable

from ..scheduler.port import NodeCordoned, NodeDown, NodeUncordoned, NodeUp, TrialEnded
from ..search.events import StudyEnded, TrialSuggested
from ..search.seeds import suggest_seed
from ..search.spec import Json
from ..trial_runner.messages import (
    USUAL_START,
    AnswerSuggestion,
    Ended,
    NodeDraining,
    NodeEvent,
    NodeJoined,
    NodeLost,
    Prepared,
    Reported,
    Resized,
    RunnerEvent,
    Started,
    SuggestionAsked,
    Warned,
)
from .decisions import Decisions
from .ports import Answer as StrategyAnswer
from .ports import Runner, StrategyHost, SuggestionAnswer
from .study_run import StudyRun, random_value

Notice = Callable[[str], None]


class Arrivals:
    """Reads what strategies and the runner say. It decides nothing: `decisions` hears of all that it takes in."""

    def __init__(self, *, runner: Runner, host: StrategyHost, decisions: Decisions, notice: Notice) -> None:
        self._runner = runner
        self._host = host
        self._decisions = decisions
        self._notice = notice

    def take_answer(self, answer: StrategyAnswer | SuggestionAnswer) -> None:
        """What a strategy proposed."""
        run = self._decisions.runs[answer.study]
        self._decisions.changed = True
        at = self._runner.now()
        if isinstance(answer, StrategyAnswer):
            self._decisions.do(run, run.answer(answer, at))
        elif run.runs(answer.number, answer.generation):
            self._suggest(run, answer, at)

    def take_runner_event(self, event: RunnerEvent | NodeEvent) -> None:
        """What happened to a node, to a study's workers or to a trial."""
        at = self._runner.now()
        self._decisions.changed = True
        if isinstance(event, NodeEvent):
            self._node(event, at)
            return
        run = self._decisions.runs[event.study]
        match event:
            case Reported():
                self._reported(run, event, at)
            case Ended():
                self._ended(run, event, at)
            case SuggestionAsked():
                self._suggestion_asked(run, event, at)
            case Prepared():
                self._prepared(run, event, at)
            case Resized():
                self._resized(run, event, at)
            case Warned():
                self._notice(f"{run.name}#{event.number}: {event.text}")
            case Started():
                self._started(run, event, at)

    # --- nodes -----------------------------------------------------------------------------------

    def _node(self, event: NodeEvent, at: float) -> None:
        """A node comes, goes, or is to be emptied."""
        match event:
            case NodeJoined():
                has = f"{len(event.gpus)} GPUs ({event.device_model}), {event.cpus} CPUs"
                self._notice(f"node {event.node} is up: {has}")
                self._decisions.tell_policy(node_up(event, at))
            case NodeLost():
                self._notice(f"node {event.node} is gone: {event.reason}")
                self._decisions.tell_policy(NodeDown(at=at, node=event.node))
            case NodeDraining(draining=True):
                self._notice(f"node {event.node} is being emptied: {event.reason}")
                self._decisions.tell_policy(NodeCordoned(at=at, node=event.node, reason=event.reason, drain=True))
            case NodeDraining():
                self._notice(f"node {event.node} is used again: {event.reason}")
                self._decisions.tell_policy(NodeUncordoned(at=at, node=event.node))

    # --- trials ----------------------------------------------------------------------------------

    def _started(self, run: StudyRun, event: Started, at: float) -> None:
        """The assignment is in the journal already."""
        if run.runs(event.number, event.generation):
            self._decisions.tell_policy(run.in_pool.started(event, at))

    def _reported(self, run: StudyRun, event: Reported, at: float) -> None:
        epochs = event.step - run.state.trials[event.number].last_step
        runs = run.runs(event.number, event.generation)
        if runs and epochs <= 0:
            return  # told twice: a former head had journaled it, and died before it could say so
        self._decisions.take(run, run.reported(event, at))
        if runs:
            self._decisions.tell_policy(*run.in_pool.reported(event, epochs, at))

    def _ended(self, run: StudyRun, event: Ended, at: float) -> None:
        """What the end makes possible (a promotion) is offered together with its devices: decided about at once."""
        self._decisions.tell_policy(run.in_pool.released(event, at))
        self._decisions.take(run, run.ended(event, at, interrupted=self._decisions.draining))
        if run.state.trials[event.number].status.is_terminal:
            self._decisions.tell_policy(TrialEnded(at=at, study=run.name, number=event.number))

    def _resized(self, run: StudyRun, event: Resized, at: float) -> None:
        held = run.holdings.resized(event, at)
        if held is None:
            return
        if not event.ok or not event.resize:
            self._notice(f"{run.name}#{event.number} trains on {len(event.slots)} workers: {event.reason}")
        self._decisions.take(run, run.resized(event, held, at))
        self._decisions.tell_policy(*run.in_pool.resized(event, held, at))

    def _prepared(self, run: StudyRun, event: Prepared, at: float) -> None:
        if event.ok:
            if event.note not in ("", USUAL_START):
                self._notice(f"{run.name}: {event.note}")
            self._decisions.prepared(run)
            return
        run.code_error = event.note
        self._decisions.take(run, StudyEnded(at=at, state="failed", reason=event.note))

    # --- define by run ---------------------------------------------------------------------------

    def _suggest(self, run: StudyRun, answer: SuggestionAnswer, at: float) -> None:
        number, path, value = answer.number, answer.path, answer.value
        domain = run.asked_domains.pop((number, path))
        if answer.error:
            value = random_value(domain, suggest_seed(run.state.spec.seed, number, path))
            self._notice(f"{run.name}#{number}: {path} is random, since the strategy failed: {answer.error}")
        self._decisions.take(run, TrialSuggested(at=at, number=number, path=path, domain=domain, value=value))
        self._answer_suggestion(run, number, answer.generation, path, value)

    def _answer_suggestion(self, run: StudyRun, number: int, generation: int, path: str, value: Json) -> None:
        reply = AnswerSuggestion(study=run.name, number=number, generation=generation, path=path, value=value)
        self._decisions.after_commit(lambda: self._runner.perform(reply))

    def _suggestion_asked(self, run: StudyRun, asked: SuggestionAsked, at: float) -> None:
        if not run.runs(asked.number, asked.generation):
            return
        record = run.state.trials[asked.number]
        number, path = asked.number, asked.path
        enqueued = record.config if isinstance(record.config, dict) else {}
        if path in enqueued and path not in record.flat:
            given = TrialSuggested(at=at, number=number, path=path, domain=asked.domain, value=enqueued[path])
            self._decisions.take(run, given)
        if path in record.flat:
            self._answer_suggestion(run, number, asked.generation, path, record.flat[path])
            return
        run.asked_domains[asked.number, asked.path] = asked.domain
        seed = suggest_seed(run.state.spec.seed, asked.number, asked.path)
        self._decisions.after_commit(
            lambda: self._host.suggest(run.name, asked.number, asked.generation, asked.path, asked.domain, seed)
        )


def node_up(joined: NodeJoined, at: float) -> NodeUp:
    """A node as the policy hears of it."""
    return NodeUp(
        at=at,
        node=joined.node,
        gpus=joined.gpus,
        cpus=joined.cpus,
        memory_gib=joined.memory_gib,
        device_model=joined.device_model,
        gpu_memory_gib=joined.gpu_memory_gib,
    )
