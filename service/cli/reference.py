"""`python -m shoal.service.cli.reference [FILE]`: docs/command-line.md, made from the commands themselves.

A test fails when the file on disk is not what this writes.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import typer

from shoal.service.cli.app import application
from shoal.service.cli.exits import MEANINGS
from shoal.service.cli.overrides import FIELDS
from shoal.service.cli.settings import DEFAULTS, WITHOUT_FLAG, variable
from shoal.service.cli.study_json import STUDY_FIELDS, TRIAL_FIELDS

Node = Any  # a click object: typer keeps its copy of click private

INTRODUCTION = """# Command line

<!-- Written by `make docs` from the program itself; a test compares the two. Change the commands, not this file. -->

`shoal COMMAND --help` prints the same. Data goes to stdout, progress and messages to stderr. A trial is named
`STUDY#7`, `STUDY/7` or `STUDY 7`. Every command that takes `-o` prints a table, JSON or CSV. An error is one line of
cause and one of remedy; `--debug`, allowed anywhere, shows the traceback too.

All commands but `run` act on the journal in the data directory, so they work while a run is going on in another
terminal, and after it. `pause`, `resume`, `stop`, `kill` and `enqueue` reach a running `shoal run` within a tenth of a
second, wait for its answer and print the effect. `note` and `tag` do so too, and need no run.
"""


def reference() -> str:
    """The page as markdown."""
    commands = typer.main.get_command(application()).commands  # type: ignore[attr-defined]
    parts = [INTRODUCTION, _exit_codes(), _settings()]
    for name, command in commands.items():
        parts.append(_command(name, command))
        inner = getattr(command, "commands", {})  # of a group, as `shoal pool`
        parts += [_command(f"{name} {word}", inside) for word, inside in inner.items()]
    parts += [
        _fields("Fields of a study", "`shoal show STUDY -o json` prints one object with these keys.", STUDY_FIELDS),
        _fields("Fields of a trial", "`shoal trials STUDY -o json` prints a list of objects with these.", TRIAL_FIELDS),
    ]
    return "\n".join(parts)


def _exit_codes() -> str:
    rows = "\n".join(f"| {int(code)} | {meaning} |" for code, meaning in MEANINGS.items())
    return f"## Exit codes\n\n| code | meaning |\n|---|---|\n{rows}\n"


def _settings() -> str:
    rows = "\n".join(
        f"| `{name}` | `{variable(name)}` | {_flag(name)} | {shown(default)} |"
        for name, default in DEFAULTS.items()
    )
    return (
        "## Settings\n\nFlag over environment over `./shoal.toml` over `~/.config/shoal/config.toml` over default;\n"
        "`shoal show STUDY --origin` says which one decided.\n\n"
        f"| in shoal.toml | environment | flag | default |\n|---|---|---|---|\n{rows}\n"
    )


def _flag(name: str) -> str:
    return "none" if name in WITHOUT_FLAG else f"`--{name.replace('_', '-')}`"


def shown(default: object) -> str:
    """A default as the page writes it."""
    return "none" if default in (None, "") else f"`{str(default).lower()}`"


def _command(name: str, command: Node) -> str:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option"]
    usage = " ".join(["shoal", name, *(_metavar(a) for a in arguments), *(["[OPTIONS]"] if options else [])])
    lines = [f"## shoal {name}", "", command.help or "", "", "```text", usage, "```", ""]
    described = [(f"`{_metavar(a)}`", a.help or "") for a in arguments]
    described += [(", ".join(f"`{flag}`" for flag in o.opts), o.help or "") for o in options]
    if described:
        lines += ["| | |", "|---|---|", *(f"| {left} | {right} |" for left, right in described), ""]
    if name == "run":
        lines += ["`--set` takes these names, and the options of the strategy and of the stopping rule as", ""]
        lines[-2] += " `strategy.OPTION`, `early_stopping.OPTION`:"
        lines += [", ".join(f"`{field}`" for field in FIELDS) + ".", ""]
    return "\n".join(lines)


def _metavar(argument: Node) -> str:
    return str(argument.metavar or argument.name.upper())


def _fields(title: str, text: str, fields: dict[str, str]) -> str:
    rows = "\n".join(f"| `{name}` | {meaning} |" for name, meaning in fields.items())
    return f"## {title}\n\n{text}\n\n| key | meaning |\n|---|---|\n{rows}\n"


def main(arguments: list[str]) -> None:
    """Write the page to the named file, or to stdout."""
    if arguments:
        Path(arguments[0]).write_text(reference(), encoding="utf-8")
    else:
        print(reference(), end="")


if __name__ == "__main__":
    main(sys.argv[1:])
