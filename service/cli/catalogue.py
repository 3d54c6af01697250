"""`shoal strategies`: what there is to choose from, with options, sources and costs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ...search.spec import Json
from .options import OutputFlag, output_format
from .output import Format, write_csv, write_json, write_rows

if TYPE_CHECKING:
    from ...search.early_stopping import RuleInfo
    from ...search.strategies import Option, StrategyInfo

OPTION_COLUMNS = ("option", "type", "default", "allowed", "help")


def strategies(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="One strategy, with its options; default: all of them.")
    ] = None,
    early_stopping: Annotated[
        bool, typer.Option("--early-stopping", help="List the early stopping rules instead.")
    ] = False,
    output: OutputFlag = None,
) -> None:
    """List the strategies. What each does, its options, source and cost; `run --strategy` and `--set` choose."""
    if early_stopping:
        from ...search import early_stopping as rules

        found = [_rule(rules.describe(one)) for one in ([name] if name else rules.names())]
        shown: tuple[str, ...] = ("name", "summary", "source", "pauses")
        setting = "early_stopping"
    else:
        from ...search import strategies as known

        found = [_strategy(known.describe(one)) for one in ([name] if name else known.names())]
        shown = ("name", "summary", "cost", "learns", "objectives", "constraints", "source")
        setting = "strategy"
    form = output_format(output)
    if name is None:
        write_rows(found, form, columns=shown)
    else:
        _write_one(found[0], form, setting)


def _strategy(info: StrategyInfo) -> dict[str, Json]:
    return {
        "name": info.name,
        "summary": info.summary,
        "source": info.source or None,
        "cost": info.cost,
        "learns": info.uses_history,
        "objectives": "several" if info.several_objectives else "one",
        "constraints": info.constraints,
        "define_by_run": info.defines_by_run,
        "borrows": info.borrows,
        "options": [_option(option) for option in info.options],
        "open_options": info.open_options,
    }


def _rule(info: RuleInfo) -> dict[str, Json]:
    return {
        "name": info.name,
        "summary": info.summary,
        "source": info.source or None,
        "pauses": info.pauses,
        "options": [_option(option) for option in info.options],
        "open_options": info.open_options,
    }


def _option(option: Option) -> dict[str, Json]:
    return {
        "option": option.name,
        "type": option.type,
        "default": option.default,
        "required": option.required,
        "allowed": option.allowed or None,
        "help": option.help,
    }


def _write_one(described: dict[str, Json], form: Format, setting: str) -> None:
    """One of them: its facts, then its options as a table."""
    options: Sequence[dict[str, Json]] = described["options"]
    if form == "json":
        write_json(described)
        return
    if form == "csv":
        write_csv(options, sys.stdout)
        return
    facts = [{"": key, " ": value} for key, value in described.items() if key not in ("options", "open_options")]
    write_rows(facts, form, columns=("", " "))
    print()
    if options:
        write_rows(
            [option | {"default": "required" if option["required"] else option["default"]} for option in options],
            form,
            columns=OPTION_COLUMNS,
        )
        print(f"\nset with: --set {setting}.{options[0]['option']}=VALUE")
    elif described["open_options"]:
        print("options: the keywords of Optuna's class, set with --set " + f"{setting}.KEYWORD=VALUE")
    else:
        print("it takes no options")
