"""What a node of a cluster offers, found out on the node itself."""

from __future__ import annotations

from ..trial_runner.cluster.ports import NodeFacts
from .gpu_leases import LOGICAL
from .pool import discover


def facts_of(node: str, gpus: int, cpus: int, model: str) -> NodeFacts:
    """Devices of this machine, within what the cluster says it may use.

    Args:
        node: its name in the pool.
        gpus: GPUs that the cluster counts here. More than the machine has are pretend ones, for demonstrations and
            tests.
        cpus: CPUs that the cluster counts here.
        model: the device model by the cluster's label, "" without one.
    """
    devices = discover()
    names = devices.gpus[:gpus]
    if gpus and not names:
        names = tuple(f"{LOGICAL}{node}-{index}" for index in range(gpus))
    found = devices.gpu_model if devices.gpus else "logical"
    return NodeFacts(
        node=node, gpus=names, cpus=cpus or devices.cpus, memory_gib=devices.memory_gib,
        device_model=model or (found if names else "cpu"),
        gpu_memory_gib=devices.gpu_memory_gib if devices.gpus else 0.0,
    )  # fmt: skip
