"""A trial's conversation partner when nobody but a person listens."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from ...search.spec import Json


class TerminalLink:
    """Stands where a worker's wire stands: prints what the trial tells, and always answers "go on".

    Args:
        suggested: what the trial's `suggest_*` calls were answered.
    """

    def __init__(self, suggested: Mapping[str, Json]) -> None:
        self.pause_requested: str | None = None
        self._suggested = suggested
        self._asked = ""
        self._step = 0

    def send(self, kind: str, **fields: Any) -> None:
        if kind == "report":
            self._step = fields["step"]
            metrics = " ".join(f"{name}={value}" for name, value in fields["metrics"].items())
            print(f"step {self._step}: {metrics}", file=sys.stderr)
        elif kind == "suggest":
            self._asked = fields["path"]
        elif kind == "warn":
            print(f"warning: {fields['text']}", file=sys.stderr)

    def receive(self, kind: str) -> dict[str, Any]:
        if kind == "suggestion":
            known = self._asked in self._suggested
            error = "" if known else f"the trial had not asked for {self._asked!r} when it ran"
            return {"path": self._asked, "value": self._suggested.get(self._asked), "error": error}
        return {"step": self._step, "verdict": "continue", "reason": "debugging"}

    def poll(self) -> None:
        return None
