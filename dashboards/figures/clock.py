"""Moments on an axis."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Clock:
    """Moments as the reader's clock shows them; Plotly knows no time zones, so they are shifted before it sees them.

    >>> Clock(3600.0).at(0.0), Clock(-12600.0).axis()["title"]["text"]
    ('1970-01-01 01:00:00.000', 'UTC-03:30')
    """

    utc_offset_s: float

    def at(self, moment: float) -> str:
        shifted = datetime.fromtimestamp(moment + self.utc_offset_s, UTC)
        return shifted.isoformat(sep=" ", timespec="milliseconds").removesuffix("+00:00")

    def axis(self) -> dict[str, Any]:
        minutes = round(abs(self.utc_offset_s) / 60)
        sign = "-" if self.utc_offset_s < 0 else "+"
        zone = f"{sign}{minutes // 60:02}:{minutes % 60:02}" if minutes else ""
        return {"type": "date", "title": {"text": f"UTC{zone}", "font": {"size": 10}}}
