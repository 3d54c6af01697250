"""A Ray cluster of this machine, in a process tree of its own, so that it outlives a program that is killed.

Which cluster belongs to a data directory is kept in `<data>/ray.json`; the next program there finds it again. It
listens on the loopback device only.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from ..errors import PoolError
from ..trial_runner.process_record import start_time
from .pool import discover

START_S = 60.0  # on an idle machine it takes four

RECORD = "ray.json"
LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRecord:
    """A cluster's address, the process that all of its processes descend from (with its start time, since numbers are
    used again), and the folder of its sockets and logs. `stays`: it was started by `shoal pool up`, not for one run."""

    address: str
    pid: int
    born: float
    folder: str
    stays: bool = False

    @property
    def is_up(self) -> bool:
        return start_time(self.pid) == self.born


def recorded(data: Path) -> ClusterRecord | None:
    """The cluster of a data directory, if it is up."""
    try:
        record = ClusterRecord(**json.loads((data / RECORD).read_text()))
    except (OSError, ValueError, TypeError):
        return None
    return record if record.is_up else None


def start(data: Path, logical_gpus: int | None, *, stays: bool = False) -> ClusterRecord:
    """The cluster of a data directory; started if there is none.

    Raises:
        PoolError: Ray is not installed, or its processes do not come up.
    """
    record = recorded(data)
    if record is not None:
        return record
    program = Path(sys.executable).with_name("ray")
    if not program.exists():
        raise PoolError("a pool on Ray needs the package ray.", "pip install 'shoal[ray]'")
    data.mkdir(parents=True, exist_ok=True)
    folder = tempfile.mkdtemp(prefix="shoal-ray-")  # short: paths of sockets are limited to some 100 characters
    devices = discover()
    gpus = len(devices.gpus) if logical_gpus is None else logical_gpus
    port = _free_port()
    # whoever can reach a cluster can run code as this account: a token of the account keeps others of the machine out
    subprocess.run([program, "get-auth-token", "--generate"], capture_output=True, stdin=subprocess.DEVNULL)
    log = Path(folder) / "start.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [
                str(program), "start", "--head", "--block", f"--node-ip-address={LOOPBACK}", f"--port={port}",
                f"--num-cpus={devices.cpus}", f"--num-gpus={gpus}", "--include-dashboard=false",
                f"--temp-dir={folder}", "--disable-usage-stats",
            ],
            stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
            env={"RAY_AUTH_MODE": "token", **os.environ, "RAY_TMPDIR": folder},
        )  # fmt: skip
    record = ClusterRecord(
        address=f"{LOOPBACK}:{port}", pid=process.pid, born=start_time(process.pid) or 0.0, folder=folder, stays=stays
    )
    until = time.monotonic() + START_S
    while "Ray runtime started" not in log.read_text():
        if process.poll() is not None or time.monotonic() > until:
            said = log.read_text().strip().splitlines()
            stop(data, record)
            raise PoolError(f"Ray did not start: {said[-1] if said else 'it said nothing'}.", f"Try `{program} start`.")
        time.sleep(0.05)
    (data / RECORD).write_text(json.dumps(asdict(record)))
    return record


def stop(data: Path, record: ClusterRecord) -> None:
    """End a cluster with everything that runs on it."""
    import psutil

    (data / RECORD).unlink(missing_ok=True)
    with contextlib.suppress(psutil.NoSuchProcess):
        top = psutil.Process(record.pid)
        if start_time(record.pid) == record.born:
            processes = [*top.children(recursive=True), top]
            top.terminate()  # it ends the others, and waits for them
            for process in psutil.wait_procs(processes, timeout=10.0)[1]:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
    shutil.rmtree(record.folder, ignore_errors=True)


class OwnCluster:
    """A context manager: the data directory's cluster is up inside; one that this program has started or found left
    behind ends with it, one that `shoal pool up` has started stays.

    Args:
        data: the data directory.
        logical_gpus: pretend that this machine has so many GPUs.
    """

    def __init__(self, data: Path, logical_gpus: int | None) -> None:
        self._data = data
        self._record = start(data, logical_gpus)

    @property
    def address(self) -> str:
        return self._record.address

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._record.stays:
            stop(self._data, self._record)


def _free_port() -> int:
    with socket.create_server((LOOPBACK, 0)) as listening:
        port: int = listening.getsockname()[1]
    return port
