"""Trials' folders on storage that all nodes share, so that a trial can go on at another node.

A folder a generation: `<url>/studies/<study>/trials/0007/checkpoints/g00000003/`, beside it the trial's `log.txt`. An
agent writes to the generation that it runs, and to none once a later one is there: a node that was frozen while its
trial went on elsewhere cannot overwrite anything when it wakes up. A generation counts once its file `READY` is
written, after everything that it began with is there; the generations before it are then removed.

Any file system that fsspec knows (`file://`, `s3://`, `gs://`, ...), by the same calls.
"""

from __future__ import annotations

import json
import math
import re
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...errors import PoolError
from ..logs import LOG_NAME, trial_dir

READY = "READY"
CHECKPOINTS = "checkpoints"

_GENERATION = re.compile(r"g(\d{8})")
_SHOALS_OWN = re.compile(r"epoch-(\d{8,})\.ckpt")

Marks = Mapping[str, tuple[int, int]]
"""Size and time of modification (ns) of files, by their POSIX path below the trial's folder."""


class CheckpointStore:
    """One storage.

    Args:
        url: an fsspec URL, e.g. `file:///shared/shoal` or `s3://bucket/shoal`; a plain path is a local one.

    Raises:
        PoolError: fsspec does not know the URL, or lacks the package for it.
    """

    def __init__(self, url: str) -> None:
        from fsspec.core import url_to_fs
        from fsspec.implementations.local import LocalFileSystem

        try:
            self._fs, root = url_to_fs(url)
        except (ValueError, ImportError, OSError) as error:
            raise PoolError(
                f"storage {url!r} cannot be used: {error}.",
                "Give a URL such as file:///shared/shoal or s3://bucket/shoal, and install what fsspec asks for.",
            ) from None
        self._root = str(root).rstrip("/")
        self._renames = isinstance(self._fs, LocalFileSystem)  # object stores show whole objects only

    def sees(self, name: str) -> bool:
        """Is there a file `name` at the root?"""
        return bool(self._fs.exists(f"{self._root}/{name}"))

    def write(self, name: str, content: bytes) -> None:
        """Write a small file at the root.

        Raises:
            PoolError: it cannot be written.
        """
        try:
            self._fs.makedirs(self._root, exist_ok=True)
            self._fs.pipe_file(f"{self._root}/{name}", content)
        except OSError as error:
            raise PoolError(f"storage {self._root} cannot be written: {error}.", "Fix its permissions.") from None

    def remove(self, name: str) -> None:
        """Remove a file at the root; fine if there is none."""
        path = f"{self._root}/{name}"
        if self._fs.exists(path):
            self._fs.rm_file(path)

    # --- a trial's folder -----------------------------------------------------------------------------

    def save(
        self, study: str, number: int, generation: int, folder: Path, known: Marks | None, *, settled: bool,
        writer: str = "",
    ) -> Marks:
        """Bring what has changed in a trial's `folder` here; what is here now.

        Args:
            known: what the last call returned; None: the first one of a generation.
            settled: nobody writes there any more. Before that, files other than shoal's own are taken once they have
                been left alone for a moment.
            writer: who writes; the next one to ask learns who wrote last.

        Raises:
            OSError: the storage cannot be written.
        """
        here = marks_of(folder, settled=settled)
        if here == known:
            return here
        if any(later > generation for later in self._generations(study, number)):
            return here
        before = known or {}
        target = self._generation(study, number, generation)
        for name, mark in here.items():
            if before.get(name) == mark:
                continue
            inside = name.removeprefix(f"{CHECKPOINTS}/")
            self._put(folder / name, f"{target}/{inside}" if inside != name else f"{self._trial(study, number)}/{name}")
        for name in before.keys() - here.keys():
            path = f"{target}/{name.removeprefix(f'{CHECKPOINTS}/')}"
            if name.startswith(CHECKPOINTS) and self._fs.exists(path):
                self._fs.rm_file(path)
        if known is None:
            self._fs.makedirs(target, exist_ok=True)
            self._fs.pipe_file(f"{target}/{READY}", writer.encode())
            for earlier in self._generations(study, number):
                if earlier < generation:
                    self._fs.rm(self._generation(study, number, earlier), recursive=True)
        return here

    def writer(self, study: str, number: int, generation: int) -> str | None:
        """Who was the last to begin with this generation; None: it is not here."""
        try:
            return bytes(self._fs.cat_file(f"{self._generation(study, number, generation)}/{READY}")).decode()
        except FileNotFoundError:
            return None

    def fetch(
        self, study: str, number: int, folder: Path, *, before: int | None = None, reported_step: float = math.inf
    ) -> int | None:
        """Put what the newest generation (`before` another one) left into a trial's `folder`, in place of what is
        there.

        Checkpoints ahead of `reported_step`, the last step that the journal has a report of, are left out: their
        reports went down with a node, and have to be made again.

        Returns:
            the generation it came from; None: there is none, and the folder is empty.
        """
        shutil.rmtree(folder, ignore_errors=True)
        (folder / CHECKPOINTS).mkdir(parents=True)
        log = f"{self._trial(study, number)}/{LOG_NAME}"
        if self._fs.exists(log):
            self._fs.get_file(log, str(folder / LOG_NAME))
        for earlier in self._generations(study, number):
            source = self._generation(study, number, earlier)
            if (before is not None and earlier >= before) or not self._fs.exists(f"{source}/{READY}"):
                continue
            for path in self._fs.find(source):
                name = str(path)[len(self._absolute(source)) + 1 :]
                if name == READY:
                    continue
                local = folder / CHECKPOINTS / name
                local.parent.mkdir(parents=True, exist_ok=True)
                self._fs.get_file(path, str(local))
                if _SHOALS_OWN.fullmatch(name) and _step_of(local) > reported_step:
                    local.unlink()
            return earlier
        return None

    # --- inside ---------------------------------------------------------------------------------------

    def _trial(self, study: str, number: int) -> str:
        return f"{self._root}/{trial_dir(Path('studies') / study, number).as_posix()}"

    def _generation(self, study: str, number: int, generation: int) -> str:
        return f"{self._trial(study, number)}/{CHECKPOINTS}/g{generation:08d}"

    def _generations(self, study: str, number: int) -> list[int]:
        """Those that have a folder here, the newest first."""
        folder = f"{self._trial(study, number)}/{CHECKPOINTS}"
        self._fs.invalidate_cache(folder)
        try:
            names = [str(path).rstrip("/").rpartition("/")[2] for path in self._fs.ls(folder, detail=False)]
        except FileNotFoundError:
            return []
        return sorted((int(found[1]) for name in names if (found := _GENERATION.fullmatch(name))), reverse=True)

    def _absolute(self, path: str) -> str:
        """The path as `find` writes it."""
        return str(self._fs._strip_protocol(path))

    def _put(self, source: Path, target: str) -> None:
        """Copy one file; readers see all of it or nothing."""
        self._fs.makedirs(target.rpartition("/")[0], exist_ok=True)
        if not self._renames:
            self._fs.put_file(str(source), target)
            return
        folder, _, name = target.rpartition("/")
        draft = f"{folder}/.{name}.part"
        try:
            self._fs.put_file(str(source), draft)
        except FileNotFoundError:  # dropped meanwhile, being old
            return
        Path(draft).replace(target)


def marks_of(folder: Path, *, settled: bool) -> dict[str, tuple[int, int]]:
    """The files to be kept of a trial's folder: its log, and what lies in `checkpoints`, drafts aside.

    Args:
        settled: as in `CheckpointStore.save`.
    """
    marks: dict[str, tuple[int, int]] = {}
    log = folder / LOG_NAME
    for path in [log, *sorted((folder / CHECKPOINTS).rglob("*"))]:
        try:
            stat = path.stat()
        except FileNotFoundError:
            continue
        if path.is_dir() or path.name.startswith("."):
            continue
        own = path == log or _SHOALS_OWN.fullmatch(path.name)
        if own or settled or time.time() - stat.st_mtime > 1.0:
            marks[path.relative_to(folder).as_posix()] = (stat.st_size, stat.st_mtime_ns)
    return marks


def _step_of(checkpoint: Path) -> float:
    """The step that a checkpoint was made at, without reading all of it; infinite where it cannot be told."""
    with checkpoint.open("rb") as file:
        file.readline()
        try:
            header: Any = json.loads(file.readline())
            return int(header["step"])
        except (ValueError, KeyError, TypeError):
            return math.inf
