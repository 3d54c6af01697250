"""From a user's Python file to its studies.

`load_studies` imports the file here, as `shoal run` must; `specs_of` has another process do it and takes over plain
data only, for commands that just look (`shoal check`).
"""

from __future__ import annotations

import contextlib
import importlib
import json
import subprocess
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from ... import errors
from ...errors import CodeError, NotFound, ShoalError
from ...search.spec import Json, StudySpec

if TYPE_CHECKING:
    from ..study import Study

IMPORT_LIMIT_S = 120.0
"""A file whose import takes longer is taken to hang: many times what importing a large library cold needs."""


def load_studies(file: Path) -> list[Study]:
    """Import `file` and return the studies that it defines at its top level, in order.

    A study without a name takes the file's; with several, the variable's is added.

    Raises:
        NotFound: no such file.
        CodeError: not a Python file, it cannot be imported, or it defines no study.
        ShoalError: a study or space in it is not valid; the message starts with the line.
    """
    from ..study import Study, fit_name

    module = import_file(file)
    found: dict[int, tuple[str, Study]] = {}
    for variable, value in vars(module).items():
        if isinstance(value, Study):
            found.setdefault(id(value), (variable, value))
    if not found:
        raise CodeError(
            f"{file} defines no study.", "Put one at the top level: study = shoal.Study(space=..., train=..., ...)."
        )
    alone = len(found) == 1
    named = [(fit_name(file.stem if alone else f"{file.stem}-{variable}"), study) for variable, study in found.values()]
    return [study.adapted(study.spec(name=name), file=file) for name, study in named]


def import_file(file: Path) -> ModuleType:
    """Import a file under the module name that workers will use; what it prints goes to stderr.

    Raises:
        NotFound, CodeError, ShoalError: as `load_studies`.
    """
    from ...trial_runner.archive import module_of

    if not file.is_file():
        raise NotFound(f"there is no file {file}.", "shoal init writes a starter file.")
    if file.suffix != ".py":
        raise CodeError(f"{file} is not a Python file.", "Name a .py file that defines a shoal.Study.")
    root, name = module_of(file)
    taken = sys.modules.get(name)
    if taken is not None and Path(getattr(taken, "__file__", None) or "").resolve() != file.resolve():
        raise CodeError(f"{file} has the name of the module {name!r}.", "Rename the file.")
    sys.path.insert(0, str(root))
    try:
        with contextlib.redirect_stdout(sys.stderr):
            return importlib.import_module(name)
    except ShoalError as error:
        raise type(error)(f"{where(error, file)}: {error.cause}", error.remedy) from error
    except (Exception, SystemExit) as error:
        cause = f"{type(error).__name__}: {error}"
        raise CodeError(
            f"{where(error, file)} cannot be imported: {cause}.", f"See it with: python {file}, or add --debug."
        ) from error


def where(error: BaseException, file: Path) -> str:
    """`file:line` of the innermost frame of `file` in the error's traceback."""
    resolved = file.resolve()
    line: int | None = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else None
    for frame in traceback.extract_tb(error.__traceback__):
        if Path(frame.filename).resolve() == resolved:
            line = frame.lineno
    return str(file) if line is None else f"{file}:{line}"


def specs_of(file: Path, samples: int) -> list[tuple[StudySpec, list[Json]]]:
    """What `file` defines, as data: another process imports it.

    Returns:
        Each study's spec, and for each of `samples` sampled configurations the list of its architectures' costs.

    Raises:
        NotFound, CodeError, ShoalError: as `load_studies`.
    """
    try:
        child = subprocess.run(
            [sys.executable, "-P", "-m", "shoal.service.cli.spec_process", str(file), str(samples)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            timeout=IMPORT_LIMIT_S,
        )
    except subprocess.TimeoutExpired as error:
        raise CodeError(
            f"{file} was still being imported after {IMPORT_LIMIT_S:g} s.", "Move long work into the training function."
        ) from error
    try:
        reply = json.loads(child.stdout)
    except json.JSONDecodeError as error:
        raise CodeError(
            f"{file} ended the process that imported it (status {child.returncode}).", f"See it with: python {file}."
        ) from error
    if "error" in reply:
        told = reply["error"]
        kind: type[ShoalError] = getattr(errors, told["kind"], CodeError)
        raise kind(told["cause"], told["remedy"])
    return [(StudySpec.from_json(body["spec"]), body["networks"]) for body in reply["studies"]]
