"""What the fork server imports, and whether what came of it can be forked.

A worker forked from a process that has imported everything starts in milliseconds; one that imports torch itself
takes seconds. Imports are all that is done here: no tensor operation, no CUDA call. Forking copies only the thread
that forks, so user modules that start threads or devices while being imported would leave their children with
locks nobody releases. Such a study gets fresh interpreters instead, and is told so.
"""

from __future__ import annotations

import ast
import gc
import importlib
import importlib.util
import os
import signal
import sys
import threading
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

from .entry import load_function, space_of
from .failures import with_place
from .study_setup import PICKLED, StudySetup

HEAVY = frozenset({"numpy", "pandas", "scipy", "sklearn", "torch", "torchvision"})
"""Packages that are imported for a project that imports them inside its functions only. Known to start no thread
when imported under OMP_NUM_THREADS=1; frameworks that start some (tensorflow, jax) are left to the workers."""

SMOKE_TEST_S = 5.0
"""How long the first child may take for a small threaded computation. Alone it takes 0.1 s; one that inherited a broken
thread pool never ends. Longer would only delay the fallback."""

FORKED = "fork server"


@dataclass(frozen=True, slots=True, kw_only=True)
class Preloaded:
    """`ok`: the code can be imported; `fork`: workers can be forked from here; `note`: for the person."""

    ok: bool
    fork: bool
    note: str


def use_code(setup: StudySetup) -> None:
    """Put the study's own code first on the import path."""
    if setup.code_dir:
        sys.path.insert(0, setup.code_dir)


def preload(setup: StudySetup) -> Preloaded:
    """Import the study's module and what it will need; the traceback of a failure goes to standard error."""
    kind, module = setup.entry["kind"], setup.entry["module"]
    use_code(setup)
    try:
        _import_own(kind)
        if setup.space is not None:
            space_of(setup.study_dir)
        if module == PICKLED:
            load_function(module, setup.entry["function"], setup.code_dir)
        elif kind != "command":
            importlib.import_module(module)
        for name in sorted(_heavy_imports(setup.code_dir)):
            importlib.import_module(name)
        if "numpy" in sys.modules:
            importlib.import_module("numpy.random")  # comes lazily, and every worker seeds it: 10 ms a trial
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a user's module may raise anything, SystemExit included
        traceback.print_exc()
        cause = with_place(error, setup.code_dir)
        return Preloaded(ok=False, fork=False, note=f"module {module!r} cannot be imported: {cause}")
    why_not = _unforkable() or _smoke_test()
    if why_not:
        return Preloaded(ok=True, fork=False, note=f"a fresh interpreter for every worker, since {why_not}")
    gc.collect()
    gc.freeze()  # keeps the collector from touching, and so copying, every page in every child
    return Preloaded(ok=True, fork=True, note=FORKED)


def _import_own(kind: str) -> None:
    """The parts of shoal that a worker of this kind uses."""
    if kind == "command":
        from . import command_run  # noqa: F401
    elif kind == "trial":
        from . import trial  # noqa: F401
    elif kind == "optuna":
        from . import optuna_trial  # noqa: F401


def _heavy_imports(code_dir: str) -> set[str]:
    """Modules of `HEAVY` packages that the project's loaded files import anywhere, inside functions too."""
    found: set[str] = set()
    if not code_dir:
        return found
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and file.endswith(".py") and file.startswith(code_dir + os.sep):
            found |= _imported_names(Path(file).read_text(encoding="utf-8", errors="replace"))
    names = {name for name in found if name.partition(".")[0] in HEAVY and importable(name)}
    if "torch" in names and any(name.startswith("torch.optim") for name in found):
        # The first optimizer of a process otherwise pays for this import: 1.2 to 1.4 CPU-seconds in every trial.
        names.add("torch._dynamo")
    return names


def _imported_names(source: str) -> set[str]:
    """Dotted names that a source imports; `torch.optim` also where it is only used as an attribute.

    >>> sorted(_imported_names("def f():\\n from sklearn.svm import SVC\\n import torch\\n torch.optim.SGD"))
    ['sklearn.svm', 'torch', 'torch.optim']
    """
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
            names |= {"torch.optim"} & {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            names |= {"torch.optim"} & {f"{node.value.id}.{node.attr}"}
    return names


def importable(name: str) -> bool:
    """Is there such a module? A missing one is the function's own problem, when it gets there."""
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _unforkable() -> str:
    """Why this process must not be forked, or nothing."""
    threads = [thread.name for thread in threading.enumerate() if thread is not threading.main_thread()]
    if threads:
        return f"importing the code started threads ({', '.join(threads[:3])})"
    tasks = Path("/proc/self/task")
    if tasks.exists() and len(list(tasks.iterdir())) > 1:
        return "importing the code started native threads"
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        return "importing the code initialised CUDA"
    return ""


def _smoke_test() -> str:
    """Does a child compute with threads? Why not, or nothing.

    Imports that computed something leave a thread pool behind that a child only believes to have: its first parallel
    loop then waits for ever.
    """
    child = os.fork()
    if child == 0:
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            status = _compute_with_threads()
        finally:
            os._exit(status)
    deadline = time.monotonic() + SMOKE_TEST_S
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            if code == CUDA_TOUCHED:
                return "importing the code touched CUDA"
            return "" if code == 0 else f"a forked child failed in a small computation (exit status {code})"
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return (
        f"a forked child hung in a small computation ({SMOKE_TEST_S:g} s): a module computes while it is imported; "
        "move that into a function"
    )


CUDA_TOUCHED = 3


def _compute_with_threads() -> int:
    if "torch" in sys.modules:
        import torch

        if torch.cuda._is_in_bad_fork():
            return CUDA_TOUCHED
        torch.set_num_threads(2)
        weights = torch.ones(192, 192, requires_grad=True)
        (weights @ weights).sum().backward()  # type: ignore[no-untyped-call]
    if "numpy" in sys.modules:
        import numpy

        numpy.ones((192, 192)) @ numpy.ones((192, 192))
    if "sklearn" in sys.modules:
        from sklearn.metrics.pairwise import pairwise_distances_argmin

        pairwise_distances_argmin([[0.0, 1.0]] * 600, [[0.0, 1.0]] * 600)
    return 0
