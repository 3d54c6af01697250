"""The strategies themselves, one a study: built, told, asked. Stands in the strategy process, or in this one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..errors import ShoalError
from ..search.spec import Json, StudySpec
from ..search.strategies import describe, make
from ..search.strategies.port import DefineByRun, PastAsk, Pending, Proposal, Result, Strategy
from ..spaces import Space
from .feasibility import DeviceMemory, judged


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """All that is needed to build a study's strategy as it was: its spec, the former asks to repeat, what it has been
    told besides, the trials open at the last ask (of define-by-run trials, with their answers so far), and the largest
    device that its trials may be given."""

    spec: StudySpec
    device: DeviceMemory | None = None
    history: tuple[PastAsk, ...] = ()
    told: tuple[Result, ...] = ()
    pending: tuple[Pending, ...] = ()


@dataclass(slots=True)
class StrategyDesk:
    """Keeps one strategy a study. Whatever one raises comes out; its study is then to be opened again."""

    _strategies: dict[str, Strategy] = field(default_factory=dict)
    _spaces: dict[str, Space | None] = field(default_factory=dict)
    _borrows: dict[str, bool] = field(default_factory=dict)
    _devices: dict[str, DeviceMemory | None] = field(default_factory=dict)

    def open(self, opening: Opening) -> None:
        """Build the strategy, anew if there is one.

        Raises:
            SpecError: an unknown strategy or a bad option.
        """
        spec = opening.spec
        space = None if spec.space is None else Space.from_json(spec.space)
        strategy = make(spec.strategy, space, spec.objectives, seed=spec.seed, constraints=spec.constraints)
        for past in opening.history:
            strategy.tell(past.results)
            strategy.ask(past.first_number, past.n, past.pending, past.seed)
        self._borrows[spec.name] = describe(spec.strategy.name).borrows
        if opening.told:
            strategy.tell(self._learnable(spec.name, opening.told))
        if space is None:  # a trial may go on asking before the next ask shows what it was answered
            strategy.ask(first_number=0, n=0, pending=opening.pending, seed=0)
        self._strategies[spec.name] = strategy
        self._spaces[spec.name] = space
        self._devices[spec.name] = opening.device

    def ask(
        self,
        study: str,
        first_number: int,
        n: int,
        results: Sequence[Result],
        pending: Sequence[Pending],
        seed: int,
        wanted: Sequence[Json] = (),
    ) -> list[Proposal]:
        """Tell, then ask; the `wanted` configurations come first, judged like the others."""
        strategy, space = self._strategies[study], self._spaces[study]
        if results:
            strategy.tell(self._learnable(study, results))
        enqueued: list[Proposal] = []
        if space is not None:
            enqueued = [Proposal(config=space.configuration(body), reason="enqueued") for body in wanted]
        own = strategy.ask(first_number, n, pending, seed) if n else []
        return judged([*enqueued, *own], self._devices[study])

    def _learnable(self, study: str, results: Sequence[Result]) -> Sequence[Result]:
        """Without borrowed ones, for a strategy that has no use for them."""
        return results if self._borrows[study] else [result for result in results if not result.borrowed_from]

    def suggest(self, study: str, number: int, path: str, domain: Json, seed: int) -> Json:
        """The value of `path` for a define-by-run trial."""
        strategy = self._strategies[study]
        assert isinstance(strategy, DefineByRun), "a study without a space is opened with such a strategy only"
        return strategy.suggest(number, path, domain, seed)


def told_error(raised: Exception) -> str:
    """One line for the journal."""
    if isinstance(raised, ShoalError):
        return str(raised)
    return f"{type(raised).__name__}: {raised}".splitlines()[0]
