"""What a host remembers of a study, so that its strategy can be built again at any moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..search.spec import Json, StudySpec
from ..search.strategies import check
from ..search.strategies.port import PastAsk, Pending, Result
from ..spaces import Space
from .feasibility import DeviceMemory
from .strategy_desk import Opening


@dataclass(frozen=True, slots=True, kw_only=True)
class AskRequest:
    """An `ask` that waits for its answer; `wanted` are configurations (JSON) to be judged in front of it."""

    study: str
    ask: int
    first_number: int
    n: int
    results: tuple[Result, ...]
    pending: tuple[Pending, ...]
    seed: int
    wanted: tuple[Json, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestRequest:
    """A `suggest` that waits for its answer."""

    study: str
    number: int
    generation: int
    path: str
    domain: Json
    seed: int


Request = AskRequest | SuggestRequest


@dataclass(slots=True)
class StudyMemory:
    """One study's spec and everything its strategy was told and asked.

    For a strategy with `replays_asks` that is the list of its asks; for the others only the results.
    """

    spec: StudySpec
    history: list[PastAsk]
    device: DeviceMemory | None = None
    space: Space | None = field(init=False)
    uses_history: bool = field(init=False)
    _replays_asks: bool = field(init=False)
    _told: list[Result] = field(default_factory=list)
    _pending: Sequence[Pending] = ()

    def __post_init__(self) -> None:
        """Raises: SpecError: an unknown strategy or a bad option."""
        info = check(self.spec.strategy, has_space=self.spec.space is not None, objectives=self.spec.objectives)
        self.space = None if self.spec.space is None else Space.from_json(self.spec.space)
        self.uses_history = info.uses_history
        self._replays_asks = info.replays_asks

    def opening(self) -> Opening:
        """How to build the strategy as it is now."""
        return Opening(
            spec=self.spec,
            device=self.device,
            history=tuple(self.history),
            told=tuple(self._told),
            pending=tuple(self._pending),
        )

    def answered(self, request: AskRequest, *, ok: bool) -> None:
        """`request` is over. After a failure its results are told at the next opening; the ask is not repeated."""
        self._pending = request.pending
        if not (ok and self._replays_asks):
            self._told.extend(request.results)
            return
        results = (*self._told, *request.results)
        self._told.clear()
        self.history.append(
            PastAsk(
                ask=request.ask,
                first_number=request.first_number,
                n=request.n,
                seed=request.seed,
                results=results,
                pending=request.pending,
            )
        )
