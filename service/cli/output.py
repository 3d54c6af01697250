"""Data on stdout: a table for people, JSON or CSV for programs."""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, TextIO, cast

from ...errors import SpecError
from ...search.spec import Json

Format = Literal["table", "json", "csv"]

UNCUT = 100_000
"""Width in characters where stdout is no terminal: nothing is cut for a reader that is a program or a file."""


def write_rows(
    rows: Sequence[Mapping[str, Json]], form: Format, *, columns: Sequence[str] = (), stream: TextIO | None = None
) -> None:
    """Write a list of like records.

    Args:
        columns: what a table shows, in order (empty: every key of the first row). JSON and CSV hold every key.
    """
    stream = stream or sys.stdout
    if form == "json":
        write_json(list(rows), stream)
    elif form == "csv":
        write_csv(rows, stream)
    else:
        _write_table(rows, columns or tuple(rows[0] if rows else ()), stream)


def write_record(record: Mapping[str, Json], form: Format, stream: TextIO | None = None) -> None:
    """Write one record: as JSON, as a CSV of one row, or a line per key, nested keys joined by a dot."""
    if form == "json":
        write_json(record, stream)
    elif form == "csv":
        write_csv([record], stream or sys.stdout)
    else:
        rows = [{"": key, " ": _cell(value)} for key, value in flattened(record)]
        _write_table(rows, ("", " "), stream or sys.stdout)


def flattened(record: Mapping[str, Json], prefix: str = "") -> Iterator[tuple[str, Json]]:
    """(key, value) of everything inside, for lines of text.

    >>> list(flattened({"best": {"number": 3, "config": {"lr": 0.1}}, "samples": [{"lr": 1}, {"lr": 2}]}))
    [('best.number', 3), ('best.config.lr', 0.1), ('samples[0]', {'lr': 1}), ('samples[1]', {'lr': 2})]
    """
    for key, value in record.items():
        if isinstance(value, Mapping) and value:
            yield from flattened(value, f"{prefix}{key}.")
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            yield from ((f"{prefix}{key}[{i}]", item) for i, item in enumerate(value))
        else:
            yield f"{prefix}{key}", value


def write_json(value: Json, stream: TextIO | None = None) -> None:
    """Strict JSON: a number that is not finite becomes its name as a text."""
    print(json.dumps(strict(value), indent=2, ensure_ascii=False, allow_nan=False), file=stream or sys.stdout)


def write_csv(rows: Sequence[Mapping[str, Json]], stream: TextIO) -> None:
    """A header and a line per row; columns are the union of the rows' keys, in order of first appearance."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    writer = csv.DictWriter(stream, columns, restval="", lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: json.dumps(v) if isinstance(v, list | dict) else v for key, v in row.items()})


def strict(value: Json) -> Json:
    """`value` without anything that JSON cannot say.

    >>> strict({"a": float("nan"), "b": [1, float("-inf")], "c": (2,)})
    {'a': 'nan', 'b': [1, '-inf'], 'c': [2]}
    """
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): strict(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [strict(inner) for inner in value]
    return value


def as_format(text: str) -> Format:
    """Check `-o`.

    Raises:
        SpecError: an unknown format.
    """
    if text not in ("table", "json", "csv"):
        raise SpecError(f"output format {text!r} is unknown.", "Use -o table, -o json or -o csv.")
    return cast(Format, text)


def _write_table(rows: Sequence[Mapping[str, Json]], columns: Sequence[str], stream: TextIO) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=stream, width=None if stream.isatty() else UNCUT)
    table = Table(box=None, pad_edge=False, show_header=any(c.strip() for c in columns), header_style="bold")
    for column in columns:
        numeric = bool(rows) and all(isinstance(r.get(column), int | float | None) for r in rows)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(_cell(row.get(column))) for column in columns))
    if not columns:
        return
    with console.capture() as drawn:
        console.print(table)
    for line in drawn.get().splitlines():
        print(line.rstrip(), file=stream)


def _cell(value: Json) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4g}"
    return value if isinstance(value, str) else json.dumps(strict(value), ensure_ascii=False)
