"""Every block of the documentation runs.

In each page, ```python blocks run in order in one namespace. ```console blocks hold `$ shoal ...` (and `$ python ...`)
commands; they run in order in one folder per page, in which the page's files and `examples/` lie. A command must end
with status 0, or with the one said by a line `# exit code N` after it. Other lines show what was
printed and are not compared.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("docs/*.md"), ROOT / "README.md"])
BLOCK = re.compile(r"^```(?P<language>[\w-]+)(?P<info>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
EXIT = re.compile(r"# exit code (\d+)")
COMMAND_LIMIT_S = 400


@dataclass(frozen=True)
class Block:
    """A fenced block: its language and the text, with the line it starts at."""

    language: str
    info: str
    body: str
    line: int


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(m["language"], m["info"].strip(), m["body"], text.count("\n", 0, m.start()) + 1)
        for m in BLOCK.finditer(text)
    ]


def pages_with(language: str) -> list[Path]:
    return [page for page in PAGES if any(b.language == language for b in blocks(page))]


def name_of(page: Path) -> str:
    return page.stem


def commands(body: str) -> list[tuple[str, int]]:
    """The commands of a console block and the exit code that each must have."""
    found: list[tuple[str, int]] = []
    for line in body.splitlines():
        expected = EXIT.search(line)
        if line.startswith("$ "):
            found.append((line[2:].partition("# exit code")[0].strip(), int(expected[1]) if expected else 0))
        elif expected and found:
            found[-1] = (found[-1][0], int(expected[1]))
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("__pycache__", ".shoal"))
    return tmp_path


def environment() -> dict[str, str]:
    """This interpreter's `shoal` and `python` come first, and nothing of the person's settings."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "COLUMNS": "120", "SHOAL_PLAIN": "1", "NO_COLOR": "1"}


@pytest.mark.slow
@pytest.mark.parametrize("page", pages_with("python"), ids=name_of)
def test_python_blocks(page: Path, folder: Path) -> None:
    """A page is a script: its blocks in order, in a process and a folder of their own.

    A block whose fence says `file=NAME` is also written there first, as the page tells its reader to do.
    """
    script = []
    for block in blocks(page):
        if block.language != "python":
            continue
        named = re.match(r"file=(\S+)", block.info)
        if named:
            (folder / named[1]).write_text(block.body, encoding="utf-8")
        script.append("\n" * (block.line - sum(s.count("\n") for s in script)) + block.body)
    source = folder / f"{page.stem.replace('-', '_')}_page.py"
    source.write_text("".join(script), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, source.name],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=COMMAND_LIMIT_S,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("page", pages_with("console"), ids=name_of)
def test_console_blocks(page: Path, folder: Path) -> None:
    for block in blocks(page):
        named = re.match(r"file=(\S+)", block.info)
        if block.language == "python" and named:
            (folder / named[1]).write_text(block.body, encoding="utf-8")
        if block.language != "console":
            continue
        for command, expected in commands(block.body):
            assert shlex.split(command)[0] in ("shoal", "python", "cat", "head"), command
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=folder,
                env=environment(),
                capture_output=True,
                text=True,
                timeout=COMMAND_LIMIT_S,
                stdin=subprocess.DEVNULL,
            )
            assert done.returncode == expected, f"{page.name}:{block.line} $ {command}\n{done.stdout}{done.stderr}"


def test_readme_shows_the_file_that_runs() -> None:
    """The README's example is examples/digits_mlp.py: every line of it, in order."""
    shown = next(b for b in blocks(ROOT / "README.md") if b.language == "python")
    lines = iter((ROOT / "examples" / "digits_mlp.py").read_text(encoding="utf-8").splitlines())
    for line in shown.body.splitlines():
        if line.strip() in ("", "..."):
            continue
        assert any(line == real for real in lines), f"not in the example, or out of order: {line}"


def test_command_line_page_is_up_to_date() -> None:
    """`make docs` writes it; an undocumented command or option fails here."""
    from shoal.service.cli.reference import reference

    assert (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8") == reference()


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    names = {page.name for page in ROOT.glob("docs/*.md")} - {"README.md"}
    assert {name for name in names if f"({name})" not in index} == set()


def test_links_between_pages_lead_somewhere() -> None:
    broken = []
    for page in [*PAGES, ROOT / "ARCHITECTURE.md", ROOT / "CHANGELOG.md"]:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[\w-]+)?\)", page.read_text(encoding="utf-8")):
            if "://" not in target and not (page.parent / target).exists():
                broken.append(f"{page.name}: {target}")
    assert broken == []


def test_fields_of_json_output_are_documented() -> None:
    """The keys that programs rely on are those that the page lists."""
    from shoal.service.cli.study_json import STUDY_FIELDS

    needed = {"state", "trials", "best", "objective", "epochs_trained", "gpu_seconds"}
    assert needed <= set(STUDY_FIELDS)
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    assert all(f"`{key}`" in page for key in STUDY_FIELDS)
