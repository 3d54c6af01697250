"""Grid search: every combination, in the space's own order.

Steps, integers, ordinals and categories take all their values, continuous parameters `points_per_float` values evenly
spaced on their own (log) scale. Rules and inactive parameters leave no gaps: only valid configurations are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ...spaces import Space
from .options import check_fields
from .port import Pending, Proposal, Result
from .unseen import Unseen


@dataclass(frozen=True, slots=True, kw_only=True)
class GridOptions:
    """How fine the grid is."""

    points_per_float: int = field(default=5, metadata={"low": 1, "help": "values of a continuous parameter"})

    def __post_init__(self) -> None:
        check_fields(self, "grid")


class GridSearch:
    """The untried points of the grid, one after the other; exhausted after the last."""

    uses_history = False
    replays_asks = False

    def __init__(self, space: Space, options: GridOptions) -> None:
        self._points = space.grid(options.points_per_float)
        self._unseen = Unseen(space)
        self._place = 0

    def tell(self, results: Sequence[Result]) -> None:
        self._unseen.note(result.config for result in results)

    def ask(self, first_number: int, n: int, pending: Sequence[Pending], seed: int) -> list[Proposal]:
        self._unseen.note(trial.config for trial in pending)
        proposals: list[Proposal] = []
        while len(proposals) < n and (config := next(self._points, None)) is not None:
            self._place += 1
            if config in self._unseen:
                self._unseen.note([config])
                proposals.append(Proposal(config=config, reason=f"grid point {self._place}"))
        return proposals
