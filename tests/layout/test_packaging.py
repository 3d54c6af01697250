"""The repository root is the package: what ships, under which names, and what an import may load."""

import json
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT_FILES = {"__init__.py", "__main__.py", "errors.py"}
PARTS = ("dashboards", "scheduler", "search", "service", "spaces", "trial_runner")
HEAVY = ("torch", "ray", "optuna", "sklearn", "scipy", "pandas")


def declared_packages(root: Path) -> list[str]:
    return tomllib.loads((root / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]


def packages_on_disk(root: Path) -> list[str]:
    found = ["shoal"]
    for part in PARTS:
        folders = [p.parent for p in (root / part).rglob("__init__.py")]
        found += [".".join(("shoal", *folder.relative_to(root).parts)) for folder in folders]
    return sorted(found)


def test_every_package_is_declared(root: Path) -> None:
    """A sub-package missing from the list works when editable and is missing from the wheel."""
    assert sorted(declared_packages(root)) == packages_on_disk(root)


def test_no_folder_with_modules_lacks_its_init(root: Path) -> None:
    for part in PARTS:
        for module in (root / part).rglob("*.py"):
            assert (module.parent / "__init__.py").is_file(), module


def test_root_modules(root: Path) -> None:
    """Every root *.py ships in the wheel."""
    assert {p.name for p in root.glob("*.py")} == ROOT_FILES


def clean_copy(root: Path, to: Path) -> Path:
    """The sources alone: no build folder whose leftovers could come back, no link cycles."""
    to.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "py.typed", *ROOT_FILES):
        shutil.copy(root / name, to / name)
    for part in (*PARTS, "tests", "examples", "benchmarks"):
        shutil.copytree(root / part, to / part, ignore=shutil.ignore_patterns("__pycache__", ".hypothesis"))
    return to


def test_wheel_holds_the_package_and_nothing_else(root: Path, tmp_path: Path) -> None:
    source = clean_copy(root, tmp_path / "a folder-1")
    build = "import sys; from setuptools import build_meta; print(build_meta.build_wheel(sys.argv[1]))"
    command = [sys.executable, "-c", build, str(tmp_path)]
    subprocess.run(command, cwd=source, check=True, capture_output=True, timeout=240)
    (wheel,) = tmp_path.glob("shoal-*.whl")
    names = [n for n in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in n]
    assert all(name.startswith("shoal/") for name in names)
    top = {name.split("/")[1] for name in names}
    assert top == ROOT_FILES | set(PARTS) | {"py.typed"}
    expected = {f"shoal/{p.relative_to(root)}" for part in PARTS for p in (root / part).rglob("*.py")}
    assert {n for n in names if n.count("/") > 1 and n.endswith(".py")} == expected


DESCRIBE = "from shoal.search.strategies import describe, names; [describe(name) for name in names()]"
FOLD_PRUNED = """
from shoal.search.early_stopping import describe, make_rule, names
from shoal.search.spec import Chosen, Objective
[describe(name) for name in names()]
rule = make_rule(Chosen(name="optuna:hyperband"), Objective(metric="a", direction="maximize"))
rule.observe(0, 1, 0.5)
"""
RUN_HELP = "import shoal.service.cli\nwith contextlib.redirect_stdout(io.StringIO()): shoal.service.cli.run(['--help'])"

LOADED = """
import contextlib, io, json, sys
sys.argv = ["shoal"]
{statement}
print(json.dumps([name for name in {heavy!r} if name in sys.modules]), file=sys.__stdout__)
"""


@pytest.mark.parametrize(
    "statement",
    [
        "import shoal",
        "import shoal; shoal.Study; shoal.ASHA; shoal.Command",
        "import shoal.spaces",
        "import shoal.search",
        "import shoal.service.cli",
        DESCRIBE,
        FOLD_PRUNED,
        RUN_HELP,
    ],
)
def test_import_is_light(statement: str) -> None:
    """Neither torch nor ray nor optuna nor scikit-learn is loaded before it is needed."""
    program = LOADED.format(statement=statement, heavy=HEAVY)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert json.loads(done.stdout) == []


def test_making_a_study_is_cheap_and_loads_nothing_heavy(tmp_path: Path) -> None:
    """Workers import the file that makes it."""
    file = tmp_path / "mine.py"
    file.write_text(
        "import sys, shoal\n"
        "from shoal.spaces import Float, Space\n"
        "def objective(config): return 0.0\n"
        "study = shoal.Study(space=Space(x=Float(0, 1)), train=objective, maximize='y', strategy='tpe',\n"
        "                    early_stopping=shoal.ASHA(max_epochs=9))\n"
        "heavy = {'torch', 'ray', 'optuna', 'sklearn', 'sqlalchemy', 'scipy'} & set(sys.modules)\n"
        "print(sorted(heavy))\n"
    )
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "[]\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.py"]


def test_help_does_not_open_the_database_library() -> None:
    program = LOADED.format(statement=RUN_HELP, heavy=("sqlalchemy", "numpy"))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert json.loads(done.stdout) == []


def test_module_and_console_script_are_one_program(root: Path) -> None:
    script = Path(sys.executable).with_name("shoal")
    both = [[sys.executable, "-m", "shoal", "--version"], [str(script), "--version"]]
    said = [subprocess.run(words, capture_output=True, text=True, check=True, timeout=60).stdout for words in both]
    version = tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]
    assert said == [f"shoal {version}\n"] * 2


def test_every_direct_dependency_is_pinned(root: Path) -> None:
    """`make` installs with constraints.txt: what is not pinned there may differ from what was tested."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    wanted = project["dependencies"] + [d for extra in project["optional-dependencies"].values() for d in extra]
    names = {d.split(">")[0].split("[")[0].lower() for d in wanted}
    lines = (root / "constraints.txt").read_text().splitlines()
    pinned = {line.split("==")[0].lower() for line in lines if "==" in line}
    assert names <= pinned
