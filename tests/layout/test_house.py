"""The house rules that a machine can check: layers, file sizes, names, what must not be written into files."""

import ast
import importlib
import os
import re
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PARTS = ("dashboards", "scheduler", "search", "service", "spaces", "trial_runner")
BANNED_NAMES = {"utils", "util", "common", "helpers", "helper", "manager", "misc"}
TEXTS = {".py", ".md", ".toml", ".txt", ".cfg", ".yml", ""}


def modules(root: Path) -> list[Path]:
    return [root / "errors.py", root / "__init__.py", *(p for part in PARTS for p in (root / part).rglob("*.py"))]


def ours(root: Path) -> Iterator[Path]:
    """Every text file of the project, generated folders left out."""
    for path in sorted(root.rglob("*")):
        inside = path.relative_to(root).parts
        hidden = any(p.startswith(".") and p != ".ci" for p in inside)
        if hidden or "__pycache__" in inside or inside[0].endswith(".egg-info") or inside[0] in ("build", "dist"):
            continue
        if path.is_file() and path.suffix in TEXTS:
            yield path


def test_layers(root: Path) -> None:
    """import-linter's contracts: one-way layers, the scheduler alone, dashboards only read."""
    program = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    done = subprocess.run(
        [sys.executable, "-c", program, "--no-cache"], cwd=root, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_file_sizes(root: Path) -> None:
    """Small files: the median under 150 lines, none over 600."""
    sizes = {path: len(path.read_text().splitlines()) for path in modules(root)}
    sizes = {path: n for path, n in sizes.items() if n > 0}
    assert statistics.median(sizes.values()) < 150
    assert {str(path): n for path, n in sizes.items() if n > 600} == {}


def test_names_say_what_is_inside(root: Path) -> None:
    named = {p.stem for p in modules(root)} | {p.parent.name for p in modules(root)}
    assert named & BANNED_NAMES == set()


def test_no_paths_of_one_machine(root: Path) -> None:
    """Neither this clone's folder nor the home of whoever works on it."""
    banned = [f"{folder}/" for folder in (root, Path.home()) if folder != Path("/")]
    texts = {path: path.read_text(encoding="utf-8", errors="replace") for path in ours(root)}
    assert {str(path) for path, text in texts.items() if any(place in text for place in banned)} == set()


def test_test_packages_have_no_init(root: Path) -> None:
    """With import-mode=importlib an __init__.py makes two identities of one test."""
    assert list((root / "tests").rglob("__init__.py")) == []


def test_test_files_have_names_of_their_own(root: Path) -> None:
    names = [p.name for p in (root / "tests").rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))


def test_a_unit_test_that_loads_a_large_library_is_refused(root: Path, tmp_path: Path) -> None:
    """The guard of tests/unit sees what a module imports and what a test imports on its way."""
    (tmp_path / "conftest.py").write_text((root / "tests" / "unit" / "conftest.py").read_text())
    for name in ("plotly", "torch"):
        (tmp_path / f"{name}.py").touch()
    (tmp_path / "test_early.py").write_text("import plotly\ndef test_nothing(): pass\n")
    (tmp_path / "test_late.py").write_text("def test_it():\n    import torch\n")
    (tmp_path / "test_light.py").write_text("def test_it():\n    import json\n")
    words = [sys.executable, "-m", "pytest", "--continue-on-collection-errors", "-p", "no:cacheprovider", "."]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
    assert "test_early.py loads plotly: a unit test loads no large library" in done.stdout
    assert "loads torch: a unit test loads no large library" in done.stdout
    assert "2 passed, 2 errors" in done.stdout, done.stdout


def test_modules_say_what_they_are_for(root: Path) -> None:
    texts = {path: path.read_text() for path in modules(root)}
    bare = {str(path) for path, text in texts.items() if text.strip() and not ast.get_docstring(ast.parse(text))}
    assert bare == set()


@pytest.mark.parametrize("module", ["shoal", "shoal.spaces"])
def test_public_names_are_documented(root: Path, module: str) -> None:
    """What users import has a docstring and is in the pages."""
    pages = "\n".join(page.read_text(encoding="utf-8") for page in [*root.glob("docs/*.md"), root / "README.md"])
    exported = importlib.import_module(module)
    names = [name for name in exported.__all__ if not name.startswith("_")]
    assert names
    bare = {name for name in names if callable(getattr(exported, name)) and not getattr(exported, name).__doc__}
    assert bare == set()
    assert {name for name in names if not re.search(rf"\b{name}\b", pages)} == set()


@pytest.mark.parametrize("banned", ["TODO", "FIXME", "XXX"])
def test_nothing_is_left_for_later(root: Path, banned: str) -> None:
    """No stub and no note to do it later; deciding not to do something is written down without these words."""
    found = [str(p.relative_to(root)) for p in modules(root) if re.search(rf"\b{banned}\b", p.read_text())]
    assert found == []
