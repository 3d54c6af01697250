"""Options and arguments that several commands share, and how commands read them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .output import Format, as_format
from .settings import Settings


def complete_study(incomplete: str) -> list[str]:
    """Study names of the data directory, for shell completion; nothing when there is no journal."""
    from ...errors import ShoalError
    from .journal_reading import open_reader

    try:
        with open_reader(data_directory(None)) as reader:
            return [name for name in reader.studies() if name.startswith(incomplete)]
    except ShoalError:
        return []


DataFlag = Annotated[
    Path | None,
    typer.Option("--data", help="Data directory: journal, logs, checkpoints. [SHOAL_DATA; default: .shoal]"),
]
OutputFlag = Annotated[
    str | None, typer.Option("-o", "--output", help="table, json or csv. [SHOAL_OUTPUT; default: table]")
]
PlainFlag = Annotated[
    bool | None,
    typer.Option("--plain", help="One line per event instead of a live screen. [SHOAL_PLAIN]"),
]
RayFlag = Annotated[
    str | None,
    typer.Option(
        "--ray", metavar="ADDRESS|start",
        help="Run trials on the nodes of a Ray cluster; start: one of this machine, for itself. [SHOAL_RAY]",
    ),
]
StoreFlag = Annotated[
    str | None,
    typer.Option(
        "--store", metavar="URL",
        help="With --ray: storage that all nodes share, e.g. s3://bucket/shoal; default: --data. [SHOAL_STORE]",
    ),
]
StudyName = Annotated[str, typer.Argument(metavar="STUDY", help="Name of the study.", autocompletion=complete_study)]
TrialName = Annotated[
    str,
    typer.Argument(metavar="STUDY#7", help="A trial: STUDY#7, STUDY/7 or STUDY 7.", autocompletion=complete_study),
]
StudyOrTrial = Annotated[
    str,
    typer.Argument(
        metavar="STUDY[#7]", help="A study, or one trial: STUDY#7, STUDY/7, STUDY 7.", autocompletion=complete_study
    ),
]
NumberWord = Annotated[int | None, typer.Argument(metavar="[7]", help="The trial, as a word of its own.", min=0)]


def data_directory(flag: Path | None) -> Path:
    """The data directory after flag, environment and configuration files."""
    return Path(str(Settings.read().resolve("data", None if flag is None else str(flag)).value))


def output_format(flag: str | None) -> Format:
    """The output format after flag, environment and configuration files."""
    return as_format(str(Settings.read().resolve("output", flag).value))


def plain_lines(flag: bool | None) -> bool:
    """Whether lines were asked for instead of the live screen."""
    return bool(Settings.read().resolve("plain", flag).value)
