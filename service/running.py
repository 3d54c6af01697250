"""Run studies in this program: open or go on with them, bring everything they need up, and down again."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import CodeError, SpecError
from ..scheduler.elastic_policy import ElasticPolicy
from ..scheduler.port import Policy, Request
from ..scheduler.recording import RecordedPolicy
from ..search.ask_history import load_with_asks
from ..search.editing import edit
from ..search.events import Event, StudyCreated, StudyEdited, StudyResumed
from ..search.journal.opening import open_journal
from ..search.journal.port import Journal
from ..search.replay import load_study
from ..search.spec import StudySpec
from ..search.strategies import describe
from ..search.strategies.port import PastAsk
from ..search.study_state import StudyState
from .arrivals import Notice
from .code import pack
from .feasibility import DeviceMemory
from .head import Head, Observer
from .interrupts import Interrupts
from .journal_place import journal_of
from .places import Place, ThisMachine
from .pool import Devices, request_of
from .results import StudyResults
from .strategy_host import ProcessHost
from .study_run import StudyRun
from .wishes import wishes

if TYPE_CHECKING:
    from .study import Study


def tell(text: str) -> None:
    """The default notice: a line on standard error."""
    print(text, file=sys.stderr)


def place_of(
    studies: Sequence[Study], data: Path, *, logical_gpus: int | None = None, ray: str = "", store: str = ""
) -> Place:
    """Where studies are to run.

    Args:
        studies: what is to run.
        data: the data directory.
        logical_gpus: pretend that this machine has so many GPUs.
        ray: the address of a Ray cluster, "start" for one of this machine, "": this program runs the trials.
        store: with a cluster: URL of storage that all nodes share; "": the data directory.

    Raises:
        SpecError: a storage without a cluster, or pretend GPUs for a cluster that has its own.
    """
    if not ray:
        if store:
            raise SpecError(f"store={store!r} goes with a cluster.", "Set --ray ADDRESS, or leave the store out.")
        return ThisMachine(studies, data, logical_gpus)
    from .cluster_place import START, RayPlace

    if logical_gpus is not None and ray != START:
        raise SpecError(
            f"{logical_gpus} logical GPUs do not go with the cluster at {ray}: its nodes say what they have.",
            "Start Ray's nodes with --num-gpus, or use --ray start.",
        )
    return RayPlace(ray, data, store=store, names=[study.name for study in studies], logical_gpus=logical_gpus)


def run_studies(
    studies: Sequence[Study],
    *,
    data: Path,
    logical_gpus: int | None = None,
    place: Place | None = None,
    resume: bool = True,
    observers: Iterable[Observer] = (),
    notice: Notice = tell,
    decisions: Path | None = None,
) -> list[StudyResults]:
    """Run `studies` side by side on this machine until all have ended.

    A study of the same name in `data` goes on where it stopped; one that has finished is extended when its budget
    has grown, and otherwise left alone.

    Args:
        data: the data directory; made when missing.
        logical_gpus: pretend that the machine has so many GPUs (and none of its own).
        place: where trials run instead of on this machine.
        resume: False: an existing study is an error.
        observers: called as `observer(state, event)` after each commit.
        notice: told in one line what no event says.
        decisions: a new file that every decision of the policy is written to, to be played again
            (`scheduler/recording.py`).

    Raises:
        SpecError, PoolError: a study cannot run here; nothing has been written.
        JournalLocked: another program runs studies in `data`.
        JournalError: the journal cannot be read or written.
        CodeError: a worker cannot import the training function.
        KeyboardInterrupt: Ctrl-C; the studies can be gone on with.
    """
    with ExitStack() as stack:
        place = stack.enter_context(place or ThisMachine(studies, data, logical_gpus))
        devices = place.devices
        specs = [study.spec() for study in studies]
        requests = [
            place.limited(
                request_of(spec.resources, devices, spec.entry.kind), spec.name, spans=spec.entry.kind == "trial"
            )
            for spec in specs
        ]
        policy = ElasticPolicy() if decisions is None else stack.enter_context(_recorded(decisions))
        interrupts = stack.enter_context(Interrupts())
        journal = stack.enter_context(closing(open_journal(journal_of(data))))
        opened = [
            _open(study, request, devices, journal, data, resume=resume, now=time.time(), notice=notice)
            for study, request in zip(studies, requests, strict=True)
        ]
        if any(study.is_to_run for study in opened):
            runner, nodes = place.open(journal.fence, notice)
            stack.callback(runner.close)
            host = ProcessHost(device=_largest_device(devices))
            stack.callback(host.close)
            head = Head(
                journal=journal,
                runner=runner,
                host=host,
                policy=policy,
                nodes=nodes,
                interrupts=interrupts,
                notice=notice,
                wish=place.wish,
            )
            for observer in observers:
                head.subscribe(observer)
            for study in opened:
                if study.is_to_run:
                    head.add(study.run, study.first_events, study.history, place.found)
            runs = {study.run.name: study.run for study in opened if study.is_to_run}
            place.keep([trial for trial in place.found if trial.study in runs and runs[trial.study].holds(trial)])
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


@contextmanager
def _recorded(file: Path) -> Iterator[Policy]:
    """A policy whose decisions are written to a new file.

    Raises:
        SpecError: the file cannot be made, or is there already: it would be the recording of two policies.
    """
    try:
        opened = file.open("x", encoding="utf-8", buffering=1)
    except OSError as error:
        raise SpecError(
            f"decisions cannot be written to {file}: {error.strerror}.", "Name a file that is not there yet."
        ) from None
    with opened:
        yield RecordedPolicy(ElasticPolicy(), lambda line: print(line, file=opened))


def _open(
    study: Study,
    request: Request,
    devices: Devices,
    journal: Journal,
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
    if is_to_run:
        first += wishes(study, state, journal, now=now, notice=notice)
    folder = data / "studies" / spec.name
    run = StudyRun(state, journal, request, code.archive, folder, devices.resize_cost_s)
    return OpenedStudy(run=run, first_events=tuple(first), history=tuple(history), is_to_run=is_to_run)


def _load(journal: Journal, spec: StudySpec) -> tuple[StudyState, list[PastAsk]]:
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
        (after.budget.gpu_hours, before.budget.gpu_hours),
    )
    return any(old is not None and (new is None or new > old) for new, old in pairs)


def _largest_device(devices: Devices) -> DeviceMemory | None:
    """What a training may fill: a GPU, or on a pool without any the machine's memory. Logical GPUs have none."""
    size_gib = devices.gpu_memory_gib if devices.gpus else devices.memory_gib
    return DeviceMemory(size_bytes=int(size_gib * 2**30), gpu=bool(devices.gpus)) if size_gib else None
