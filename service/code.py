"""From a study's training function to what its workers will import: an archive and an address inside it."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import CodeError
from ..search.spec import EntryPoint
from ..trial_runner.archive import pack_pickled, pack_project
from .entry import PICKLED, Command, Train


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeForWorkers:
    """`sha` and `archive` ("" and None: no files), the entry inside of it, and what was left out of it."""

    entry: EntryPoint
    sha: str = ""
    archive: Path | None = None
    notices: tuple[str, ...] = ()


def pack(train: Train | Command, entry: EntryPoint, file: Path | None, out_dir: Path) -> CodeForWorkers:
    """Archive the project of `file`, and with it the function itself where no worker could import it.

    Raises:
        CodeError: something in the project cannot be read, or the function cannot be pickled.
    """
    if entry.module == PICKLED and not isinstance(train, Command):
        packed = pack_pickled(_pickled(train), out_dir, script=file)
    elif file is None:
        return CodeForWorkers(entry=entry)
    else:
        packed = pack_project(file, out_dir)
        defined_in = getattr(sys.modules.get(entry.module), "__file__", None)
        if defined_in and Path(defined_in).resolve() == file.resolve():
            entry = replace(entry, module=packed.module)
    return CodeForWorkers(entry=entry, sha=packed.sha, archive=packed.path, notices=packed.notices)


def _pickled(train: Train) -> bytes:
    import cloudpickle

    try:
        return bytes(cloudpickle.dumps(train))
    except Exception as error:
        raise CodeError(
            f"{getattr(train, '__qualname__', train)!r} cannot be sent to workers: {type(error).__name__}: {error}.",
            "Build what it needs inside of the function, or move it into a module of its own.",
        ) from error
