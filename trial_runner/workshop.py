"""The processes that a node has for one study: its fork server, workers that stand by, and those that were taken."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from .descent import group_alive, kill_group
from .fork_server import ForkServer
from .guest_house import HasFileno
from .process_record import ProcessRecords
from .study_setup import StudySetup
from .worker_environment import KEEP, server_environment
from .worker_process import WorkerProcess

SERVER_LOG = "code.log"

MAX_SERVER_DEATHS = 3
"""Deaths of a study's fork server in a row, no trial having ended well in between, until the study is given up: then
it is the code that kills it. One alone may be the machine's memory killer."""

ORPHANS_S = 2.0
"""How long the groups of a dead server are waited for. They die within milliseconds; a container whose first process
reaps nothing keeps them as zombies for ever, and then waiting says nothing."""

Watch = Callable[[HasFileno, Callable[[], None]], None]


class Employer(Protocol):
    """Who is told what becomes of the processes (`StudyRoom`)."""

    def prepared(self, *, ok: bool, note: str) -> None:
        """The code was imported, or cannot be had."""
        ...

    def heard(self, worker: WorkerProcess) -> None:
        """A worker has said something, or closed its end."""
        ...

    def gone(self, worker: WorkerProcess, status: int | None, peak_mib: int) -> None:
        """Nothing of a worker is left; how it ended, if anybody knows, and the most memory that it had."""
        ...

    def given_up(self, why: str) -> None:
        """There will be no more workers."""
        ...


class Workshop:
    """Makes workers, and keeps count of them.

    Args:
        setup: what the workers know.
        standby: how many forked workers wait to be taken.
        records: where process groups are written down.
        employer: see above.
        watch: called with every channel that is to be waited on, and what to call when it has something.
        unwatch: called before a channel is closed.
    """

    def __init__(
        self, setup: StudySetup, *, standby: int, records: ProcessRecords, employer: Employer, watch: Watch,
        unwatch: Callable[[HasFileno], None],
    ) -> None:
        self._study_dir = Path(setup.study_dir)
        self._setup_file = setup.write()
        self._standby = standby
        self._records = records
        self._employer = employer
        self._watch, self._unwatch = watch, unwatch
        self._workers: dict[int, WorkerProcess] = {}
        self._idle: deque[WorkerProcess] = deque()
        self._orphans: dict[int, float] = {}  # worker → until when its group is waited for, its server having died
        self._left_behind: list[int] = []
        self._count = 0
        self._server_deaths = 0
        self._ready = False
        self._topping_up = False
        self.broken = ""
        """Why there are no workers to be had; "" while there are."""
        self._server = self._start_server()

    def next_number(self) -> int:
        """A number that no worker of the study has had on this node."""
        self._count += 1
        return self._count

    def take(self) -> WorkerProcess:
        """A worker that stands by, or else a new one."""
        self._topping_up = True
        return self._idle.popleft() if self._idle else self.make()

    def make(self) -> WorkerProcess:
        """A new worker; messages can be sent to it at once."""
        number = self.next_number()
        worker = WorkerProcess(number, self._server.fork(number))
        self._workers[number] = worker
        self._watch(worker.channel, lambda: self._employer.heard(worker))
        return worker

    def take_back(self, worker: WorkerProcess) -> None:
        """The worker stands by again."""
        self._idle.append(worker)

    def kill(self, worker: WorkerProcess) -> None:
        """End a worker and its whole group."""
        self._server.kill(worker.id)

    def forget(self, worker: WorkerProcess) -> None:
        """The worker is no longer wanted, or gone."""
        self._workers.pop(worker.id, None)
        if worker in self._idle:
            self._idle.remove(worker)

    @property
    def workers(self) -> list[WorkerProcess]:
        """All that have been made and not forgotten."""
        return list(self._workers.values())

    def find(self, number: int) -> WorkerProcess | None:
        """The worker of this number, if it has not been forgotten."""
        return self._workers.get(number)

    def is_orphan(self, worker: WorkerProcess) -> bool:
        """Did its server die, and is its group being waited for?"""
        return worker.id in self._orphans

    def work_goes_well(self) -> None:
        """A trial has ended well: the code does not kill its server."""
        self._server_deaths = 0

    # --- from time to time -----------------------------------------------------------------------------

    def turn(self) -> None:
        """Do what is due."""
        self._bury_orphans()
        self._server.flush()
        if self._topping_up:  # after the assignments have gone out: they are what somebody waits for
            self._topping_up = False
            self._top_up()

    @property
    def is_busy(self) -> bool:
        """Has `turn` something to do soon though nobody says anything?"""
        return bool(self._orphans or self._topping_up or self._server.unsent)

    def leave(self) -> None:
        """Let go of everything; `has_left` or `wait` tell when it has gone."""
        self._left_behind = [self._server.pid, *(w.pid for w in self._workers.values() if w.pid is not None)]
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

    # --- inside ----------------------------------------------------------------------------------------

    def _start_server(self) -> ForkServer:
        environment, removed = server_environment(os.environ)
        log = self._study_dir / SERVER_LOG
        if removed:
            with log.open("a") as file:
                file.write(f"not in the workers' environment: {', '.join(removed)} ({KEEP} lets names through)\n")
        server = ForkServer(self._setup_file, log, environment)
        self._records.add(server.pid)
        self._watch(server.channel, self._hear_server)
        self._ready = False
        self._server = server
        self._top_up()
        return server

    def _top_up(self) -> None:
        while len(self._idle) < self._standby and not self.broken:
            self._idle.append(self.make())

    def _hear_server(self) -> None:
        for message in self._server.receive():
            match message["kind"]:
                case "ready":
                    self._ready = True
                    self._employer.prepared(ok=message["ok"], note=message["note"])
                    if not message["ok"]:
                        self._give_up(message["note"])
                case "forked":
                    worker = self._workers.get(message["worker"])
                    if worker is not None:
                        worker.pid = message["pid"]
                        self._records.add(message["pid"])
                case "exited":
                    self._records.remove(message["pid"])
                    worker = self._workers.get(message["worker"])
                    if worker is not None:
                        self._employer.gone(worker, message["status"], message["peak_mib"])
        if self._server.channel.closed:
            self._on_server_death()

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
                self._employer.gone(worker, None, 0)
        self._idle.clear()
        if not self._ready or self._server_deaths >= MAX_SERVER_DEATHS:
            doing = "running trials" if self._ready else "importing the code"
            note = f"the fork server died while {doing} ({how})"
            self._employer.prepared(ok=False, note=note)
            self._give_up(note)
        else:
            self._start_server()

    def _give_up(self, why: str) -> None:
        self.broken = why
        self._employer.given_up(why)

    def _bury_orphans(self) -> None:
        for number, until in list(self._orphans.items()):
            worker = self._workers.get(number)
            if worker is None or worker.pid is None:
                del self._orphans[number]
            elif not group_alive(worker.pid) or time.monotonic() > until:
                del self._orphans[number]
                self._records.remove(worker.pid)
                self._employer.gone(worker, None, 0)
