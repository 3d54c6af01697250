"""A worker's place in a group that changes while the trial runs.

Groups are formed by order of the agent only, who knows which processes live: `form`, `resize` and `recover`, each with
a formation number, the worker's rank (None: no longer needed) and the size. A group changes for two reasons.

* Resize, between two steps (`step_boundary.py`). Newcomers get the whole state from a worker that has it.
* Loss. Whoever misses a peer leaves the group, so that the others notice too, and tells the agent how many exchanges
  it has finished. Nobody can finish an exchange that another has not begun, so the counts differ by one at most: in the
  new group, those that are behind get the last result from one that has it, and the others repeat theirs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .group import Group, Json, PeerLost, SoloGroup
from .let_go import TrialLetGo
from .link import Link
from .wire import Message

if TYPE_CHECKING:
    import torch

    from .flats import Flats
    from .rendezvous import Rendezvous
    from .socket_group import SocketGroup

Bundle = tuple[Json, "list[torch.Tensor]"]


class ElasticGroup:
    """Implements `Group` over whatever group there is now. Torch is loaded when there are first to be several workers.

    Args:
        link: the wire to the agent.
        trial: names the trial and its generation in the store.

    Attributes:
        on_lead: called when this worker has become rank 0 after another one.
    """

    def __init__(self, link: Link, trial: str) -> None:
        self._link = link
        self._trial = trial
        self._rendezvous: Rendezvous | None = None
        self._solo = SoloGroup()
        self._several: SocketGroup | None = None
        self._torch_group: Any = None
        self._order: Message | None = None
        self._formation = 0
        self._completed = 0
        self._last: list[torch.Tensor] = []
        self.on_lead: Callable[[], None] = lambda: None

    @property
    def rank(self) -> int:
        return self._group.rank

    @property
    def world_size(self) -> int:
        return self._group.world_size

    def tree_sum(self, flats: Flats) -> None:
        self._group.tree_sum(flats)

    def torch_group(self) -> Any:
        if self._several is not None and self._torch_group is None:
            assert self._rendezvous is not None, "several have met"
            self._torch_group = self._rendezvous.torch_group(self._formation, self.rank, self.world_size)
        return self._torch_group

    def agree(self, value: Json) -> Json:
        agreed = self._group.agree(value)
        if self.rank != 0:  # answers reach every worker, since any may have to succeed rank 0; this one was not needed
            while self._link.try_receive("verdict") is not None:
                pass
        return agreed

    def together(self, work: Callable[[], list[torch.Tensor]]) -> list[torch.Tensor]:
        while True:
            try:
                result = work()
            except PeerLost:
                recovered = None
            else:
                break
            recovered = self._recover()
            if recovered is not None:
                result = recovered
                break
        self._completed += 1
        self._last = result if self.world_size > 1 else []
        return result

    # --- forming ---------------------------------------------------------------------------------

    def form_first(self) -> None:
        """Form the trial's first group of several."""
        try:
            self._form(self._link.receive("form"))
        except PeerLost:
            self._recover()
        else:
            self._say_formed(0.0)

    def join(self) -> Bundle:
        """Form a group with the workers that run the trial already; the trial's state, which one of them sends."""
        self._link.send("ready")
        order = self._link.receive("resize")
        try:
            self._form(order)
            veterans = self.world_size - len(order["joiners"])
            (state, self._completed), tensors = self._receive(self.rank % veterans)
        except PeerLost:
            self._link.receive("never")  # without the state it is of no use: the agent ends it
            raise
        self._say_formed(0.0)
        return state, tensors

    # --- changing --------------------------------------------------------------------------------

    def has_order(self) -> bool:
        """Has the agent ordered a resize?"""
        self._order = self._order or self._link.try_receive("resize")
        return self._order is not None

    def change(self, state: Callable[[], Bundle]) -> None:
        """Carry out the resize, which every worker has been ordered or is about to be.

        Args:
            state: asked once for what newcomers need.

        Raises:
            TrialLetGo: this worker is no longer needed.
        """
        began = time.perf_counter()
        order, self._order = self._order or self._link.receive("resize"), None
        try:
            self._form(order)
            self._send_state(order["joiners"], state)
        except PeerLost:
            lost = True
        else:
            lost = False
        if lost:
            self._recover()
        else:
            self._say_formed(time.perf_counter() - began)

    def _send_state(self, joiners: Sequence[int], state: Callable[[], Bundle]) -> None:
        veterans = self.world_size - len(joiners)
        mine = [joiner for joiner in joiners if joiner % veterans == self.rank]
        if mine:
            value, tensors = state()
            for joiner in mine:
                self._send(joiner, [value, self._completed], tensors)

    # --- after a loss ----------------------------------------------------------------------------

    def _recover(self) -> list[torch.Tensor] | None:
        """Form a group with those that are left; the result of the exchange that failed here, if one of them has it."""
        began, led = time.perf_counter(), self.rank == 0
        while True:
            self._leave()
            self._link.send("lost", completed=self._completed)
            order = self._link.receive("recover")
            while self.has_order():  # given before the loss was known
                self._order = None
            try:
                self._form(order)
                result = self._catch_up(order)
            except PeerLost:
                continue
            self._say_formed(time.perf_counter() - began)
            if self.rank == 0 and not led:
                self.on_lead()
            return result

    def _catch_up(self, order: Message) -> list[torch.Tensor] | None:
        behind: list[int] = order["behind"]
        if self.rank == order["holder"]:
            for rank in behind:
                self._send(rank, None, self._last)
        return self._receive(order["holder"])[1] if self.rank in behind else None

    # --- inside ----------------------------------------------------------------------------------

    @property
    def _group(self) -> Group:
        return self._solo if self._several is None else self._several

    def _form(self, order: Message) -> None:
        self._leave()
        if order["rank"] is None:
            raise TrialLetGo("released", order["reason"])
        self._formation = order["formation"]
        if order["world_size"] == 1:
            return
        if order["port"] is None:
            raise PeerLost("one of them died before there was a store to meet at")
        from .rendezvous import Rendezvous

        self._link.send("forming", formation=self._formation)
        self._rendezvous = self._rendezvous or Rendezvous(self._link, self._trial)
        self._several = self._rendezvous.form(order)

    def _leave(self) -> None:
        if self._torch_group is not None:
            from torch import distributed

            self._torch_group = None
            distributed.destroy_process_group()
        several, self._several = self._several, None
        if several is not None:
            several.leave()

    def _send(self, rank: int, value: Json, tensors: Sequence[torch.Tensor]) -> None:
        from .bundles import send_bundle

        assert self._several is not None, "there is somebody to send to"
        send_bundle(self._several, value, tensors, rank)

    def _receive(self, rank: int) -> Bundle:
        from .bundles import receive_bundle

        assert self._several is not None, "there is somebody to receive from"
        return receive_bundle(self._several, rank)

    def _say_formed(self, stall_s: float) -> None:
        self._link.send("formed", formation=self._formation, stall_s=stall_s)
