"""The one port that every strategy stands behind: ask and tell.

A strategy never sees the journal, a clock or a worker. It is created from (space, objectives, options), told results,
and asked for configurations with a seed that derives from (study seed, ask index); the same calls in the same order
give the same proposals. What a person believes is in the space (`default`, `prior` of its domains). To restore one, the
host makes a new instance and repeats the calls recorded in the journal, or, where `replays_asks` is False, just tells
it every result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

from ...spaces import Configuration
from ..spec import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of a trial.

    `values`: one number an objective, None where the trial has none (failed, cancelled); NaN and infinities may occur
    and must break nothing. `outcomes`: the measured metric of every outcome constraint, None where it was not reported;
    empty without constraints. `curve`: (step, value of the first objective), steps ascending. `borrowed_from`: the
    study it was borrowed from ("" is this study): such a result has a negative number and a scale of its own, and its
    configuration does not count as tried (only strategies with `StrategyInfo.borrows` see any). `cost_s`: wall seconds
    it ran. `returned`: its training function came to an end of its own. `domains`: for define-by-run trials, the domain
    (JSON) of every path of `flat`.
    """

    number: int
    config: Configuration | None
    state: Literal["completed", "stopped", "failed", "cancelled", "infeasible"]
    values: tuple[float, ...] | None
    outcomes: tuple[float | None, ...] = ()
    curve: tuple[tuple[int, float], ...] = ()
    cost_s: float = 0.0
    failure: str | None = None
    returned: bool = False
    attrs: Json = None
    flat: Mapping[str, Json] = field(default_factory=dict)
    domains: Mapping[str, Json] = field(default_factory=dict)
    borrowed_from: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A trial that was proposed and has no result yet, with the curve it has so far."""

    number: int
    config: Configuration | None
    curve: tuple[tuple[int, float], ...] = ()
    attrs: Json = None
    flat: Mapping[str, Json] = field(default_factory=dict)
    domains: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A configuration to try (None: define by run, the trial will ask), why, and what comes back with its result.

    `infeasible`: why no device of the pool can train it; such a trial is told to the strategy and never started.
    `parent`: the completed trial whose last checkpoint it starts from, instead of from nothing. `until`: the step at
    which it has trained as far as is wanted, and counts as completed; None: to its own end.
    """

    config: Configuration | None
    reason: str
    attrs: Json = None
    infeasible: str = ""
    parent: int | None = None
    until: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PastAsk:
    """A former ask, as the journal has it, for strategies with `replays_asks`.

    `results` are those told with this ask and no earlier one (the journal: results up to `TrialProposed.seen_seq`);
    `pending` the trials that were open then.
    """

    ask: int
    first_number: int
    n: int
    seed: int
    results: tuple[Result, ...] = ()
    pending: tuple[Pending, ...] = ()


class Strategy(Protocol):
    """Proposes configurations."""

    uses_history: bool
    """False: proposals do not depend on results, so the host may ask far ahead."""

    replays_asks: bool
    """True: the state also depends on its own former asks, which a restore must repeat."""

    def tell(self, results: Sequence[Result]) -> None:
        """Take results in, in any order; each trial is told once."""
        ...

    def ask(self, first_number: int, n: int, pending: Sequence[Pending], seed: int) -> list[Proposal]:
        """Propose up to `n` configurations for trials `first_number`, `first_number + 1`, ...

        Fewer than `n` (also none) means that the space is exhausted, except of strategies that wait (`StrategyInfo`):
        of those it means that nothing more can be proposed before some pending trial has ended. Every configuration is
        valid and honours the rules; none equals a pending or told one, unless it goes on from a `parent`, or the space
        is infinite and chance has it so.
        """
        ...


@runtime_checkable
class DefineByRun(Protocol):
    """A strategy that can also answer a trial's own questions."""

    def suggest(self, number: int, path: str, domain: Json, seed: int) -> Json:
        """The value of `path` for trial `number`; asked again for the same path it answers the same."""
        ...
