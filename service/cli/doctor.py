"""`shoal doctor`: what shoal finds on this machine."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import PackageNotFoundError, version

from ...search.spec import Json
from ..journal_place import has_journal
from .options import DataFlag, OutputFlag, data_directory, output_format
from .output import write_record

LIBRARIES = ("torch", "numpy", "scikit-learn", "optuna", "cmaes", "SQLAlchemy", "rich", "typer")


def doctor(data: DataFlag = None, output: OutputFlag = None) -> None:
    """Show versions, devices and the data directory."""
    from ..pool import discover

    devices = discover()
    directory = data_directory(data)
    record: dict[str, Json] = {
        "python": f"{platform.python_version()} at {sys.executable}",
        "platform": platform.platform(),
        "shoal": installed("shoal"),
        **{name: installed(name) for name in LIBRARIES},
        "gpus": len(devices.gpus),
        "gpu_model": devices.gpu_model or None,
        "cpus": devices.cpus,
        "memory_gib": round(devices.memory_gib, 1),
        "data": str(directory),
        "journal": "there" if has_journal(directory) else "none yet",
    }
    write_record(record, output_format(output))


def installed(name: str) -> str:
    """The installed version of a distribution, without importing it."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"
