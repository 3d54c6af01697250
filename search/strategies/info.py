"""What a person is told about a strategy before choosing it."""

from __future__ import annotations

from dataclasses import dataclass

from .options import Option


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyInfo:
    """One registered strategy.

    `source` is the paper or library; `cost` what an ask costs, in words. `uses_history`: proposals depend on results.
    `defines_by_run`: works without a declared space. `open_options`: it takes further keywords of the Optuna class.
    """

    name: str
    summary: str
    source: str
    cost: str
    options: tuple[Option, ...]
    uses_history: bool
    defines_by_run: bool
    replays_asks: bool = False
    open_options: bool = False
