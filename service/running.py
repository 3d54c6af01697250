"""Run studies in this program: open or go on with them, bring everything they need up, and down again."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import CodeError, SpecError
from ..scheduler.first_come import FirstComePolicy
from ..scheduler.port import NodeUp, Request
from ..search.ask_history import load_with_asks
from ..search.editing import edit
from ..search.events import Enqueued, Event, StudyCreated, StudyEdited, StudyResumed
from ..search.journal.sqlite import SqliteJournal
from ..search.replay import load_study
from ..search.spec import StudySpec
from ..search.strategies import describe
from ..search.strategies.port import PastAsk
from ..search.study_state import StudyState
from ..trial_runner.node_agent import NodeAgent
from .code import pack
from .feasibility import DeviceMemory
from .gpu_leases import GpuLeases
from .head import Head, Notice, Observer
from .interrupts import Interrupts
from .pool import Devices, discover, request_of, wants_gpus
from .results import StudyResults
from .strategy_host import ProcessHost
from .study_run import StudyRun

if TYPE_CHECKING:
    from .study import Study

NODE = "local"


def tell(text: str) -> None:
    """The default notice: a line on standard error."""
    print(text, file=sys.stderr)


def run_studies(
    studies: Sequence[Study],
    *,
    data: Path,
    logical_gpus: int | None = None,
    resume: bool = True,
    observers: Iterable[Observer] = (),
    notice: Notice = tell,
) -> list[StudyResults]:
    """Run `studies` side by side on this machine until all have ended.

    A study of the same name in `data` goes on where it stopped; one that has finished is extended when its budget
    has grown, and otherwise left alone.

    Args:
        data: the data directory; made when missing.
        logical_gpus: pretend that the machine has so many GPUs (and none of its own).
        resume: False: an existing study is an error.
        observers: called as `observer(state, event)` after each commit.
        notice: told in one line what no event says.

    Raises:
        SpecError, PoolError: a study cannot run here; nothing has been written.
        JournalLocked: another program runs studies in `data`.
        JournalError: the journal cannot be read or written.
        CodeError: a worker cannot import the training function.
        KeyboardInterrupt: Ctrl-C; the studies can be gone on with.
    """
    with ExitStack() as stack:
        leases = stack.enter_context(GpuLeases(holder=", ".join(study.name for study in studies)))
        devices = _lease(studies, leases, logical_gpus)
        requests = [request_of(study.spec().resources, devices) for study in studies]
        interrupts = stack.enter_context(Interrupts())
        journal = stack.enter_context(closing(SqliteJournal(data / "journal.db")))
        opened = [
            _open(study, request, journal, data, resume=resume, now=time.time(), notice=notice)
            for study, request in zip(studies, requests, strict=True)
        ]
        if any(study.is_to_run for study in opened):
            agent = NodeAgent(data)
            stack.callback(agent.close)
            host = ProcessHost(device=_largest_device(devices))
            stack.callback(host.close)
            head = Head(
                journal=journal,
                runner=agent,
                host=host,
                policy=FirstComePolicy(),
                nodes=[_node(devices)],
                interrupts=interrupts,
                notice=notice,
            )
            for observer in observers:
                head.subscribe(observer)
            for study in opened:
                if study.is_to_run:
                    head.add(study.run, study.first_events, study.history)
            head.run()
        for study in opened:
            if study.run.code_error:
                raise CodeError(f"study {study.run.name}: {study.run.code_error}", "Mend it and run the study again.")
        return [StudyResults(study.run.state, source.space) for study, source in zip(opened, studies, strict=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedStudy:
    """A study ready for the head: what it is so far, and the events that this program begins with."""

    run: StudyRun
    first_events: tuple[Event, ...]
    history: tuple[PastAsk, ...]
    is_to_run: bool


def _open(
    study: Study,
    request: Request,
    journal: SqliteJournal,
    data: Path,
    *,
    resume: bool,
    now: float,
    notice: Notice,
) -> OpenedStudy:
    code = pack(study.train, study.spec().entry, study.project_file(), data / "code")
    for text in code.notices:
        notice(f"{study.name}: {text}")
    spec = replace(study.spec(code=code.sha), entry=code.entry)
    is_to_run = True
    history: list[PastAsk] = []
    if spec.name not in journal.studies():
        state = StudyState.create(spec)
        first: list[Event] = [StudyCreated(at=now, spec=spec.to_json())]
    elif not resume:
        raise SpecError(f"study {spec.name!r} exists in {data} already.", "Give another name, or let it be resumed.")
    else:
        state, history = _load(journal, spec)
        first = _going_on(state, spec, now)
        is_to_run = bool(first) or not state.is_over
        if not is_to_run:
            notice(f"study {spec.name} has finished already ({len(state.trials)} trials); a larger budget extends it")
    first += [
        Enqueued(at=now, config=config, key=key)
        for config, key in study.enqueue
        if is_to_run and key not in state.enqueued_keys
    ]
    run = StudyRun(state, journal, request, code.archive, data / "studies" / spec.name)
    return OpenedStudy(run=run, first_events=tuple(first), history=tuple(history), is_to_run=is_to_run)


def _load(journal: SqliteJournal, spec: StudySpec) -> tuple[StudyState, list[PastAsk]]:
    """The study so far, and the asks that restore its strategy, if it is one that needs them and stays."""
    state = load_study(journal, spec.name)
    same_search = (state.spec.strategy, state.spec.space) == (spec.strategy, spec.space)
    if same_search and describe(spec.strategy.name).replays_asks:
        return load_with_asks(journal, spec.name)
    return state, []


def _going_on(state: StudyState, spec: StudySpec, now: float) -> list[Event]:
    """The events with which an existing study goes on under `spec`; none when it has finished and has not grown.

    Raises:
        SpecError: the spec changes what may not change.
    """
    edited = edit(state.spec, spec)
    if state.status == "completed" and not _is_larger(edited, state.spec):
        return []
    events: list[Event] = []
    if edited != state.spec:
        before, after = state.spec.budget.trials, edited.budget.trials
        reason = f"trials {before} -> {after}" if before != after else "its file changed"
        events.append(StudyEdited(at=now, spec=edited.to_json(), reason=reason))
    if state.status in ("paused", "stopped", "failed"):
        events.append(StudyResumed(at=now, reason="run again"))
    return events


def _is_larger(after: StudySpec, before: StudySpec) -> bool:
    pairs = (
        (after.budget.trials, before.budget.trials),
        (after.budget.study_time_limit_s, before.budget.study_time_limit_s),
    )
    return any(old is not None and (new is None or new > old) for new, old in pairs)


def _lease(studies: Sequence[Study], leases: GpuLeases, logical_gpus: int | None) -> Devices:
    """The machine's devices, its GPUs cut down to those that this program now holds."""
    devices = discover()
    if logical_gpus is not None:
        gpus = leases.take_logical(logical_gpus)
        return replace(devices, gpus=gpus, gpu_model="logical", gpu_memory_gib=0.0)
    if devices.gpus and any(wants_gpus(study.spec().resources) for study in studies):
        return replace(devices, gpus=leases.take_free(devices.gpus))
    return devices


def _largest_device(devices: Devices) -> DeviceMemory | None:
    """What a training may fill: a GPU, or on a pool without any the machine's memory. Logical GPUs have none."""
    size_gib = devices.gpu_memory_gib if devices.gpus else devices.memory_gib
    return DeviceMemory(size_bytes=int(size_gib * 2**30), gpu=bool(devices.gpus)) if size_gib else None


def _node(devices: Devices) -> NodeUp:
    return NodeUp(
        at=time.time(),
        node=NODE,
        gpus=devices.gpus,
        cpus=devices.cpus,
        memory_gib=devices.memory_gib,
        device_model=devices.device_model,
    )
