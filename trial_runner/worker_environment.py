"""What a worker's process is set to before user code runs: environment, threads, devices."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence

from .messages import Json

WORKER_MARK = "SHOAL_WORKER"
KEEP = "SHOAL_KEEP_ENV"
LOGICAL_GPU = "logical-"  # names of pretend GPUs, which no driver knows

THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")

SECRET_NAME = re.compile(r"TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|PRIVATE_?KEY|ACCESS_?KEY|CREDENTIAL", re.IGNORECASE)
SECRET_URL = re.compile(r"^[a-zA-Z][a-zA-Z0-9+.-]*://[^/\s@]*:[^/\s@]+@")


def secrets_in(environment: Mapping[str, str]) -> list[str]:
    """Variables that user code should not see: tokens by name, addresses with a password in them by value.

    Those named in `SHOAL_KEEP_ENV` (comma-separated) are let through: a training script may need its own.

    >>> secrets_in({"HF_TOKEN": "x", "HOME": "/root", "DATABASE": "postgresql://me:pw@host/db"})
    ['DATABASE', 'HF_TOKEN']
    >>> secrets_in({"HF_TOKEN": "x", "SHOAL_KEEP_ENV": "HF_TOKEN,WANDB_API_KEY"})
    []
    """
    kept = {name.strip() for name in environment.get(KEEP, "").split(",")}
    return sorted(
        name for name, value in environment.items()
        if name not in kept and (SECRET_NAME.search(name) or SECRET_URL.match(value))
    )


def server_environment(environment: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """A fork server's environment, and the names that were taken out of it.

    One thread while importing: a pool of threads made before the fork exists in no child. CUDA is asked for through
    NVML, since the ordinary question initialises it, and then no child can use it.
    """
    removed = secrets_in(environment)
    cleaned = {name: value for name, value in environment.items() if name not in removed}
    cleaned |= dict.fromkeys(THREAD_VARIABLES, "1")
    cleaned |= {"PYTORCH_NVML_BASED_CUDA_CHECK": "1", "PYTHONUNBUFFERED": "1", "PYTHONFAULTHANDLER": "1"}
    return cleaned, removed


def mark_worker() -> None:
    """Let everything this worker starts be recognised as its own."""
    os.environ[WORKER_MARK] = str(os.getpid())


def set_devices(gpus: Sequence[str], gpu_share: float) -> None:
    """Let this process see its own GPUs only; before CUDA starts."""
    real = [gpu for gpu in gpus if not gpu.startswith(LOGICAL_GPU)]
    os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(real)
    os.environ["SHOAL_GPUS"] = ",".join(gpus)
    torch = sys.modules.get("torch")
    if real and gpu_share < 1 and torch is not None and torch.cuda.is_available():
        for index in range(len(real)):
            torch.cuda.set_per_process_memory_fraction(gpu_share, index)


def set_threads(threads: int) -> None:
    """Threads of torch, OpenMP and BLAS: a constant of the study, since 1 thread and 2 threads differ in bits."""
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(threads)))
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(threads)
    if threads > 1 and "numpy" in sys.modules:  # its BLAS was loaded under one thread
        try:
            from threadpoolctl import threadpool_limits
        except ImportError:
            return
        threadpool_limits(threads)


def describe_trial(assignment: Mapping[str, Json]) -> None:
    """The trial's facts as environment variables, for programs it starts."""
    os.environ["SHOAL_STUDY"] = assignment["study"]
    os.environ["SHOAL_TRIAL"] = str(assignment["number"])
    os.environ["SHOAL_SEED"] = str(assignment["seed"])
    os.environ["SHOAL_TRIAL_DIR"] = assignment["trial_dir"]
    os.environ["SHOAL_CHECKPOINT_DIR"] = assignment["checkpoint_dir"]
