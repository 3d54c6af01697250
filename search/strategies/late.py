"""A strategy that is built when it is first asked: what imports a large library should not delay the first trials."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .port import Pending, Proposal, Result, Strategy


class LateStrategy:
    """Stands for a strategy without state of its own asks.

    Args:
        make: builds it; called at the first ask.
    """

    uses_history = True
    replays_asks = False

    def __init__(self, make: Callable[[], Strategy]) -> None:
        self._make = make
        self._strategy: Strategy | None = None
        self._told: list[Result] = []

    def tell(self, results: Sequence[Result]) -> None:
        if self._strategy is None:
            self._told += results
        else:
            self._strategy.tell(results)

    def ask(self, first_number: int, n: int, pending: Sequence[Pending], seed: int) -> list[Proposal]:
        if self._strategy is None:
            self._strategy = self._make()
            assert not self._strategy.replays_asks
            self._strategy.tell(self._told)
            self._told = []
        return self._strategy.ask(first_number, n, pending, seed)
