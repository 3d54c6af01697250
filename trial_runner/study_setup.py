"""What every worker of a study has to know before its first trial, kept in a file beside the study's trials."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from .messages import Json

PICKLED = "__pickled__"
"""The module name of functions that came as a pickle (from a notebook): `<code_dir>/__pickled__.pkl`."""


SETUP_NAME = "setup.json"


def setup_file(study_dir: Path) -> Path:
    """Where a study's setup is kept.

    >>> setup_file(Path("studies/digits")).as_posix()
    'studies/digits/setup.json'
    """
    return study_dir / SETUP_NAME


@dataclass(frozen=True, slots=True, kw_only=True)
class StudySetup:
    """`entry` and `space` as in `PrepareStudy`; `code_dir` is where the project is unpacked ("": no files)."""

    study: str
    entry: Mapping[str, Json]
    space: Json
    code_dir: str
    study_dir: str
    threads: int
    reuse_workers: bool

    def write(self) -> Path:
        """Write it to its place; returns where."""
        file = setup_file(Path(self.study_dir))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(asdict(self)))
        return file

    @classmethod
    def read(cls, file: Path) -> Self:
        return cls(**json.loads(file.read_text()))
