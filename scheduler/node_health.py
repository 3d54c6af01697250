"""Strikes: which nodes lose trials so often that nothing more is started on them.

A node gets a strike when it goes down or when workers die on it though nobody asked for it. Three within an hour, and
it is cordoned until the hour has passed. A trial that died on two nodes already is suspect itself and gives
no more strikes. Never more than a tenth of the pool is cordoned in this way: where everything fails, cordoning helps
nobody.
"""

from __future__ import annotations

STRIKES = 3
"""A worker that dies once may be anybody's fault. A node at a mean time between failures of four hours gets three
strikes within an hour by chance once in 500 hours."""

WINDOW_S = 3600.0

LARGEST_PART = 0.1
"""At most this part of the pool's nodes is cordoned for its strikes; a pool of up to nine never is."""

BLAMELESS_NODES = 2
"""From its third node on, a trial that dies everywhere is taken for the cause."""


class NodeHealth:
    """Counts strikes; says when a node should be left alone and when no longer."""

    def __init__(self) -> None:
        self._strikes: dict[str, list[float]] = {}
        self._until_s: dict[str, float] = {}

    @property
    def struck(self) -> frozenset[str]:
        """Nodes that are cordoned for their strikes."""
        return frozenset(self._until_s)

    def strike(self, node: str, at: float, *, num_nodes: int) -> bool:
        """Note a strike at time `at`; True when the node is to be cordoned now."""
        recent = [s for s in self._strikes.get(node, ()) if s > at - WINDOW_S]
        self._strikes[node] = [*recent, at]
        if node in self._until_s:
            self._until_s[node] = at + WINDOW_S
            return False
        if len(recent) + 1 < STRIKES or len(self._until_s) + 1 > LARGEST_PART * num_nodes:
            return False
        self._until_s[node] = at + WINDOW_S
        return True

    def recovered(self, at: float) -> list[str]:
        """Nodes whose time has passed; they are forgiven."""
        passed = [node for node, until in self._until_s.items() if until <= at]
        for node in passed:
            self.forgive(node)
        return passed

    def forgive(self, node: str) -> None:
        self._until_s.pop(node, None)
        self._strikes.pop(node, None)

    def story(self, node: str) -> str:
        """Why the node is left alone; empty if it is not."""
        until = self._until_s.get(node)
        return "" if until is None else f"{len(self._strikes[node])} losses within an hour"
