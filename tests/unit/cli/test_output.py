"""Tables, JSON and CSV."""

import csv
import io
import json

import pytest

from shoal.errors import SpecError
from shoal.service.cli.output import as_format, write_record, write_rows

ROWS = [
    {"number": 0, "value": 0.123456789, "config": {"lr": 0.1, "act": "[red]"}},
    {"number": 1, "value": float("nan"), "config": {"lr": float("inf")}},
    {"number": 2, "value": None, "config": {}, "extra": "x"},
]


def written(form: str, **more: object) -> str:
    stream = io.StringIO()
    write_rows(ROWS, form, stream=stream, **more)
    return stream.getvalue()


def test_json_is_strict() -> None:
    """T70: no NaN or Infinity token, which most readers refuse."""
    assert json.loads(written("json"), parse_constant=pytest.fail)[1] == {
        "number": 1,
        "value": "nan",
        "config": {"lr": "inf"},
    }


def test_csv_has_every_column() -> None:
    rows = list(csv.DictReader(io.StringIO(written("csv"))))
    assert list(rows[0]) == ["number", "value", "config", "extra"]
    assert rows[0]["value"] == "0.123456789" and rows[1]["value"] == "nan" and rows[2]["extra"] == "x"


def test_table_is_not_cut_and_not_marked_up() -> None:
    text = written("table", columns=("number", "value", "config"))
    assert "0.1235" in text and '{"lr": 0.1, "act": "[red]"}' in text and "extra" not in text
    assert all(line == line.rstrip() for line in text.splitlines())


def test_long_cells_stay_whole() -> None:
    """T42: a choice of two thousand characters arrives whole where stdout is a file or a pipe."""
    stream = io.StringIO()
    write_rows([{"name": "x" * 2000}], "table", stream=stream)
    assert "x" * 2000 in stream.getvalue()


def test_nothing() -> None:
    stream = io.StringIO()
    write_rows([], "table", stream=stream)
    assert stream.getvalue() == ""
    write_rows([], "json", stream=stream)
    assert json.loads(stream.getvalue()) == []


@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_record(form: str) -> None:
    stream = io.StringIO()
    write_record({"state": "completed", "best": {"value": 1.5}}, form, stream)
    assert "completed" in stream.getvalue() and "1.5" in stream.getvalue()


def test_unknown_format() -> None:
    with pytest.raises(SpecError, match="-o table, -o json or -o csv"):
        as_format("yaml")
