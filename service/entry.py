"""How the user's `train` is called, told from its signature.

| `train` | `space` | kind |
|---|---|---|
| `train(trial)` | declared | "trial" |
| `objective(config)` (or its parameter is annotated as a mapping) | declared | "objective" |
| `objective(trial)` | none: define by run | "optuna" |
| `shoal.Command("...")` | declared | "command" |

`Study(kind=...)` settles what a signature leaves open.
"""

from __future__ import annotations

import difflib
import inspect
import string
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from ..errors import SpecError
from ..search.spec import EntryKind, EntryPoint
from ..spaces import Space

PICKLED = "__pickled__"
KINDS: tuple[EntryKind, ...] = get_args(EntryKind)
MAPPINGS = ("Mapping", "dict", "Dict", "Configuration")
COMMAND_FIELDS = ("trial", "checkpoint_dir", "seed")

Train = Callable[..., Any]  # the user's function: its result is checked where it is called, in the worker


@dataclass(frozen=True, slots=True)
class Command:
    """A training program in any language.

    `{lr}`, `{optimizer.momentum}`, ... are replaced by the configuration's values, quoted for the shell;
    `{trial}`, `{seed}` and `{checkpoint_dir}` by the trial's own. Metrics are read from the program's
    standard output: one JSON object a line, or `name=value` pairs.

    >>> Command("python train.py --lr {lr} --seed {seed}").fields()
    ['lr', 'seed']
    """

    template: str

    def __post_init__(self) -> None:
        if not self.template.strip():
            raise SpecError("Command('') has no program.", "Use e.g. shoal.Command('python train.py --lr {lr}').")
        self.fields()

    def fields(self) -> list[str]:
        """The placeholders, in order.

        Raises:
            SpecError: a brace is not closed, or a placeholder is empty.
        """
        try:
            names = [name for _, name, _, _ in string.Formatter().parse(self.template) if name is not None]
        except ValueError as error:
            raise SpecError(
                f"Command({self.template!r}): {error}.", "Write {{ and }} for braces that are not placeholders."
            ) from error
        if "" in names:
            raise SpecError(f"Command({self.template!r}) has an empty {{}}.", "Name the parameter: {lr}.")
        return names


def entry_point(train: Train | Command, space: Space | None, kind: EntryKind | None) -> EntryPoint:
    """What a worker will run for this `train`.

    Raises:
        SpecError: the kind cannot be told, or it does not go with the space.
    """
    if isinstance(train, Command):
        if kind not in (None, "command"):
            raise SpecError(f"kind={kind!r} does not go with a Command.", "Leave kind out.")
        if space is None:
            raise SpecError("a Command needs a space.", "Set space=Space(...).")
        _check_fields(train, space)
        return EntryPoint(kind="command", command=train.template)
    if not callable(train):
        raise SpecError(
            f"train={train!r} is a {type(train).__name__}, not a function.",
            "Give a function of one argument, or shoal.Command('...').",
        )
    found = kind or _kind_of(train, space)
    _check_kind(found, space, train)
    module, function = address_of(train)
    return EntryPoint(kind=found, module=module, function=function)


def address_of(train: Train) -> tuple[str, str]:
    """(module, name) under which a worker can import `train`; ("__pickled__", name) when it cannot.

    Functions of a script that runs as `__main__`, of a notebook, lambdas and closures have no importable
    name.
    """
    name = getattr(train, "__qualname__", type(train).__name__)
    module = getattr(train, "__module__", None) or ""
    found: object = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    importable = found is train and module != "__main__"
    return (module if importable else PICKLED), name


def source_file(train: Train | Command) -> Path | None:
    """The file whose folder is the project: where `train` is written, or the running script; None in a notebook."""
    names = ("__main__",) if isinstance(train, Command) else (getattr(train, "__module__", None) or "", "__main__")
    for name in names:
        file = getattr(sys.modules.get(name), "__file__", None)
        if file and Path(file).suffix == ".py" and not _is_installed(Path(file)):
            return Path(file).resolve()
    return None


def _is_installed(file: Path) -> bool:
    """Does the file belong to an installed package or the command line, and to no project?"""
    return bool({"site-packages", "dist-packages"} & set(file.parts)) or file.name == "__main__.py"


def _kind_of(train: Train, space: Space | None) -> EntryKind:
    parameter = _only_parameter(train)
    annotation = _annotation_text(parameter)
    if "optuna" in annotation.lower():
        return "optuna"
    if annotation.rpartition(".")[2].startswith("Trial"):
        return "trial" if space is not None or "shoal" in annotation else "optuna"
    if parameter.name in ("config", "configuration", "params", "parameters"):
        return "objective"
    if annotation.rpartition(".")[2].startswith(MAPPINGS) or annotation.startswith(MAPPINGS):
        return "objective"
    if parameter.name == "trial":
        return "trial" if space is not None else "optuna"
    raise SpecError(
        f"{_name(train)}({parameter.name}): it is not clear how to call it.",
        "Name the parameter `trial` or `config`, or set kind='trial', 'objective' or 'optuna'.",
    )


def _only_parameter(train: Train) -> inspect.Parameter:
    try:
        parameters = list(inspect.signature(train).parameters.values())
    except (TypeError, ValueError) as error:
        raise SpecError(f"{train!r} has no readable signature.", "Wrap it: def train(trial): ...") from error
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = [p for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if not positional or len(required) > 1 or (required and required[0] is not positional[0]):
        wanted = ", ".join(p.name for p in parameters)
        raise SpecError(
            f"{_name(train)}({wanted}) does not take exactly one argument.",
            "Use def train(trial), def objective(config), or bind the others with functools.partial.",
        )
    return positional[0]


def _annotation_text(parameter: inspect.Parameter) -> str:
    annotation = parameter.annotation
    if annotation is inspect.Parameter.empty:
        return ""
    if isinstance(annotation, str):
        return annotation
    module = getattr(annotation, "__module__", "")
    return f"{module}.{getattr(annotation, '__name__', annotation)}"


def _check_kind(kind: EntryKind, space: Space | None, train: Train) -> None:
    if kind not in KINDS or kind == "command":
        raise SpecError(f"kind={kind!r} is unknown.", "Use 'trial', 'objective' or 'optuna'.")
    if kind == "optuna" and space is not None:
        raise SpecError(
            f"{_name(train)} asks for its own values (suggest_*), and a space is declared too.",
            "Leave space out, or read trial.config instead.",
        )
    if kind != "optuna" and space is None:
        raise SpecError(
            f"the study has no space, and {_name(train)} does not ask for its values itself.",
            "Set space=Space(lr=Float(1e-4, 1e-1, log=True), ...).",
        )


def _check_fields(command: Command, space: Space) -> None:
    known = {decision.path for decision in space.all_decisions()} | set(space.nodes) | set(COMMAND_FIELDS)
    for name in command.fields():
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"Did you mean {{{close[0]}}}?" if close else f"Known: {', '.join(sorted(known))}."
            raise SpecError(f"Command: {{{name}}} is not in the space.", hint)


def _name(train: Train) -> str:
    return str(getattr(train, "__name__", type(train).__name__))
