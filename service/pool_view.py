"""The pool as other programs may see it: nodes and who holds what of them, the studies' shares, who waits and why.

The head writes it beside the snapshots of studies, under a name that no study can have. It is a picture for people:
nothing is decided from it, and what it shows follows from the journal.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Collection, Mapping

from ..scheduler.port import NodeUp, Policy, StudyShare
from ..search.journal.port import Journal, JournalReader
from ..search.spec import Json
from .holdings import Holding
from .study_run import StudyRun

POOL = "@pool"

VIEW_S = 1.0
"""How old a picture may be while things change."""

SHARE_OF_TIME = 0.02
"""So much of the head's time goes into pictures at most: one of a pool with ten thousand waiting trials takes
0.1 s."""

SHOWN_WAITING = 200
"""Rows of the queue that are kept."""


class PoolView:
    """Keeps the picture up to date."""

    def __init__(self, journal: Journal, policy: Policy) -> None:
        self._journal = journal
        self._policy = policy
        self._shown: Json = None
        self._next_at = 0.0

    def update(
        self, nodes: Mapping[str, NodeUp], runs: Collection[StudyRun], at: float, *, at_once: bool = False
    ) -> None:
        """Write a new picture, if it is time (or `at_once`) and the picture has changed."""
        began = time.monotonic()
        if began < self._next_at and not at_once:
            return
        picture = pool_json(self._policy, nodes, runs, at)
        if picture != self._shown:
            self._shown = picture
            self._journal.save_snapshot(
                POOL, self._journal.next_seq - 1, picture | {"at": at, "host": socket.gethostname(), "pid": os.getpid()}
            )
        ended = time.monotonic()
        self._next_at = ended + max(VIEW_S, (ended - began) / SHARE_OF_TIME)


def read_pool(journal: JournalReader) -> Json:
    """The latest picture of the pool; None before the first."""
    kept = journal.snapshot(POOL)
    return None if kept is None else kept.body


def pool_json(policy: Policy, nodes: Mapping[str, NodeUp], runs: Collection[StudyRun], at: float) -> Json:
    """The picture.

    `nodes`: devices, why one is cordoned ("" where it is not), `held` by whom. `studies`: devices owed and used, what
    they could use, GPU-hours used and their limit, and how many trials run and wait. `queue`: the first
    `SHOWN_WAITING` who wait, in the order in which they would start, with the reason; `waiting` counts them all.
    """
    waiting = policy.waiting()
    cordoned = policy.cordoned()
    shares = {share.study: share for share in policy.shares(at)}
    per_study: dict[str, int] = {}
    for study, _, _ in waiting:
        per_study[study] = per_study.get(study, 0) + 1
    return {
        "nodes": [
            {
                "node": node.node,
                "device_model": node.device_model,
                "gpus": list(node.gpus),
                "cpus": node.cpus,
                "memory_gib": round(node.memory_gib, 1),
                "cordoned": cordoned.get(node.node, ""),
                "held": [row for run in runs for row in _held(run, node.node)],
            }
            for node in nodes.values()
        ],
        "studies": [
            _study(run, shares.get(run.name), per_study.get(run.name, 0)) for run in runs if not run.state.is_over
        ],
        "waiting": len(waiting),
        "queue": [{"study": study, "number": number, "why": why} for study, number, why in waiting[:SHOWN_WAITING]],
    }


def _held(run: StudyRun, node: str) -> list[Json]:
    rows = []
    for number, held in sorted(run.running.items()):
        slots = [slot for slot in held.both if slot.node in (node, "")]
        if slots:
            gpus = [gpu for slot in slots for gpu in slot.gpus]
            rows.append(
                {
                    "study": run.name,
                    "number": number,
                    "workers": len(slots),
                    "gpus": gpus,
                    "gpu_share": float(slots[0].share) if gpus else 0.0,
                    "cpus": sum(slot.cpus for slot in slots),
                    "resizing": held.order > 0,
                }
            )
    return rows


def _study(run: StudyRun, share: StudyShare | None, waiting: int) -> Json:
    spec = run.state.spec
    return {
        "study": run.name,
        "state": run.state.status,
        "priority": spec.priority,
        "weight": spec.weight,
        "owed": None if share is None else share.owed,
        "used": _devices(run.running) if share is None else share.held,
        "wanted": None if share is None else share.wanted,
        "used_gpu_hours": None if share is None else round(share.used_gpu_hours, 3),
        "gpu_hours": spec.budget.gpu_hours,
        "running": len(run.running),
        "waiting": waiting,
    }


def _devices(running: Mapping[int, Holding]) -> float:
    return sum(len(slot.gpus) * float(slot.share) or slot.cpus for held in running.values() for slot in held.both)
