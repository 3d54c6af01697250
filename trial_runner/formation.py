"""Which workers are to form a group, and what those that come late or are behind get from whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from .worker_process import WorkerProcess


@dataclass(frozen=True, slots=True, kw_only=True)
class Formation:
    """A group that is being formed.

    `ranks`: its workers. `left_out`: workers that the trial goes on without. `joiners`: ranks that need the trial's
    state. `behind`: ranks that get the result of the last exchange from rank `holder`.
    """

    kind: Literal["form", "resize", "recover"]
    ranks: tuple[WorkerProcess, ...]
    left_out: tuple[WorkerProcess, ...] = ()
    joiners: tuple[int, ...] = ()
    behind: tuple[int, ...] = ()
    holder: int = 0
    reason: str = ""

    def orders(self, number: int, port: int | None, home: str) -> list[tuple[WorkerProcess, dict[str, Any]]]:
        """What each worker is told.

        Args:
            port: the store's, None where the group is given up before there was one.
            home: the address of the agent's own node.
        """
        nodes = [worker.node for worker in self.ranks]
        fields = {
            "formation": number, "port": port, "store_host": home, "nodes": nodes, "world_size": len(self.ranks),
            "joiners": self.joiners, "behind": self.behind, "holder": self.holder, "reason": self.reason,
        }  # fmt: skip
        out = [(worker, {**fields, "rank": None, "host": ""}) for worker in self.left_out]
        spans = len(set(nodes)) > 1
        return out + [
            (worker, {**fields, "rank": rank, "host": (worker.host or home) if spans else ""})
            for rank, worker in enumerate(self.ranks)
        ]


def after_loss(
    left: Sequence[WorkerProcess], ranks: Sequence[WorkerProcess], done: Mapping[int, int], why: str
) -> Formation:
    """The largest power of two of the workers that are left: those that are ahead first, then by rank.

    One of the trial's own node is always among them, and becomes rank 0.

    Args:
        left: those that can go on; not all of them are guests.
        ranks: the workers of the group that was.
        done: exchanges finished, by worker; they differ by one at most.
    """
    order = {worker.id: rank for rank, worker in enumerate(ranks)}
    by_rank = sorted(left, key=lambda worker: (worker.node != "", order.get(worker.id, len(order))))
    size = 1 << (len(left).bit_length() - 1)
    ahead = sorted(by_rank, key=lambda worker: -done[worker.id])
    first = next(worker for worker in ahead if not worker.node)
    chosen = {worker.id for worker in [first, *(w for w in ahead if w is not first)][:size]}
    new_ranks = tuple(worker for worker in by_rank if worker.id in chosen)
    furthest = max(done[worker.id] for worker in left)
    return Formation(
        kind="recover",
        ranks=new_ranks,
        left_out=tuple(worker for worker in by_rank if worker.id not in chosen),
        behind=tuple(rank for rank, worker in enumerate(new_ranks) if done[worker.id] < furthest),
        holder=next(rank for rank, worker in enumerate(new_ranks) if done[worker.id] == furthest),
        reason=why,
    )
