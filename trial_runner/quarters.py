"""What a crew asks of the room that its workers live in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from .messages import LaunchTrial, Slot
from .worker_process import WorkerProcess


class Quarters(Protocol):
    """Where a crew's workers live (`StudyRoom`)."""

    def recruit(self, launch: LaunchTrial, place: Mapping[str, Any]) -> WorkerProcess:
        """Assign a worker its part of a trial. Raises OSError: the trial's folder cannot be made."""
        ...

    def kill(self, worker: WorkerProcess) -> None: ...

    def hurry(self, worker: WorkerProcess) -> None:
        """The worker's trial is over: end it if it does not end soon."""
        ...

    def store_port(self) -> int | None:
        """The port of the study's store; None: asked for, `Crew.on_store` will tell."""
        ...

    @property
    def host(self) -> str:
        """The address of this node."""
        ...

    def is_here(self, slot: Slot) -> bool:
        """Is the slot on this node?"""
        ...
