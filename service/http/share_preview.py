"""What another weight or priority would change in who is owed how much of the pool, before anybody asks for it."""

from __future__ import annotations

from collections.abc import Mapping

from ...scheduler.entitlement import Wants, entitled
from ...search.spec import Json


def share_preview(pool: Json, study: str, changes: Mapping[str, Json]) -> str:
    """The studies whose share would change, with what they are owed now and then; empty where none would.

    Args:
        pool: the picture of the pool (`service/pool_view.py`); None: none has been seen.
        study: whose settings would change.
        changes: new values of its `weight` and `priority`.
    """
    rows = [] if pool is None else [row for row in pool["studies"] if row["wanted"] is not None]
    if study not in (row["study"] for row in rows) or not changes.keys() & {"weight", "priority"}:
        return ""
    capacity = sum(len(node["gpus"]) for node in pool["nodes"]) or sum(node["cpus"] for node in pool["nodes"])
    now = shares_of(capacity, rows)
    then = shares_of(capacity, [row | changes if row["study"] == study else row for row in rows])
    told = [f"{name} {now[name]} -> {then[name]}" for name in now if now[name] != then[name]]
    return f"of {capacity} devices each is owed: {', '.join(told)}" if told else "nobody's share changes now"


def shares_of(capacity: int, rows: list[Json]) -> dict[str, int]:
    """Devices that each study is owed: the policy's rule, as if all of them used devices well.

    Args:
        capacity: devices in the pool.
        rows: study, priority, weight, wanted (the most that it could use).

    >>> high = {"study": "a", "priority": 1, "weight": 1.0, "wanted": 3}
    >>> low = {"study": "b", "priority": 0, "weight": 1.0, "wanted": 9}
    >>> shares_of(8, [high, low, low | {"study": "c", "weight": 4.0}])
    {'a': 3, 'b': 1, 'c': 4}
    """
    studies = [
        Wants(int(row["priority"]), float(row["weight"]), efficient=int(row["wanted"]), demand=int(row["wanted"]))
        for row in rows
    ]
    shares = entitled(capacity, studies, protected=1.0)
    return {row["study"]: share for row, share in zip(rows, shares, strict=True)}
