"""Which files belong to a project: what a worker needs to run the user's function, and no more.

The project of a file is its folder, or, when that folder is a package (has an `__init__.py`), the folder above the
topmost package. Left out: version control, environments, caches, shoal's own data, what a `.gitignore` in the project's
root names by simple patterns, links that lead out of the project, and files above `MAX_FILE_BYTES`.
"""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import CodeError

MAX_FILE_BYTES = 5_000_000
"""Larger files are data, not code: read them by absolute path instead of copying them into every archive."""

MAX_PROJECT_BYTES = 200_000_000
"""A sum of small files above this is a folder that holds something else than one project (a home, a data set)."""

MAX_PROJECT_FILES = 20_000
"""The same for their number: the whole of torch has 10,000 Python files."""

LEFT_OUT = frozenset({
    ".git", ".hg", ".svn", ".venv", "venv", ".env", ".tox", ".nox", "node_modules", "__pycache__", ".shoal", ".typing",
    ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", ".ipynb_checkpoints", ".idea", ".vscode",
    ".DS_Store", "build", "dist",
})
LEFT_OUT_PATTERNS = ("*.pyc", "*.pyo", "*.egg-info", ".shoal-*", "*.swp", "*~")


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """`root`: the folder that comes first on the import path; `files`: by sorted POSIX path; `notices`: what was left
    out and a person might miss."""

    root: Path
    files: dict[str, Path]
    notices: tuple[str, ...]


def module_of(file: Path) -> tuple[Path, str]:
    """The project's root and the dotted name under which a worker imports the file.

    Raises:
        CodeError: a module cannot have this name.
    """
    root = _root_of(file)
    parts = file.resolve().relative_to(root).with_suffix("").parts
    if file.suffix != ".py" or not all(part.isidentifier() for part in parts):
        raise CodeError(
            f"{file.name} cannot be imported under the name {'.'.join(parts)!r}.",
            "Rename it to a Python name, e.g. study.py.",
        )
    return root, ".".join(parts)


def _root_of(file: Path) -> Path:
    root = file.resolve().parent
    while (root / "__init__.py").exists() and root.parent != root:
        root = root.parent
    return root


def project_of(file: Path) -> Project:
    """The project around a Python file.

    Raises:
        CodeError: the file is missing, or something in its project cannot be read or is too large.
    """
    if not file.is_file():
        raise CodeError(f"{file}: no such file.", "Give the path of the Python file that defines the study.")
    root = _root_of(file)
    files: dict[str, Path] = {}
    notices: list[str] = []
    total = 0
    for path in _walk(root, root, _gitignored(root)):
        size = path.stat().st_size
        name = path.relative_to(root).as_posix()
        if size > MAX_FILE_BYTES:
            notices.append(f"{name} ({size / 1e6:.1f} MB) is not in the code archive: read it by its absolute path.")
            continue
        total += size
        if total > MAX_PROJECT_BYTES or len(files) >= MAX_PROJECT_FILES:
            raise CodeError(
                f"{root} has more than {MAX_PROJECT_BYTES // 1_000_000} MB or {MAX_PROJECT_FILES} files of code.",
                f"Put {file.name} into a folder of its own, or name what is not code in {root / '.gitignore'}.",
            )
        files[name] = path
    return Project(root=root, files=dict(sorted(files.items())), notices=tuple(notices))


def _walk(folder: Path, root: Path, ignored: tuple[str, ...]) -> Iterator[Path]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise CodeError(
            f"{folder} cannot be read: {error.strerror}.", "Fix its permissions, or move it away."
        ) from None
    for entry in entries:
        if entry.name in LEFT_OUT or _matches(entry.name, (*LEFT_OUT_PATTERNS, *ignored)):
            continue
        path = Path(entry.path)
        if entry.is_symlink() and not _stays_inside(path, root):
            continue
        if entry.is_dir(follow_symlinks=False):
            # An environment, or a data directory of shoal's, under any name.
            if not (path / "pyvenv.cfg").exists() and not (path / "journal.db").exists():
                yield from _walk(path, root, ignored)
        elif path.is_file():
            yield path


def _stays_inside(link: Path, root: Path) -> bool:
    """A link to a file of the project; links to folders are not followed, they may form a circle."""
    target = link.resolve()
    return target.is_file() and target.is_relative_to(root)


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatch(name, pattern) for pattern in patterns)


def _gitignored(root: Path) -> tuple[str, ...]:
    """The simple lines of the root's .gitignore: a name or a pattern, with or without a slash at its end.

    Patterns with a slash inside, and files with exceptions (`!`), are not read: then more is archived than needed.
    """
    file = root / ".gitignore"
    if not file.is_file():
        return ()
    lines = [line.strip() for line in file.read_text(encoding="utf-8", errors="replace").splitlines()]
    if any(line.startswith("!") for line in lines):
        return ()
    plain = [line.rstrip("/") for line in lines if line and not line.startswith("#")]
    return tuple(line for line in plain if "/" not in line and line not in ("*", ".", "*.py"))
