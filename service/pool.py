"""The devices of this machine: NVIDIA GPUs when there are any, pretend ("logical") ones on request, CPUs,
memory.

A logical GPU is a name in the pool without hardware behind it, for demonstrations and tests. Real GPUs are
named by their UUID, which every program on the machine agrees on and `CUDA_VISIBLE_DEVICES` accepts.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from ..errors import PoolError, SpecError
from ..scheduler.port import Request
from ..search.spec import EntryKind, Resources

LOGICAL_MODEL = "logical"

IN_PLACE_S = 0.5
"""What is assumed of a resize on CPUs before one was measured; `python -m benchmarks.elastic` measures 0.1 s and less
between small models, and large ones take longer."""

NVIDIA_SMI_TIMEOUT_S = 20.0  # a cold driver answers after 2 to 10 s; a hung one never does


@dataclass(frozen=True, slots=True, kw_only=True)
class Devices:
    """What one node has. Memory in GiB; `gpu_memory_gib` is that of the largest GPU, 0 where nobody knows."""

    gpus: tuple[str, ...]
    gpu_model: str
    gpu_memory_gib: float = 0.0
    cpus: int
    memory_gib: float

    @property
    def resize_cost_s(self) -> float | None:
        """How long a trial is expected to stand still in a resize: next to nothing where groups re-form in place."""
        return IN_PLACE_S if not self.gpus or self.gpu_model == LOGICAL_MODEL else None

    @property
    def device_model(self) -> str:
        return self.gpu_model if self.gpus else "cpu"


def discover() -> Devices:
    """The devices this process may use: `CUDA_VISIBLE_DEVICES`, CPU affinity and cgroup limits are
    honoured."""
    gpus = _nvidia_gpus()
    return Devices(
        gpus=tuple(gpu.uuid for gpu in gpus),
        gpu_model=gpus[0].model if gpus else "",
        gpu_memory_gib=max((gpu.memory_gib for gpu in gpus), default=0.0),
        cpus=usable_cpus(),
        memory_gib=usable_memory_gib(),
    )


def usable_cpus() -> int:
    """CPUs of this process: the smaller of its affinity and its cgroup's quota, at least 1."""
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    count = affinity or 1
    quota, _, period = _cgroup("cpu.max").partition(" ")
    if quota.isdigit() and period.isdigit():
        count = min(count, int(quota) // int(period))
    return max(count, 1)


def usable_memory_gib() -> float:
    """Main memory of this process: the smaller of the machine's and its cgroup's limit."""
    import psutil

    total = int(psutil.virtual_memory().total)
    limit = _cgroup("memory.max")
    if limit.isdigit():
        total = min(total, int(limit))
    return total / 2**30


def request_of(resources: Resources, devices: Devices, kind: EntryKind = "trial") -> Request:
    """What a trial asks of this pool, with "auto" settled.

    Only functions of the kind "trial" can change the number of their workers; others keep the smallest.

    Raises:
        SpecError: a number cannot be read, or a worker would take nothing, so that any number would start.
    """
    auto_gpus = resources.gpus_per_worker == "auto"
    gpus = Fraction(1 if devices.gpus else 0) if auto_gpus else _fraction(resources.gpus_per_worker)
    auto_cpus = 0 if gpus else 1
    wanted = resources.cpus_per_worker
    cpus = auto_cpus if wanted == "auto" else _count(wanted)
    if not gpus and not cpus:
        raise SpecError(
            "gpus_per_worker=0 and cpus_per_worker=0: workers would take nothing, so all would start at once.",
            "Set cpus_per_worker=1.",
        )
    if gpus and not devices.gpus:
        raise PoolError(
            f"gpus_per_worker={resources.gpus_per_worker}, and this machine has no GPU.",
            "Set gpus_per_worker='auto' or 0, or try it with --logical-gpus 8.",
        )
    return Request(
        k_min=resources.min_workers,
        k_max=resources.max_workers if kind == "trial" else resources.min_workers,
        gpus=gpus,
        cpus=cpus,
        memory_gib=resources.memory_gib,
        gpu_memory_gib=resources.gpu_memory_gib,
    )


def check_resources(resources: Resources) -> None:
    """What can be refused without knowing the pool.

    Raises:
        SpecError: a number cannot be read or is out of range.
    """
    if resources.gpus_per_worker != "auto":
        _fraction(resources.gpus_per_worker)
    if resources.cpus_per_worker != "auto":
        _count(resources.cpus_per_worker)


def wants_gpus(resources: Resources) -> bool:
    """Whether a study would use GPUs where there are some."""
    return resources.gpus_per_worker == "auto" or _fraction(resources.gpus_per_worker) > 0


def _fraction(text: str) -> Fraction:
    try:
        value = Fraction(text)
    except (ValueError, ZeroDivisionError):
        value = Fraction(-1)
    if value < 0 or (value > 1 and value.denominator != 1):
        raise SpecError(
            f"gpus_per_worker={text!r} is neither a share in (0, 1) nor a whole number.",
            "Use 'auto', 0, 1, 2, ... or e.g. 0.25.",
        )
    return value


def _count(text: str) -> int:
    if not text.isdigit():
        raise SpecError(f"cpus_per_worker={text!r} is not a whole number.", "Use 'auto', 0, 1, 2, ...")
    return int(text)


@dataclass(frozen=True, slots=True)
class Gpu:
    """One NVIDIA GPU as its driver describes it."""

    uuid: str
    memory_gib: float
    model: str


def _nvidia_gpus() -> list[Gpu]:
    """The visible NVIDIA GPUs, in the driver's order; empty without a driver."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    query = [program, "--query-gpu=index,uuid,memory.total,name", "--format=csv,noheader,nounits"]
    try:
        reply = subprocess.run(query, capture_output=True, text=True, timeout=NVIDIA_SMI_TIMEOUT_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    return visible_gpus(reply.stdout, os.environ.get("CUDA_VISIBLE_DEVICES"))


def visible_gpus(table: str, visible: str | None) -> list[Gpu]:
    """Parse `nvidia-smi`'s "index, uuid, MiB, name" rows and keep what CUDA_VISIBLE_DEVICES lets through, in its order.

    >>> visible_gpus("0, GPU-aa, 81920, A100\\n1, GPU-bb, 81920, A100\\n", "1")
    [Gpu(uuid='GPU-bb', memory_gib=80.0, model='A100')]
    """
    rows = [[cell.strip() for cell in line.split(",", 3)] for line in table.splitlines() if line.strip()]
    known = {row[0]: Gpu(row[1], _gib_of_mib(row[2]), row[3]) for row in rows if len(row) == 4}
    if visible is None:
        return list(known.values())
    kept = []
    for wanted in map(str.strip, visible.split(",")):
        match = [gpu for index, gpu in known.items() if wanted and (index == wanted or gpu.uuid.startswith(wanted))]
        if not match:  # CUDA itself ignores everything from the first unknown entry on
            break
        kept.append(match[0])
    return kept


def _gib_of_mib(text: str) -> float:
    """Devices that share the host's memory say "[N/A]"."""
    return int(text) / 1024 if text.isdigit() else 0.0


def _cgroup(name: str) -> str:
    try:
        return (Path("/sys/fs/cgroup") / name).read_text().strip()
    except OSError:
        return ""
