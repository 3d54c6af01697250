"""Snapshots as they lie in the journal: compressed JSON under a digest, so that a damaged one is noticed."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterable
from typing import Any

from ..spec import Json
from .port import Snapshot

KEPT_SNAPSHOTS = 2
"""The last one, and the one before it for the day on which the last is damaged."""


def packed(study: str, seq: int, body: Json) -> dict[str, Any]:
    """The row of the snapshots table that holds `body`."""
    data = zlib.compress(json.dumps(body, separators=(",", ":")).encode(), level=1)
    return {"study": study, "seq": seq, "digest": hashlib.sha256(data).hexdigest(), "body": data}


def first_whole(rows: Iterable[tuple[int, str, bytes]]) -> Snapshot | None:
    """The first of the (seq, digest, body) rows that is not damaged."""
    for seq, digest, body in rows:
        if hashlib.sha256(body).hexdigest() == digest:
            return Snapshot(seq=seq, body=json.loads(zlib.decompress(body)))
    return None
