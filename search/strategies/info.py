"""What a person is told about a strategy before choosing it."""

from __future__ import annotations

from dataclasses import dataclass

from .options import Option


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyInfo:
    """One registered strategy.

    `source` is the paper or library; `cost` what an ask costs, in words. `uses_history`: proposals depend on results.
    `defines_by_run`: works without a declared space. `open_options`: it takes further keywords of the Optuna class.
    `several_objectives`, `constraints`: it looks for the front, and for what keeps the outcome constraints (one without
    takes only studies with one objective, or does not look at the constraints). `borrows`: it learns from the results
    of another study.
    `waits`: while trials are open it may propose fewer than it is asked for, and more once they have ended.
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
    waits: bool = False
    several_objectives: bool = False
    constraints: bool = False
    borrows: bool = False
