"""Who used how much of the pool, and how much each was owed: the fair-share ledger."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .intervals import Interval
from .study_view import StudyView


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Device-seconds that a study held, and those it would have held had all open studies shared equally."""

    used_s: float
    owed_s: float


def ledger(views: Sequence[StudyView]) -> dict[str, Share]:
    """A share for each study: devices are GPUs, or workers where a trial had none."""
    held = {view.name: [_piece(view, one) for one in view.intervals.all] for view in views}
    spans = [(view.name, *_open_span(view)) for view in views]
    owed_s = equal_shares(spans, list(itertools.chain.from_iterable(held.values())))
    used_s = {name: sum((to - at) * devices for at, to, devices in pieces) for name, pieces in held.items()}
    return {name: Share(used_s=used_s[name], owed_s=owed_s[name]) for name in held}


def equal_shares(
    spans: Sequence[tuple[str, float, float]], pieces: Sequence[tuple[float, float, float]]
) -> dict[str, float]:
    """Deal out what was held, at each moment in equal parts to the studies that were open then.

    Args:
        spans: (study, opened at, ended at).
        pieces: (from, to, how many devices were held).

    >>> equal_shares([("a", 0.0, 10.0), ("b", 5.0, 10.0)], [(0.0, 10.0, 2.0)])
    {'a': 15.0, 'b': 5.0}
    """
    owed = {name: 0.0 for name, _, _ in spans}
    if not pieces:
        return owed
    starts, ends, held = np.array(pieces).T

    def held_s_until(moment: float) -> float:
        return float(np.sum(held * np.clip(moment - starts, 0.0, ends - starts)))

    edges = sorted({edge for _, begin, end in spans for edge in (begin, end)})
    sums = [held_s_until(edge) for edge in edges]
    for (left, before), (right, after) in itertools.pairwise(zip(edges, sums, strict=True)):
        present = [name for name, begin, end in spans if begin <= left and end >= right]
        for name in present:
            owed[name] += (after - before) / len(present)
    return owed


def _piece(view: StudyView, one: Interval) -> tuple[float, float, float]:
    end = (view.state.last_at or one.started_at) if one.ended_at is None else one.ended_at
    return one.started_at, end, float(len(one.gpus) or one.workers)


def _open_span(view: StudyView) -> tuple[float, float]:
    last = view.state.ended_at or view.state.last_at or view.began_at
    return view.began_at, max(last, view.began_at)
