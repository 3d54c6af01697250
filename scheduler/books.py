"""The studies that the elastic policy knows, and which of them have to decide anew."""

from __future__ import annotations

from collections.abc import Iterator

from .device_speed import DeviceSpeeds
from .elastic_state import StudyEntry, TrialState


class Books:
    """Studies by name, in order of arrival, and those that an event has touched."""

    def __init__(self) -> None:
        self.studies: dict[str, StudyEntry] = {}
        self.device_speeds: dict[str, float] = {}
        self._dirty: dict[str, None] = {}

    def study(self, name: str, priority: int) -> StudyEntry:
        """The study of this name; a new one if it was never heard of."""
        study = self.studies.get(name)
        if study is None:
            speeds = DeviceSpeeds(self.device_speeds)
            study = StudyEntry(name=name, order=len(self.studies), priority=priority, device_speeds=speeds)
            self.studies[name] = study
        return study

    def holder(self, name: str, number: int, generation: int) -> tuple[StudyEntry, TrialState] | None:
        """The trial that holds devices under this generation; None for anything late or repeated."""
        study = self.studies.get(name)
        trial = study.trials.get(number) if study is not None else None
        if study is None or trial is None or not trial.holds or trial.offer.generation != generation:
            return None
        return study, trial

    def holders(self) -> Iterator[tuple[StudyEntry, TrialState]]:
        """Everybody who holds devices."""
        for study in self.studies.values():
            for trial in list(study.trials.values()):
                if trial.holds:
                    yield study, trial

    def touch(self, name: str) -> None:
        """The study has to decide anew."""
        if name in self.studies:
            self._dirty[name] = None

    def touch_all(self) -> None:
        self._dirty = dict.fromkeys(self.studies)

    def touch_blocked(self) -> None:
        """Devices came free: those that found no room try again."""
        for name, study in self.studies.items():
            if study.blocked:
                self._dirty[name] = None

    def taken_dirty(self) -> dict[str, None]:
        """The touched studies, in the order in which they were touched; from now on nobody is."""
        dirty, self._dirty = self._dirty, {}
        return dirty
