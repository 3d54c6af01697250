"""Everything a node keeps for one study: workers (`workshop.py`), the crews of its trials, guests of others."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from .crew import Crew
from .crew_watch import CrewWatch
from .deadlines import Deadlines
from .guest_house import HasFileno, Stay
from .guest_worker import GuestWorker
from .logs import checkpoints_dir, rotate_if_large, trial_dir
from .messages import Ended, Json, LaunchTrial, Prepared, ResizeTrial, RunnerEvent, Slot, Started
from .neighbours import Neighbours
from .process_record import ProcessRecords
from .study_setup import StudySetup
from .worker_process import WorkerProcess
from .workshop import Watch, Workshop

EXIT_GRACE_S = 30.0
"""How long a worker may take from its trial's last word to its exit: `atexit` functions may have much to upload."""


class StudyRoom:
    """One study on this node.

    Args:
        setup: what its workers know.
        standby: how many forked workers wait for their trial.
        records: where process groups are written down.
        memory_mib: the machine's memory.
        neighbours: the nodes on which its trials may have guests.
        watch: called with every channel that is to be waited on, and what to call when it has something.
        unwatch: called before a channel is closed.
    """

    def __init__(
        self, setup: StudySetup, *, standby: int, records: ProcessRecords, memory_mib: float, neighbours: Neighbours,
        watch: Watch, unwatch: Callable[[HasFileno], None],
    ) -> None:
        self._setup = setup
        self._memory_mib = memory_mib
        self._neighbours = neighbours
        self._watch, self._unwatch = watch, unwatch
        self._guests: dict[int, GuestWorker] = {}  # workers of its trials on other nodes
        self._stays: dict[int, Stay] = {}  # by worker: it belongs to a trial of another node
        self._crews: dict[tuple[int, int], Crew] = {}  # by the trial's number and generation
        self._keeper: WorkerProcess | None = None
        self._watching = CrewWatch()
        self._limits: Deadlines[int] = Deadlines()
        self._events: list[RunnerEvent] = []
        self._workshop = Workshop(
            setup, standby=standby, records=records, employer=self, watch=watch, unwatch=unwatch
        )

    # --- what the head asks ----------------------------------------------------------------------------

    def launch(self, launch: LaunchTrial) -> None:
        """Give a trial to a worker that stands by, or to a new one."""
        if self.broken:
            self._events.append(never_started(launch, self.broken))
            return
        if self._setup.entry["kind"] != "trial":  # only these functions know of several workers
            memory_gib = None if launch.memory_gib is None else launch.memory_gib * len(launch.slots)
            launch = replace(launch, slots=(merged(launch.slots),), max_workers=1, memory_gib=memory_gib)
        usable = 1 << (len(launch.slots).bit_length() - 1)
        try:
            crew = Crew(launch, launch.slots[:usable], self)
        except OSError as error:
            why = f"its folder cannot be made: {error.strerror}"
            self._events.append(never_started(launch, why))
            return
        self._crews[launch.number, launch.generation] = crew

    def running(self, number: int, generation: int) -> Crew | None:
        """The workers of a trial that is still under way."""
        crew = self._crews.get((number, generation))
        return None if crew is None or crew.is_over else crew

    def kill_trial(self, number: int, generation: int, reason: str) -> None:
        """End a trial's processes."""
        crew = self.running(number, generation)
        if crew is not None:
            crew.end_with("cancelled", reason)

    def resize(self, order: ResizeTrial) -> None:
        """Let a trial go over to other slots."""
        crew = self.running(order.number, order.generation)
        if crew is not None:
            self._events += crew.resize(order)

    # --- what crews ask (`Quarters`) -------------------------------------------------------------------

    def recruit(self, launch: LaunchTrial, place: Mapping[str, Json]) -> WorkerProcess:
        """Give a worker that stands by, or a new one, its part of a trial; on the node of its slot."""
        folder = trial_dir(self.study_dir, launch.number)
        inherits = None if launch.parent is None else checkpoints_dir(trial_dir(self.study_dir, launch.parent))
        here = self.is_here(launch.slots[0])
        worker = self._workshop.take() if here else self._new_guest(launch)
        try:
            worker.assign(launch, folder, inherits, time.monotonic(), place)
        except OSError:
            self._workshop.take_back(worker) if here else self._forget(worker)
            raise
        return worker

    def kill(self, worker: WorkerProcess) -> None:
        if isinstance(worker, GuestWorker):
            worker.channel.send("kill")
        else:
            self._workshop.kill(worker)

    def hurry(self, worker: WorkerProcess) -> None:
        self._limits.set(worker.id, time.monotonic() + EXIT_GRACE_S)

    def store_port(self) -> int | None:
        if self._keeper is None or self._workshop.is_orphan(self._keeper):
            self._keeper = self._workshop.make()
            self._keeper.channel.send("assign", store=self.host)
        return self._keeper.store_port

    @property
    def host(self) -> str:
        return self._neighbours.host

    def is_here(self, slot: Slot) -> bool:
        return self._neighbours.is_here(slot)

    # --- what trials of other nodes ask (`guest_house.Room`) --------------------------------------------

    @property
    def study_dir(self) -> Path:
        return Path(self._setup.study_dir)

    @property
    def broken(self) -> str:
        return self._workshop.broken

    def lodge(self, stay: Stay) -> WorkerProcess:
        worker = self._workshop.take()
        self._stays[worker.id] = stay
        return worker

    # --- what the workshop tells (`Employer`) -----------------------------------------------------------

    def prepared(self, *, ok: bool, note: str) -> None:
        self._events.append(Prepared(study=self._setup.study, ok=ok, note=note))

    def heard(self, worker: WorkerProcess) -> None:
        if worker.id in self._stays:
            self._stays[worker.id].pass_on(worker)
        elif worker is self._keeper:
            self._hear_keeper(worker)
        else:
            self._hear_member(worker)
        if worker.channel.closed:
            self._unwatch(worker.channel)  # the workshop tells when the process has gone

    def gone(self, worker: WorkerProcess, status: int | None, peak_mib: int) -> None:
        if not worker.channel.closed:
            self.heard(worker)  # what it said before it ended
        if worker.id in self._stays:
            self._stays.pop(worker.id).gone(status, peak_mib)
        elif worker.launch is not None:
            self._finish(worker, status, peak_mib)
        self._forget(worker)

    def given_up(self, why: str) -> None:
        """Trials that wait for a worker will not start."""
        for key, crew in list(self._crews.items()):
            if not any(self._workshop.is_orphan(worker) for worker in crew.workers):
                self._events.append(never_started(crew.launch, why))
                del self._crews[key]
                for worker in crew.workers:
                    self._forget(worker)
        for worker in self._workshop.workers:
            if worker.launch is None and not self._workshop.is_orphan(worker):
                self._forget(worker)

    # --- what happens ------------------------------------------------------------------------------------

    def turn(self) -> list[RunnerEvent]:
        """Do what is due; what has happened since the last call."""
        now = time.monotonic()
        for worker_id in self._limits.due(now):
            self._end_late(worker_id)
        for guest in list(self._guests.values()):
            guest.keep_up(now)
            self._see_off(guest, now)
        self._watching.look(now, self._crews.values())
        for worker in self._all_workers():
            if worker.channel.unsent:
                worker.channel.flush()
        self._workshop.turn()
        events, self._events = self._events, []
        return events

    def next_at(self) -> float | None:
        """When (`time.monotonic`) `turn` has something to do though nobody said anything."""
        unsent = any(worker.channel.unsent for worker in self._all_workers())
        if self._events or self._workshop.is_busy or unsent:
            return time.monotonic() + 0.005
        times = [self._limits.next_at(), self._watching.next_at(self._crews.values())]
        times += [guest.next_at for guest in self._guests.values()]
        return min((at for at in times if at is not None), default=None)

    def rotate_logs(self) -> None:
        """Cut the logs that have grown too large."""
        for worker in self._workshop.workers:
            if worker.log.name:
                rotate_if_large(worker.log)

    # --- leaving ------------------------------------------------------------------------------------------

    def leave(self) -> None:
        """Let go of everything; `has_left` or `wait` tell when it has gone."""
        self._workshop.leave()
        for worker in self._all_workers():
            self._forget(worker)

    def has_left(self) -> bool:
        """Has everything ended that was started here?"""
        return self._workshop.has_left()

    def wait(self) -> None:
        """Until `has_left`."""
        self._workshop.wait()

    # --- inside ------------------------------------------------------------------------------------------

    def _hear_member(self, worker: WorkerProcess) -> None:
        """A worker of a trial has said something."""
        try:
            said = worker.events()
        except ValueError as error:
            worker.end_with("cancelled", f"the worker sent what is no message of a worker: {error}")
            self.kill(worker)
            self._unwatch(worker.channel)
            return
        if worker.launch is None:
            return
        self._events += self._crew_of(worker).hear(worker, said, worker.about_group())
        limit_s = worker.launch.time_limit_s
        if limit_s is not None and any(isinstance(event, Started) for event in said):
            self._limits.set(worker.id, time.monotonic() + limit_s)
        if worker.takes_another:
            self._finish(worker, None)
            worker.release()
            self._workshop.take_back(worker)
        elif worker.has_ended:
            self._limits.set(worker.id, time.monotonic() + EXIT_GRACE_S)

    def _hear_keeper(self, keeper: WorkerProcess) -> None:
        keeper.events()
        if keeper.store_port is not None:
            for crew in self._crews.values():
                crew.on_store(keeper.store_port)

    def _finish(self, worker: WorkerProcess, status: int | None, peak_mib: int = 0) -> None:
        """Tell the end of a worker's trial."""
        self._limits.cancel(worker.id)
        ended = worker.ended(status, peak_mib, self._memory_mib)
        rotate_if_large(worker.log)
        if ended.outcome != "failed":
            self._workshop.work_goes_well()
        crew = self._crew_of(worker)
        self._events += crew.gone(worker, ended)
        if not crew.workers:
            del self._crews[crew.launch.number, crew.launch.generation]

    def _end_late(self, worker_id: int) -> None:
        worker = self._guests.get(worker_id) or self._workshop.find(worker_id)
        if worker is None or worker.launch is None:
            return
        crew = self._crew_of(worker)
        if worker.has_ended or crew.is_over:
            self.kill(worker)
        else:
            limit_s = crew.launch.time_limit_s
            crew.end_with("timeout", f"its time limit of {limit_s:g} s was over")

    def _crew_of(self, worker: WorkerProcess) -> Crew:
        assert worker.launch is not None, "it has a trial"
        return self._crews[worker.launch.number, worker.launch.generation]

    def _new_guest(self, launch: LaunchTrial) -> GuestWorker:
        guest = GuestWorker(self._workshop.next_number(), launch, self._neighbours.of(launch.slots[0]))
        self._guests[guest.id] = guest
        self._watch(guest.channel, lambda: self._hear_guest(guest))
        return guest

    def _all_workers(self) -> list[WorkerProcess]:
        return [*self._workshop.workers, *self._guests.values()]

    def _hear_guest(self, guest: GuestWorker) -> None:
        self._hear_member(guest)
        self._see_off(guest, time.monotonic())

    def _see_off(self, guest: GuestWorker, now: float) -> None:
        """Take note of a guest that has gone."""
        if guest.is_gone(now):
            status, peak_mib = guest.exit or (None, 0)
            if guest.launch is not None:
                self._finish(guest, status, peak_mib)
            self._forget(guest)

    def _forget(self, worker: WorkerProcess) -> None:
        self._workshop.forget(worker)
        self._guests.pop(worker.id, None)
        if worker.id in self._stays:
            self._stays.pop(worker.id).gone(None, 0)
        if worker is self._keeper:
            self._keeper = None  # the next group gets a new one
        worker.release()
        self._unwatch(worker.channel)
        worker.channel.close()


def merged(slots: Sequence[Slot]) -> Slot:
    """All devices of a trial as one worker's."""
    gpus = tuple(gpu for slot in slots for gpu in slot.gpus)
    return Slot(gpus=gpus, gpu_share=slots[0].gpu_share, cpus=sum(slot.cpus for slot in slots))


def never_started(launch: LaunchTrial, why: str) -> Ended:
    """The end of a trial for which there was no worker: not its own fault, so it is LOST and can start again."""
    return Ended(
        study=launch.study, number=launch.number, generation=launch.generation, outcome="failed", reason=why,
        failure="LOST",
    )
