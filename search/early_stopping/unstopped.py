"""No early stopping."""

from __future__ import annotations

from collections.abc import Collection

from .port import Promotion, Verdict


class UnstoppedRule:
    """Every trial goes on to its own end."""

    def observe(self, number: int, step: int, value: float | None) -> None:
        """Nothing is remembered."""

    def observe_all(self, number: int, step: int, losses: tuple[float, ...] | None) -> None:
        """Nothing to remember."""

    def verdict(self, number: int, *, can_pause: bool) -> Verdict:
        return Verdict(action="continue", reason="no early stopping")

    def promotions(self, paused: Collection[int], *, closing: bool = False) -> list[Promotion]:
        return []

    def farewell(self, number: int) -> str:
        return "the study ended while it was paused"
