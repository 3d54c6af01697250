"""A node's agent: the runner that runs trials in real processes.

A plain object without a thread: the head waits on `waitables` and calls `drain`. It keeps a room for every study
(`study_room.py`), enforces time limits, keeps logs small, and leaves nothing running: not when it is closed, not when
the process that holds it is killed. Use it from one thread, which must live as long as the agent (`descent.py`).
"""

from __future__ import annotations

import selectors
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from ..errors import ShoalError
from .archive import unpack
from .guest_house import GuestHouse, HasFileno
from .messages import (
    AnswerReport,
    AnswerSuggestion,
    ForgetStudy,
    Instruction,
    KillTrial,
    LaunchTrial,
    MeetNode,
    PauseTrial,
    Prepared,
    PrepareStudy,
    ResizeTrial,
    RunnerEvent,
)
from .neighbours import Neighbours
from .process_record import ProcessRecords
from .study_room import StudyRoom, never_started
from .study_setup import StudySetup

LOG_CHECK_S = 1.0
"""How often sizes of logs are looked at: what a trial can print in a second is the most a log exceeds its limit by."""


class NodeAgent:
    """Implements `service.ports.Runner`.

    Args:
        data_dir: the data directory, whose journal the caller has locked: what an earlier program left running
            there is killed.
        node, host: this node's name, and the address that the others reach it by; "": there are no others.
    """

    def __init__(self, data_dir: Path, *, node: str = "", host: str = "") -> None:
        import psutil

        self._data_dir = data_dir.resolve()
        self._records = ProcessRecords(self._data_dir / "processes")
        self.swept = self._records.sweep()
        """Process groups of an earlier program that were still running."""
        self._memory_mib = psutil.virtual_memory().total / 2**20
        self._selector = selectors.DefaultSelector()
        self._rooms: dict[str, StudyRoom] = {}
        self._refused: dict[str, str] = {}  # studies whose code could not be unpacked, and why
        self._leaving: list[StudyRoom] = []
        self._events: list[RunnerEvent] = []
        self._neighbours = Neighbours(node if host else "", host)
        self._house = None
        if host:
            self._house = GuestHouse(node, host, self._rooms, watch=self._watch, unwatch=self._unwatch)
        self._logs_checked_at = time.monotonic()

    @property
    def door(self) -> MeetNode | None:
        """How other nodes' agents reach this one; None: they cannot."""
        return None if self._house is None else self._house.door

    @property
    def guests_of(self) -> list[str]:
        """Trials of other nodes that have workers here, as `study#number`."""
        return [] if self._house is None else self._house.trials

    def now(self) -> float:
        return time.time()

    def perform(self, instruction: Instruction) -> None:
        """Carry out one instruction; answers to trials of a past generation are dropped."""
        match instruction:
            case PrepareStudy():
                self._prepare(instruction)
            case LaunchTrial():
                self._launch(instruction)
            case ResizeTrial():
                room = self._rooms.get(instruction.study)
                if room is not None:
                    room.resize(instruction)
            case KillTrial():
                room = self._rooms.get(instruction.study)
                if room is not None:
                    room.kill_trial(instruction.number, instruction.generation, instruction.reason)
                if self._house is not None:
                    self._house.send_away(instruction.study, instruction.number, instruction.generation)
            case MeetNode():
                self._neighbours.meet(instruction)
            case ForgetStudy():
                self._forget(instruction.study)
            case AnswerReport():
                self._tell(
                    instruction, "verdict", step=instruction.step, verdict=instruction.verdict,
                    reason=instruction.reason,
                )
            case AnswerSuggestion():
                self._tell(
                    instruction, "suggestion", path=instruction.path, value=instruction.value, error=instruction.error
                )
            case PauseTrial():
                self._tell(instruction, "pause", reason=instruction.reason)

    def waitables(self) -> Sequence[int]:
        """One descriptor for all channels, whatever their number (epoll, kqueue)."""
        fileno: int = self._selector.fileno()
        return (fileno,)

    def next_due_s(self) -> float | None:
        times = [at for room in self._rooms.values() if (at := room.next_at()) is not None]
        if self._house is not None and (at := self._house.next_at()) is not None:
            times.append(at)
        if self._rooms:
            times.append(self._logs_checked_at + LOG_CHECK_S)
        if self._events:
            return 0.0
        return max(min(times) - time.monotonic(), 0.0) if times else None

    def drain(self) -> list[RunnerEvent]:
        for key, _ in self._selector.select(0):
            key.data()
        for room in self._rooms.values():
            self._events += room.turn()
        if self._house is not None:
            self._house.turn()
        if time.monotonic() >= self._logs_checked_at + LOG_CHECK_S:
            self._logs_checked_at = time.monotonic()
            for room in self._rooms.values():
                room.rotate_logs()
        self._leaving = [room for room in self._leaving if not room.has_left()]
        events, self._events = self._events, []
        return events

    def close(self) -> None:
        if self._house is not None:
            self._house.close()
        for study in list(self._rooms):
            self._forget(study)
        for room in self._leaving:
            room.wait()
        self._leaving.clear()
        self._selector.close()

    def _prepare(self, prepare: PrepareStudy) -> None:
        self._forget(prepare.study)
        try:
            self._rooms[prepare.study] = self._open(prepare)
        except (OSError, ShoalError) as error:
            self._refused[prepare.study] = str(error)
            self._events.append(Prepared(study=prepare.study, ok=False, note=str(error)))

    def _launch(self, launch: LaunchTrial) -> None:
        if launch.study in self._refused:
            self._events.append(never_started(launch, self._refused[launch.study]))
        else:
            self._rooms[launch.study].launch(launch)

    def _open(self, prepare: PrepareStudy) -> StudyRoom:
        code_dir = ""
        if prepare.archive is not None:
            code_dir = str(unpack(prepare.archive, self._data_dir / "code" / prepare.code))
        setup = StudySetup(
            study=prepare.study, entry=dict(prepare.entry), space=prepare.space, code_dir=code_dir,
            study_dir=str(prepare.study_dir.resolve()), threads=prepare.threads_per_worker,
            reuse_workers=prepare.reuse_workers,
        )
        return StudyRoom(
            setup, standby=prepare.standby, records=self._records, memory_mib=self._memory_mib,
            neighbours=self._neighbours, watch=self._watch, unwatch=self._unwatch,
        )

    def _forget(self, study: str) -> None:
        self._refused.pop(study, None)
        room = self._rooms.pop(study, None)
        if room is not None:
            room.leave()
            self._leaving.append(room)

    def _tell(self, to: AnswerReport | AnswerSuggestion | PauseTrial, kind: str, **fields: object) -> None:
        room = self._rooms.get(to.study)
        crew = room.running(to.number, to.generation) if room is not None else None
        if crew is not None:
            crew.tell(kind, **fields)

    def _watch(self, channel: HasFileno, hear: Callable[[], None]) -> None:
        self._selector.register(channel.fileno(), selectors.EVENT_READ, hear)

    def _unwatch(self, channel: HasFileno) -> None:
        """Fine for one that is not watched, or closed."""
        if channel.fileno() >= 0 and channel.fileno() in self._selector.get_map():
            self._selector.unregister(channel.fileno())
