"""A trial's log as a page follows it: the last part first, then what was added."""

from __future__ import annotations

from pathlib import Path

from ...dashboards.redaction import redacted
from ...search.spec import Json

PART_BYTES = 64 * 1024
"""As much of a log as a page shows at once."""


def log_part(folder: Path, offset: int) -> dict[str, Json]:
    """The text of `folder`/log.txt from byte `offset` on.

    Args:
        folder: the trial's folder.
        offset: where to begin; -1: 64 KiB before the end.

    Returns:
        `text`, `next` (the offset to go on from), `restarted` (the file was rotated since: `text` begins anew) and
        `size`; `text` is empty where there is no log yet.
    """
    path = folder / "log.txt"
    try:
        with path.open("rb") as stream:
            size = stream.seek(0, 2)
            restarted = offset > size
            begin = max(0, size - PART_BYTES) if offset < 0 or restarted else offset
            stream.seek(begin)
            body = stream.read(PART_BYTES)
    except OSError:
        return {"text": "", "next": 0, "restarted": False, "size": 0}
    return {
        "text": redacted(body.decode(errors="replace")),
        "next": begin + len(body),
        "restarted": restarted,
        "size": size,
    }
