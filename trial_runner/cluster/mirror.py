"""The thread of an agent that keeps the shared storage up to date with what its trials write.

Trials write to the node's own disk and wait for nobody. A trial that let go in order to go on elsewhere is not told as
ended before everything of it is on the storage.
"""

from __future__ import annotations

import queue
import shutil
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ...errors import ShoalError
from ..logs import trial_dir
from ..messages import LaunchTrial
from .checkpoint_store import CheckpointStore, Marks

SYNC_S = 1.0
"""How often running trials are looked at: what a dead node loses at the most, besides the epoch under way."""

Then = Callable[[], None]
TrialKey = tuple[str, int]


@dataclass(slots=True)
class Followed:
    """A trial that is being kept up to date."""

    generation: int
    marks: Marks | None = None


class Mirror:
    """Copies between this node's `studies_dir` and a store.

    Args:
        complain: told (study, number, what went wrong), once a trial, from the mirror's thread.
    """

    def __init__(self, store: CheckpointStore, studies_dir: Path, complain: Callable[[str, int, str], None]) -> None:
        self._store = store
        self._studies_dir = studies_dir
        self._complain = complain
        self._complained: set[TrialKey] = set()
        self._followed: dict[TrialKey, Followed] = {}
        self._name = uuid.uuid4().hex
        self._at_home: dict[TrialKey, int] = {}  # trials whose last generation ended here, and is on the storage
        self._jobs: queue.Queue[Then | None] = queue.Queue()
        self._thread = threading.Thread(target=self._work, name="shoal-mirror", daemon=True)
        self._thread.start()

    def bring(self, launch: LaunchTrial, then: Then) -> None:
        """Put what the trial's last generation left into its folder here (and what its parent left into that one's),
        then call `then` from the mirror's thread; keep the storage up to date from then on."""
        self._jobs.put(lambda: self._bring(launch, then))

    def settle(self, study: str, number: int, then: Then) -> None:
        """The trial has ended here: bring the storage up to date for the last time, then call `then`."""
        self._jobs.put(lambda: self._settle(study, number, then))

    def forget(self, study: str) -> None:
        """Nothing of the study runs here any more."""
        self._jobs.put(lambda: self._forget(study))

    def close(self) -> None:
        """Do what has been asked for, then stop."""
        self._jobs.put(None)
        self._thread.join()

    def _work(self) -> None:
        look_at = time.monotonic() + SYNC_S
        while True:
            try:
                job = self._jobs.get(timeout=max(look_at - time.monotonic(), 0.0))
            except queue.Empty:
                for key in list(self._followed):
                    self._save(key, settled=False)
                look_at = time.monotonic() + SYNC_S
                continue
            if job is None:
                return
            job()

    def _bring(self, launch: LaunchTrial, then: Then) -> None:
        study, number, generation, parent = launch.study, launch.number, launch.generation, launch.parent
        key, folder = (study, number), trial_dir(self._studies_dir / study, number)
        try:
            if generation == 1 and not launch.moved:
                shutil.rmtree(folder, ignore_errors=True)
            elif not self._is_at_home(key, generation):
                before = generation + 1 if launch.moved else generation
                self._store.fetch(study, number, folder, before=before, reported_step=launch.reported_step)
            if parent is not None and not {(study, parent)} & (self._at_home.keys() | self._followed.keys()):
                self._store.fetch(study, parent, trial_dir(self._studies_dir / study, parent))
        except (OSError, ShoalError) as error:
            self._complain(study, number, f"its checkpoints could not be fetched, so it starts anew: {error}")
        self._at_home.pop(key, None)
        self._followed[key] = Followed(generation=generation)
        then()

    def _is_at_home(self, key: TrialKey, generation: int) -> bool:
        """Did the generation before end here, without having moved away in between?"""
        before = generation - 1
        return self._at_home.get(key) == before and self._store.writer(*key, before) == self._name

    def _settle(self, study: str, number: int, then: Then) -> None:
        key = (study, number)
        followed = self._followed.get(key)
        if followed is not None:
            if self._save(key, settled=True):
                self._at_home[key] = followed.generation
            del self._followed[key]
        then()

    def _save(self, key: TrialKey, *, settled: bool) -> bool:
        followed = self._followed[key]
        study, number = key
        folder = trial_dir(self._studies_dir / study, number)
        try:
            followed.marks = self._store.save(
                study, number, followed.generation, folder, followed.marks, settled=settled, writer=self._name
            )
        except (OSError, ShoalError) as error:
            if key not in self._complained:
                self._complained.add(key)
                self._complain(study, number, f"its checkpoints do not reach the shared storage: {error}")
            return False
        return True

    def _forget(self, study: str) -> None:
        for key in [key for key in self._followed if key[0] == study]:
            self._save(key, settled=True)
            del self._followed[key]
        for key in [key for key in self._at_home if key[0] == study]:
            del self._at_home[key]
        shutil.rmtree(self._studies_dir / study, ignore_errors=True)
