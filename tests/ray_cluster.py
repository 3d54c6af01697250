"""A Ray cluster of several nodes on this machine, in a folder of its own, and nothing left of it afterwards."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from shoal.trial_runner.cluster import ray_fleet


class RayCluster:
    """A head node without devices; nodes with pretend GPUs come and go.

    Args:
        folder: short, since the paths of sockets are limited.
    """

    def __init__(self, folder: Path) -> None:
        from ray.cluster_utils import Cluster

        self.folder = folder
        self._raylets: dict[str, Any] = {}
        self._cluster = Cluster(
            initialize_head=True,
            head_node_args={"num_cpus": 0, "num_gpus": 0, "include_dashboard": False, "dashboard_port": 0},
        )

    @property
    def address(self) -> str:
        return str(self._cluster.address)

    def add(self, *, gpus: int = 4, cpus: int = 4, model: str = "fast") -> str:
        """Add a node; its name in the pool."""
        raylet = self._cluster.add_node(num_cpus=cpus, num_gpus=gpus, labels={ray_fleet.MODEL_LABEL: model})
        name = ray_fleet.node_name({"NodeManagerHostname": os.uname().nodename, "NodeID": raylet.node_id})
        self._raylets[name] = raylet
        return name

    def kill(self, node: str) -> None:
        """SIGKILL everything of a node at once, as a power cut does."""
        for process in self._processes(node):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self._cluster.remove_node(self._raylets.pop(node), allow_graceful=False)

    def freeze(self, node: str) -> None:
        """SIGSTOP everything of a node."""
        for process in self._processes(node):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGSTOP)

    def thaw(self, node: str) -> None:
        for process in self._processes(node):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        for node in self._raylets:
            self.thaw(node)
        self._cluster.shutdown()

    def _processes(self, node: str) -> list[psutil.Process]:
        raylets = [infos[0].process.pid for infos in [self._raylets[node].all_processes["raylet"]]]
        found = [psutil.Process(pid) for pid in raylets]
        return [*found, *(child for raylet in found for child in raylet.children(recursive=True))]


@contextlib.contextmanager
def ray_cluster() -> Iterator[RayCluster]:
    """A cluster in a temporary folder; every process and file of it has gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="r", dir="/tmp"))
    changes = {"RAY_TMPDIR": str(folder), "SHOAL_AGENT_DIR": str(folder / "agents"), "RAY_AUTH_MODE": "disabled"}
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    cluster = None
    try:
        cluster = RayCluster(folder)
        yield cluster
    finally:
        if cluster is not None:
            cluster.close()
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})
        for process in psutil.process_iter(["cmdline", "environ"]):
            if (process.info["environ"] or {}).get("RAY_TMPDIR") == str(folder) and process.pid != os.getpid():
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
        shutil.rmtree(folder, ignore_errors=True)
