"""Everything a node keeps for one study: its code, its fork server, workers that stand by, workers that run trials."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from .crew import Crew
from .crew_watch import CrewWatch
from .deadlines import Deadlines
from .descent import group_alive, kill_group
from .fork_server import ForkServer
from .logs import checkpoints_dir, rotate_if_large, trial_dir
from .messages import Ended, Json, LaunchTrial, Prepared, ResizeTrial, RunnerEvent, Slot, Started
from .process_record import ProcessRecords
from .study_setup import StudySetup
from .wire import Channel
from .worker_environment import KEEP, server_environment
from .worker_process import WorkerProcess

SERVER_LOG = "code.log"

MAX_SERVER_DEATHS = 3
"""Deaths of a study's fork server in a row, no trial having ended well in between, until the study is given up: then
it is the code that kills it. One alone may be the machine's memory killer."""

ORPHANS_S = 2.0
"""How long the groups of a dead server are waited for. They die within milliseconds; a container whose first process
reaps nothing keeps them as zombies for ever, and then waiting says nothing."""

EXIT_GRACE_S = 30.0
"""How long a worker may take from its trial's last word to its exit: `atexit` functions may have much to upload."""


class StudyRoom:
    """One study on this node.

    Args:
        setup: what its workers know.
        standby: how many forked workers wait for their trial.
        records: where process groups are written down.
        watch: called with every channel that is to be waited on, and what to call when it has something.
        unwatch: called before a channel is closed.
        memory_mib: the machine's memory.
    """

    def __init__(
        self, setup: StudySetup, *, standby: int, records: ProcessRecords, memory_mib: float,
        watch: Callable[[Channel, Callable[[], None]], None], unwatch: Callable[[Channel], None],
    ) -> None:
        self._setup = setup
        self._standby = standby
        self._records = records
        self._memory_mib = memory_mib
        self._watch, self._unwatch = watch, unwatch
        self._workers: dict[int, WorkerProcess] = {}
        self._idle: deque[WorkerProcess] = deque()
        self._crews: dict[tuple[int, int], Crew] = {}  # by the trial's number and generation
        self._keeper: WorkerProcess | None = None
        self._store_port: int | None = None
        self._watching = CrewWatch()
        self._orphans: dict[int, float] = {}  # worker → until when its group is waited for, its server having died
        self._limits: Deadlines[int] = Deadlines()
        self._events: list[RunnerEvent] = []
        self._left_behind: list[int] = []
        self._count = 0
        self._server_deaths = 0
        self._broken = ""
        self._ready = False
        self._topping_up = False
        self._setup_file = setup.write()
        self._server = self._start_server()

    # --- what the head asks ----------------------------------------------------------------------------

    def launch(self, launch: LaunchTrial) -> None:
        """Give a trial to a worker that stands by, or to a new one."""
        if self._broken:
            self._events.append(never_started(launch, self._broken))
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
        """Give a worker that stands by, or a new one, its part of a trial."""
        worker = self._idle.popleft() if self._idle else self._new_worker()
        study_dir = Path(self._setup.study_dir)
        folder = trial_dir(study_dir, launch.number)
        inherits = None if launch.parent is None else checkpoints_dir(trial_dir(study_dir, launch.parent))
        try:
            worker.assign(launch, folder, inherits, time.monotonic(), place)
        except OSError:
            self._idle.appendleft(worker)
            raise
        self._topping_up = True
        return worker

    def kill(self, worker: WorkerProcess) -> None:
        self._server.kill(worker.id)

    def hurry(self, worker: WorkerProcess) -> None:
        self._limits.set(worker.id, time.monotonic() + EXIT_GRACE_S)

    def store_port(self) -> int | None:
        if self._keeper is None:
            self._keeper = self._new_worker()
            self._keeper.channel.send("assign", store=True)
        return self._store_port

    def leave(self) -> None:
        """Let go of everything; `has_left` or `wait` tell when it has gone."""
        self._left_behind = [self._server.pid, *(w.pid for w in self._workers.values() if w.pid is not None)]
        for worker in list(self._workers.values()):
            self._forget(worker)
        self._unwatch(self._server.channel)
        self._server.leave()

    def has_left(self) -> bool:
        """Has the server ended, and with it everything it started?"""
        if not self._server.has_ended():
            return False
        for pid in self._left_behind:
            self._records.remove(pid)
        return True

    def wait(self) -> None:
        """Until `has_left`."""
        self._server.wait()
        self.has_left()

    # --- what happens ------------------------------------------------------------------------------------

    def turn(self) -> list[RunnerEvent]:
        """Do what is due; what has happened since the last call."""
        for worker_id in self._limits.due(time.monotonic()):
            self._end_late(worker_id)
        self._bury_orphans()
        self._watching.look(time.monotonic(), self._crews.values())
        self._server.flush()
        for worker in self._workers.values():
            if worker.channel.unsent:
                worker.channel.flush()
        if self._topping_up:  # after the assignments have gone out: they are what somebody waits for
            self._topping_up = False
            self._top_up()
        events, self._events = self._events, []
        return events

    def next_at(self) -> float | None:
        """When (`time.monotonic`) `turn` has something to do though nobody said anything."""
        soon = self._orphans or self._topping_up or self._events or self._server.unsent
        if soon or any(worker.channel.unsent for worker in self._workers.values()):
            return time.monotonic() + 0.005
        times = [self._limits.next_at(), self._watching.next_at(self._crews.values())]
        return min((at for at in times if at is not None), default=None)

    def rotate_logs(self) -> None:
        """Cut the logs that have grown too large."""
        for worker in self._workers.values():
            if worker.launch is not None:
                rotate_if_large(worker.log)

    # --- inside ------------------------------------------------------------------------------------------

    def _start_server(self) -> ForkServer:
        environment, removed = server_environment(os.environ)
        log = Path(self._setup.study_dir) / SERVER_LOG
        if removed:
            with log.open("a") as file:
                file.write(f"not in the workers' environment: {', '.join(removed)} ({KEEP} lets names through)\n")
        self._keeper = self._store_port = None  # it went with the former server
        server = ForkServer(self._setup_file, log, environment)
        self._records.add(server.pid)
        self._watch(server.channel, self._hear_server)
        self._ready = False
        self._server = server
        self._top_up()
        return server

    def _top_up(self) -> None:
        while len(self._idle) < self._standby and not self._broken:
            self._idle.append(self._new_worker())

    def _new_worker(self) -> WorkerProcess:
        self._count += 1
        worker = WorkerProcess(self._count, self._server.fork(self._count))
        self._workers[worker.id] = worker
        self._watch(worker.channel, lambda: self._hear_worker(worker))
        return worker

    def _hear_worker(self, worker: WorkerProcess) -> None:
        try:
            said = worker.events()
        except ValueError as error:
            worker.end_with("cancelled", f"the worker sent what is no message of a worker: {error}")
            self._server.kill(worker.id)
            self._unwatch(worker.channel)
            return
        if worker.channel.closed:
            self._unwatch(worker.channel)  # the server tells when the process has gone
        if worker is self._keeper:
            self._hear_keeper(worker)
        if worker.launch is None:
            return
        self._events += self._crew_of(worker).hear(worker, said, worker.about_group())
        limit_s = worker.launch.time_limit_s
        if limit_s is not None and any(isinstance(event, Started) for event in said):
            self._limits.set(worker.id, time.monotonic() + limit_s)
        if worker.takes_another:
            self._finish(worker, None)
            worker.release()
            self._idle.append(worker)
        elif worker.has_ended:
            self._limits.set(worker.id, time.monotonic() + EXIT_GRACE_S)

    def _finish(self, worker: WorkerProcess, status: int | None, peak_mib: int = 0) -> None:
        """Tell the end of a worker's trial."""
        self._limits.cancel(worker.id)
        ended = worker.ended(status, peak_mib, self._memory_mib)
        rotate_if_large(worker.log)
        if ended.outcome != "failed":
            self._server_deaths = 0
        crew = self._crew_of(worker)
        self._events += crew.gone(worker, ended)
        if not crew.workers:
            del self._crews[crew.launch.number, crew.launch.generation]

    def _hear_server(self) -> None:
        for message in self._server.receive():
            match message["kind"]:
                case "ready":
                    self._on_ready(ok=message["ok"], note=message["note"])
                case "forked":
                    worker = self._workers.get(message["worker"])
                    if worker is not None:
                        worker.pid = message["pid"]
                        self._records.add(message["pid"])
                case "exited":
                    self._records.remove(message["pid"])
                    worker = self._workers.get(message["worker"])
                    if worker is not None:
                        self._on_gone(worker, message["status"], message["peak_mib"])
        if self._server.channel.closed:
            self._on_server_death()

    def _on_ready(self, *, ok: bool, note: str) -> None:
        self._ready = True
        self._events.append(Prepared(study=self._setup.study, ok=ok, note=note))
        if not ok:
            self._give_up(note)

    def _on_gone(self, worker: WorkerProcess, status: int | None, peak_mib: int) -> None:
        """Nothing of a worker is left."""
        if not worker.channel.closed:
            self._hear_worker(worker)  # what it said before it ended
        if worker.launch is not None:
            self._finish(worker, status, peak_mib)
        if worker is self._keeper:
            self._keeper = self._store_port = None  # the next group gets a new one
        self._forget(worker)

    def _on_server_death(self) -> None:
        """Its workers die with it; the next ones get a new server."""
        self._unwatch(self._server.channel)
        how = self._server.how_it_ended()
        self._records.remove(self._server.pid)
        self._server.leave()
        self._server_deaths += 1
        until = time.monotonic() + ORPHANS_S
        for worker in list(self._workers.values()):
            if worker.pid is not None:
                kill_group(worker.pid)
                self._orphans[worker.id] = until
            else:
                self._on_gone(worker, None, 0)
        self._idle.clear()
        if not self._ready or self._server_deaths >= MAX_SERVER_DEATHS:
            doing = "running trials" if self._ready else "importing the code"
            note = f"the fork server died while {doing} ({how})"
            self._events.append(Prepared(study=self._setup.study, ok=False, note=note))
            self._give_up(note)
        else:
            self._start_server()

    def _give_up(self, why: str) -> None:
        """No worker can be had: trials that wait for one will not start."""
        self._broken = why
        for key, crew in list(self._crews.items()):
            if not any(worker.id in self._orphans for worker in crew.workers):
                self._events.append(never_started(crew.launch, why))
                del self._crews[key]
        for worker in [worker for worker in self._workers.values() if worker.id not in self._orphans]:
            self._forget(worker)

    def _bury_orphans(self) -> None:
        for worker_id, until in list(self._orphans.items()):
            worker = self._workers.get(worker_id)
            if worker is None or worker.pid is None:
                del self._orphans[worker_id]
            elif not group_alive(worker.pid) or time.monotonic() > until:
                del self._orphans[worker_id]
                self._records.remove(worker.pid)
                self._on_gone(worker, None, 0)

    def _end_late(self, worker_id: int) -> None:
        worker = self._workers.get(worker_id)
        if worker is None or worker.launch is None:
            return
        crew = self._crew_of(worker)
        if worker.has_ended or crew.is_over:
            self._server.kill(worker.id)
        else:
            limit_s = crew.launch.time_limit_s
            crew.end_with("timeout", f"its time limit of {limit_s:g} s was over")

    def _crew_of(self, worker: WorkerProcess) -> Crew:
        assert worker.launch is not None, "it has a trial"
        return self._crews[worker.launch.number, worker.launch.generation]

    def _hear_keeper(self, keeper: WorkerProcess) -> None:
        self._store_port = keeper.store_port
        if self._store_port is not None:
            for crew in self._crews.values():
                crew.on_store(self._store_port)

    def _forget(self, worker: WorkerProcess) -> None:
        self._workers.pop(worker.id, None)
        if worker in self._idle:
            self._idle.remove(worker)
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
