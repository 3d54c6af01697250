"""`shoal run`: run the studies of one or more files here, follow them, sum up."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...errors import SpecError
from .dashboard import beside
from .exits import Exit
from .options import (
    DataFlag,
    OutputFlag,
    PlainFlag,
    RayFlag,
    StoreFlag,
    data_directory,
    output_format,
    plain_lines,
)
from .output import Format, write_json, write_record, write_rows
from .overrides import overridden, read_changes
from .settings import Settings

if TYPE_CHECKING:
    from ...search.spec import Json
    from ..places import Place
    from ..study import Study


def run(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Python files that define a shoal.Study each.")
    ],
    data: DataFlag = None,
    trials: Annotated[int | None, typer.Option("--trials", help="Budget of trials.")] = None,
    name: Annotated[str | None, typer.Option("--name", help="Name of the study; default: the file's.")] = None,
    new: Annotated[bool, typer.Option("--new", help="Start afresh under a free name (digits-2, ...).")] = False,
    logical_gpus: Annotated[
        int | None, typer.Option("--logical-gpus", help="Pretend to have N GPUs. [SHOAL_LOGICAL_GPUS]", min=1)
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="The study's seed.")] = None,
    strategy: Annotated[
        str | None, typer.Option("--strategy", help="Strategy by name; `shoal strategies` lists them.")
    ] = None,
    like: Annotated[
        str | None,
        typer.Option("--like", metavar="STUDY", help="Begin with the results of another study of this data directory."),
    ] = None,
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Any other setting of Study(...); may be repeated."),
    ] = None,
    ray: RayFlag = None,
    store: StoreFlag = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would run, and run nothing.")] = False,
    with_dashboard: Annotated[
        bool, typer.Option("--dashboard", help="Show the run in a browser: prints an address; ends with the run.")
    ] = False,
    record_decisions: Annotated[
        Path | None,
        typer.Option("--record-decisions", metavar="FILE", help="Write every decision of the scheduler to a new file."),
    ] = None,
    plain: PlainFlag = None,
    output: OutputFlag = None,
) -> int:
    """Run studies to their end. One that exists is resumed, or extended when its budget has grown."""
    directory, form = data_directory(data), output_format(output)
    given = {"trials": trials, "name": name, "seed": seed, "strategy": strategy}
    changes = read_changes(sets or []) | {key: value for key, value in given.items() if value is not None}
    studies = gathered(files, changes, like=like)
    if new:
        taken = _names_in(directory)
        studies = [_renamed(study, free_name(study.name, taken)) for study in studies]
    if dry_run:
        _preview(studies, form)
        return Exit.OK
    gpus = Settings.read().resolve("logical_gpus", logical_gpus).value
    with beside(directory) if with_dashboard else nullcontext():
        from ..running import place_of

        address = str(Settings.read().resolve("ray", ray).value)
        url = str(Settings.read().resolve("store", store).value) if address else store or ""
        pretended = None if gpus is None else int(gpus)
        where = place_of(studies, directory, logical_gpus=pretended, ray=address, store=url)
        return _run(studies, directory, where, record_decisions, plain=plain_lines(plain), form=form)


def gathered(files: list[Path], changes: dict[str, Json], *, like: str | None = None) -> list[Study]:
    """The studies of all files with the command line's changes, and the study they borrow from.

    Raises:
        ShoalError: a file, a change or a study is not valid, or two studies have one name.
    """
    from .study_file import load_studies

    studies = []
    for file in files:
        for study in load_studies(file):
            studies.append(study.adapted(overridden(study.spec(), changes), file=file, like=like))
    names = [study.name for study in studies]
    double = next((n for n in names if names.count(n) > 1), None)
    if double is not None:
        raise SpecError(f"two studies are called {double!r}.", "Give each its name: shoal.Study(name=..., ...).")
    return studies


def free_name(name: str, taken: list[str]) -> str:
    """`name`, or with the first number behind it that no study has.

    >>> free_name("digits", ["digits", "digits-2"])
    'digits-3'
    """
    n = 1
    candidate = name
    while candidate in taken:
        n += 1
        candidate = f"{name}-{n}"
    return candidate


def _renamed(study: Study, name: str) -> Study:
    return study.adapted(replace(study.spec(), name=name))


def _names_in(directory: Path) -> list[str]:
    from ..journal_place import has_journal
    from .journal_reading import open_reader

    if not has_journal(directory):
        return []
    with open_reader(directory) as reader:
        return list(reader.studies())


def _preview(studies: list[Study], form: Format) -> None:
    from .checking import described

    reports = [described(study.spec()) for study in studies]
    if form == "json":
        write_json(reports)
        return
    for report in reports:
        write_record(report, form)


def _run(
    studies: list[Study], directory: Path, place: Place, decisions: Path | None, *, plain: bool, form: Format
) -> int:
    from rich.console import Console

    from ...dashboards.terminal.live import follower
    from ...dashboards.terminal.summary import summary
    from ..running import run_studies
    from .journal_reading import open_reader
    from .study_json import study_json

    console = Console(stderr=True)
    names = [study.name for study in studies]

    def notice(text: str) -> None:
        console.print(text, markup=False, highlight=False, soft_wrap=True)

    try:
        with follower(console, plain_lines=plain) as follow:
            results = run_studies(
                studies, data=directory, place=place, observers=(follow,), notice=notice, decisions=decisions
            )
    except KeyboardInterrupt:
        print(f"{', '.join(names)}: kept in {directory}; the same command goes on with it", file=sys.stderr)
        return Exit.INTERRUPTED
    with open_reader(directory) as reader:
        states = [reader.state(name) for name in names]
    if form == "table":
        print("\n\n".join(summary(state, directory) for state in states))
    else:
        write_rows([study_json(state) for state in states], form)
    return max((result.exit_code for result in results), default=Exit.OK)
