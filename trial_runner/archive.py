"""The project as one file, named by what is in it.

A study's code is frozen when it is submitted: every trial, on every node and after every restart, runs exactly
these bytes. The name is a hash of names and contents, not of the compressed file, so that neither times nor a
different zlib change it, and it is checked again after unpacking.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import shutil
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import CodeError
from .project_files import Project, module_of, project_of
from .study_setup import PICKLED

__all__ = ["PackedCode", "module_of", "pack_pickled", "pack_project", "unpack"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedCode:
    """`sha`: 64 hex digits; `module`: the entry file's dotted name; `notices`: what is left out."""

    sha: str
    path: Path
    module: str
    notices: tuple[str, ...] = ()


def pack_project(file: Path, out_dir: Path) -> PackedCode:
    """Archive the project of a Python file as `<out_dir>/<sha>.tar.gz`.

    Raises:
        CodeError: the file is missing or not importable, or something in its project cannot be read.
    """
    project = project_of(file)
    _, module = module_of(file)
    sha, archive = _pack(_contents(project), out_dir)
    return PackedCode(sha=sha, path=archive, module=module, notices=project.notices)


def pack_pickled(pickled: bytes, out_dir: Path, script: Path | None = None) -> PackedCode:
    """Archive a function that came as a pickle (cloudpickle, from a notebook or a running script).

    Only workers load it. With `script`, the project it lies in comes along, since the function may import from there.

    Raises:
        CodeError: as `pack_project`.
    """
    contents = {f"{PICKLED}.pkl": pickled}
    notices: tuple[str, ...] = ()
    if script is not None:
        project = project_of(script)
        contents |= _contents(project)
        notices = project.notices
    sha, archive = _pack(contents, out_dir)
    return PackedCode(sha=sha, path=archive, module=PICKLED, notices=notices)


def _contents(project: Project) -> dict[str, bytes]:
    contents: dict[str, bytes] = {}
    for name, path in project.files.items():
        try:
            contents[name] = path.read_bytes()
        except OSError as error:
            raise CodeError(
                f"{path} cannot be read: {error.strerror}.", "Fix its permissions, or move it out of the project."
            ) from None
    return contents


def unpack(archive: Path, code_dir: Path) -> Path:
    """Unpack into `code_dir`, whose name is the hash, unless that has been done; returns `code_dir`.

    The folder appears whole or not at all.

    Raises:
        CodeError: the archive cannot be read, holds anything but plain files inside the folder, or is not what its
            hash says.
    """
    if code_dir.is_dir():
        return code_dir
    code_dir.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=".unpacking-", dir=code_dir.parent))
    try:
        contents = _read(archive)
        sha = _hash(contents)
        if sha != code_dir.name:
            raise CodeError(
                f"code archive {archive} is damaged: its content hashes to {sha[:12]}…, not {code_dir.name[:12]}….",
                "Start the study again from its file.",
            )
        for name, content in contents.items():
            target = draft / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        try:
            draft.rename(code_dir)
        except OSError:
            if not code_dir.is_dir():  # otherwise another program was faster
                raise
    except OSError as error:
        raise CodeError(
            f"code archive {archive} cannot be unpacked: {error.strerror or error}.", "Free disk space, or start again."
        ) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return code_dir


def _pack(contents: Mapping[str, bytes], out_dir: Path) -> tuple[str, Path]:
    sha = _hash(contents)
    out_dir.mkdir(parents=True, exist_ok=True)
    final = out_dir / f"{sha}.tar.gz"
    if final.exists():
        return sha, final
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w") as tar,
    ):
        for name in sorted(contents):
            entry = tarfile.TarInfo(name)
            entry.size = len(contents[name])
            tar.addfile(entry, io.BytesIO(contents[name]))
    draft = out_dir / f".{sha}.{os.getpid()}"
    draft.write_bytes(packed.getvalue())
    draft.replace(final)
    return sha, final


def _hash(contents: Mapping[str, bytes]) -> str:
    """SHA-256 over names and contents, lengths in between so that nothing can be moved from one into the other."""
    digest = hashlib.sha256()
    for name in sorted(contents):
        encoded = name.encode()
        digest.update(len(encoded).to_bytes(8, "big") + encoded)
        digest.update(len(contents[name]).to_bytes(8, "big") + contents[name])
    return digest.hexdigest()


def _read(archive: Path) -> dict[str, bytes]:
    """Files by name; refuses what would be written outside of the folder."""
    contents: dict[str, bytes] = {}
    try:
        with tarfile.open(archive, "r:gz") as tar:
            for entry in tar:
                parts = Path(entry.name).parts
                file = tar.extractfile(entry) if entry.isreg() else None
                if file is None or entry.name.startswith("/") or ".." in parts:
                    raise CodeError(
                        f"code archive {archive} holds {entry.name!r}, which is no plain file inside of the project.",
                        "Do not use this archive: it was not made by shoal.",
                    )
                contents[entry.name] = file.read()
    except (tarfile.TarError, EOFError, gzip.BadGzipFile) as error:
        raise CodeError(
            f"code archive {archive} is damaged: {error}.", "Start the study again from its file."
        ) from None
    return contents
