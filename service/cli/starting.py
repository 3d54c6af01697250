"""Before a run: `init` writes a study file, `check` says what a file would run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ...errors import CodeError, SpecError
from .checking import SAMPLES, network_line
from .options import OutputFlag, output_format
from .output import write_json, write_record
from .starter import STARTER


def init(
    file: Annotated[Path, typer.Argument(metavar="[FILE]", help="The file to write.")] = Path("study.py"),
) -> None:
    """Write a small study file that runs as it is."""
    if file.suffix != ".py":
        raise SpecError(f"{str(file)!r} is no Python file name.", "Use a name that ends in .py, e.g. study.py.")
    try:
        with file.open("x", encoding="utf-8") as stream:
            stream.write(STARTER.format(name=file))
    except FileExistsError as error:
        raise CodeError(f"{file} exists already.", "Name another file, or remove this one.") from error
    except OSError as error:
        raise CodeError(f"{file} cannot be written: {error.strerror}.", "Name a file in a folder you own.") from error
    print(file)
    print(f"written; next: shoal check {file}, then shoal run {file}", file=sys.stderr)


def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A Python file that defines a shoal.Study.")],
    sample: Annotated[int, typer.Option("--sample", min=0, help="Configurations to draw.")] = SAMPLES,
    exact: Annotated[
        bool,
        typer.Option("--exact", help="Also train two epochs on 1 worker, on 2 and across a pause, and compare bits."),
    ] = False,
    output: OutputFlag = None,
) -> None:
    """Check a study file without running it. Prints space, size, samples, networks, resources, budget."""
    from .checking import described
    from .study_file import specs_of

    found = specs_of(file, sample)
    reports = [described(spec, sample, networks) for spec, networks in found]
    if exact:
        from .exact_check import exactness

        for report, (spec, _) in zip(reports, found, strict=True):
            report["exactness"] = exactness(spec, file)
    form = output_format(output)
    if form == "json":
        write_json(reports)
        return
    for index, report in enumerate(reports):
        if index:
            print()
        if "networks" in report:
            report["networks"] = {
                f"sample {index}": "; ".join(map(network_line, row)) for index, row in enumerate(report["networks"])
            }
        write_record(report, form)
