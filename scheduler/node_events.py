"""Nodes that come, go, are cordoned or drained, and those that lose too many trials."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .books import Books
from .dispatch import Dispatcher
from .elastic_state import TrialState
from .node_health import BLAMELESS_NODES, NodeHealth
from .placement import Cluster
from .port import NodeCordoned, NodeDown, NodeUp, Pause


class NodeEvents:
    """Keeps the cluster's books on nodes."""

    def __init__(self, books: Books, cluster: Cluster, dispatch: Dispatcher) -> None:
        self._books = books
        self._cluster = cluster
        self._dispatch = dispatch
        self._health = NodeHealth()
        self._told: dict[str, NodeCordoned] = {}

    def up(self, event: NodeUp) -> None:
        """A node joined; one that was cordoned before stays so."""
        if event.node in self._cluster.nodes:
            return
        self._cluster.add(event)
        self._books.device_speeds[event.device_model] = event.speed
        self._books.touch_all()

    def down(self, event: NodeDown) -> None:
        """Everything on the node is gone; trials that also work elsewhere are stricken until we hear of them."""
        if event.node not in self._cluster.nodes:
            return
        self.strike([event.node], event.at)
        self._cluster.remove(event.node)
        for study, trial in self._books.holders():
            self._dispatch.lose_node(study, trial, event.node)
        self._books.touch_all()

    def cordon(self, event: NodeCordoned) -> None:
        self._told[event.node] = event
        self._cluster.cordon(event.node)
        self._books.touch_all()

    def uncordon(self, node: str) -> None:
        """The node serves again, whatever it was cordoned for."""
        self._told.pop(node, None)
        self._health.forgive(node)
        self._cluster.uncordon(node)
        self._books.touch_all()

    def lost(self, trial: TrialState, nodes: Iterable[str], at: float) -> None:
        """Workers of the trial died on `nodes`, and nobody knows why."""
        fresh = sorted(set(nodes) - set(trial.lost_on))
        if len(trial.lost_on) < BLAMELESS_NODES:
            self.strike([node for node in fresh if node in self._cluster.nodes], at)
        trial.lost_on += tuple(fresh)

    def strike(self, nodes: Iterable[str], at: float) -> None:
        for node in nodes:
            if self._health.strike(node, at, num_nodes=len(self._cluster.nodes)):
                self._cluster.cordon(node)
                self._books.touch_all()

    def pass_time(self, at: float) -> None:
        """Nodes whose strikes are long enough ago serve again."""
        for node in self._health.recovered(at) if self._health.struck else ():
            if node not in self._told:
                self._cluster.uncordon(node)
                self._books.touch_all()

    def drain(self) -> Iterator[Pause]:
        """Pauses those on draining nodes who can pause."""
        draining = {node: told for node, told in self._told.items() if told.drain}
        if not draining:
            return
        for _, trial in self._books.holders():
            there = next((slot.node for slot in trial.slots if slot.node in draining), None)
            if there is not None and trial.status == "running" and trial.offer.can_pause:
                reason = f"its node {there} is being drained"
                told = draining[there].reason
                yield self._dispatch.pause(trial, f"{reason}: {told}" if told else reason, involuntary=True)

    def cordoned(self) -> dict[str, str]:
        """Why each cordoned node is."""
        why = {node: self._health.story(node) for node in sorted(self._health.struck)}
        why |= {node: told.reason or "cordoned by hand" for node, told in self._told.items()}
        return why
