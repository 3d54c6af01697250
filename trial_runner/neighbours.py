"""The other nodes on which trials of this one may have workers."""

from __future__ import annotations

import errno

from .messages import MeetNode, Slot


class Neighbours:
    """What an agent knows of the others.

    Args:
        node: this node's name; "": it is the only one, and nobody looks at the nodes of slots.
        host: its address, as the others reach it.
    """

    def __init__(self, node: str = "", host: str = "") -> None:
        self.node = node
        self.host = host
        self._met: dict[str, MeetNode] = {}

    def meet(self, other: MeetNode) -> None:
        """Note how a node is reached from now on."""
        if other.node != self.node:
            self._met[other.node] = other

    def is_here(self, slot: Slot) -> bool:
        return not self.node or slot.node in ("", self.node)

    def of(self, slot: Slot) -> MeetNode:
        """The node of a slot that is not here.

        Raises:
            OSError: nobody has told of it.
        """
        if slot.node not in self._met:
            raise OSError(errno.EHOSTUNREACH, f"node {slot.node} is not known to node {self.node}")
        return self._met[slot.node]
