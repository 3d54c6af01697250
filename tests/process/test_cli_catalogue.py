"""`shoal strategies`."""

from __future__ import annotations

import json

import pytest

from shoal.search import early_stopping, strategies
from shoal.service.cli.app import main


def listed(capsys: pytest.CaptureFixture[str], *words: str) -> object:
    assert main(["strategies", *words, "-o", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_lists_every_strategy_with_options_sources_and_costs(capsys: pytest.CaptureFixture[str]) -> None:
    rows = listed(capsys)
    assert isinstance(rows, list)
    assert [row["name"] for row in rows] == list(strategies.names())
    assert all(row["summary"] and row["cost"] for row in rows)
    assert all(option["help"] for row in rows for option in row["options"])
    assert {row["name"] for row in rows if not row["constraints"]} == {
        "random", "grid", "sobol", "optuna:QMCSampler", "optuna:BruteForceSampler", "optuna:RandomSampler"
    }, "all that look at results honour the constraints"  # fmt: skip


def test_one_strategy_shows_its_options_and_how_to_set_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["strategies", "random_forest"]) == 0
    out = capsys.readouterr().out
    assert "n_trees" in out and "at least 2, at most 1000" in out and "Hutter et al. 2011" in out
    assert "--set strategy.n_startup_trials=VALUE" in out
    assert main(["strategies", "random"]) == 0
    assert "it takes no options" in capsys.readouterr().out
    assert main(["strategies", "optuna:TPESampler"]) == 0
    assert "the keywords of Optuna's class" in capsys.readouterr().out
    assert main(["strategies", "tpe", "-o", "csv"]) == 0
    assert capsys.readouterr().out.startswith("option,type,default")


def test_rules_of_early_stopping(capsys: pytest.CaptureFixture[str]) -> None:
    rows = listed(capsys, "--early-stopping")
    assert isinstance(rows, list) and [row["name"] for row in rows] == list(early_stopping.names())
    one = listed(capsys, "asha", "--early-stopping")
    assert isinstance(one, dict)
    required = {option["option"] for option in one["options"] if option["required"]}
    assert required == {"max_epochs"} and one["pauses"] is True


def test_an_unknown_name_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["strategies", "portfolo"]) == 2
    assert "Did you mean 'portfolio'?" in capsys.readouterr().err
    assert main(["strategies", "ash", "--early-stopping"]) == 2
    assert "Did you mean 'asha'?" in capsys.readouterr().err
