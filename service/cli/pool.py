"""`shoal pool`: what the running pool consists of, who holds what of it, who waits and why."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import TYPE_CHECKING

from ...errors import NotFound
from .options import DataFlag, OutputFlag, data_directory, output_format
from .output import write_json, write_rows

if TYPE_CHECKING:
    from ...search.spec import Json

SHOWN_QUEUE = 20
"""Rows of the queue in a table; JSON has more."""


def pool(data: DataFlag = None, output: OutputFlag = None) -> None:
    """Show the pool. Its nodes, the studies' shares of it, and who waits for what."""
    from ..pool_view import read_pool
    from .journal_reading import open_reader

    directory, form = data_directory(data), output_format(output)
    with open_reader(directory) as reader:
        view = read_pool(reader.journal)
        running = reader.head_is_running()
    if view is None:
        raise NotFound(f"no pool has been seen in {directory} yet.", "Start one with: shoal run FILE")
    view = view | {"head_is_running": running}
    if not running:
        print(f"no run is going on in {directory}; this is its end, {_moment(view['at'])}", file=sys.stderr)
    if form == "json":
        write_json(view)
    elif form == "csv":
        write_rows(view["studies"], form)
    else:
        _write_tables(view)


def _write_tables(view: Json) -> None:
    write_rows([_node_row(node) for node in view["nodes"]], "table")
    print()
    columns = ("study", "priority", "weight", "owed", "used", "wanted", "running", "waiting", "used_gpu_hours")
    write_rows(view["studies"], "table", columns=columns)
    if view["queue"]:
        print()
        shown = view["queue"][:SHOWN_QUEUE]
        write_rows([{"waits": f"{row['study']}#{row['number']}", "why": row["why"]} for row in shown], "table")
        if view["waiting"] > len(shown):
            print(f"and {view['waiting'] - len(shown)} more", file=sys.stderr)


def _node_row(node: Json) -> Json:
    used = sum(len(row["gpus"]) * row["gpu_share"] for row in node["held"])
    return {
        "node": node["node"],
        "model": node["device_model"],
        "gpus": f"{used:g} of {len(node['gpus'])}",
        "cpus": f"{sum(row['cpus'] for row in node['held'])} of {node['cpus']}",
        "memory_gib": node["memory_gib"],
        "held by": ", ".join(_holder(row) for row in node["held"]) or "nobody",
        "cordoned": node["cordoned"] or "no",
    }


def _holder(row: Json) -> str:
    changing = " (changing)" if row["resizing"] else ""
    return f"{row['study']}#{row['number']} x{row['workers']}{changing}"


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at).isoformat(" ", "seconds")
