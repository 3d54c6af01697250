"""`Study.ask` and `Study.tell`: the person runs the loop."""

from typing import Any

import pytest

import shoal
from shoal.errors import SpecError, StrategyError


def test_ask_tell_to_the_end(make_study: Any) -> None:
    study = make_study(trials=5)
    for _ in range(5):
        asked = study.ask()
        study.tell(asked, value=asked.config.x)
    results = study.results()
    assert results.state == "completed"
    assert results.value == max(row["config"].x for row in results.trials)
    with pytest.raises(StrategyError, match="nothing to ask for"):
        study.ask()


def test_several_at_once_are_different(make_study: Any) -> None:
    """T20: eight askers on an empty study get eight configurations."""
    study = make_study(trials=8)
    asked = [study.ask() for _ in range(8)]
    assert len({trial.config.x for trial in asked}) == 8
    for trial in reversed(asked):
        study.tell(trial.number, 1.0)
    assert len(study.results()) == 8


def test_failures_and_mistakes(make_study: Any) -> None:
    study = make_study(trials=3)
    first = study.ask()
    study.tell(first, failed="out of memory")
    with pytest.raises(StrategyError, match="trial 0 is not open"):
        study.tell(first, 1.0)
    second = study.ask()
    with pytest.raises(StrategyError, match="no value"):
        study.tell(second)
    with pytest.raises(StrategyError, match="is a str"):
        study.tell(second, "good")
    study.tell(second, float("nan"))
    study.tell(study.ask(), 0.5)
    results = study.results()
    assert [row["state"] for row in results.trials] == ["failed", "failed", "completed"]
    assert results.best is not None and results.best["number"] == 2


def test_reports_meet_the_stopping_rule(make_study: Any) -> None:
    study = make_study(trials=12, early_stopping=shoal.Median())
    stopped = 0
    for number in range(12):
        asked = study.ask()
        for step in range(1, 6):
            if not study.report(asked, step, -float(number)):
                stopped += 1
                break
        else:
            study.tell(asked, -float(number))
    assert stopped > 0
    assert sum(row["state"] == "stopped" for row in study.results().trials) == stopped


def test_rows_for_a_table(make_study: Any) -> None:
    study = make_study(trials=1, points_to_evaluate=[{"x": 0.25}])
    study.tell(study.ask(), 2.0)
    (row,) = study.results().to_rows()
    assert row["config.x"] == 0.25
    assert row["value"] == 2.0


def test_several_metrics_are_told_by_name(make_study: Any) -> None:
    study = make_study(
        trials=6, maximize="score", minimize=["ms"], subject_to={"mib": "<= 5"}, strategy="evolution"
    )
    told = [(0.9, 9.0, 1.0), (0.5, 5.0, 1.0), (0.4, 6.0, 1.0), (0.99, 1.0, 9.0)]
    for score, ms, mib in told:
        study.tell(study.ask(), {"score": score, "ms": ms, "mib": mib})
    results = study.results()
    assert [row["values"] for row in results.front] == [{"score": 0.9, "ms": 9.0}, {"score": 0.5, "ms": 5.0}]
    assert results.value == 0.9 and "2 trials on the front" in repr(results)
    assert [row["feasible"] for row in results.trials] == [True, True, True, False, None]
    assert results.to_rows()[0]["value.ms"] == 9.0
    asked = study.ask()
    with pytest.raises(StrategyError, match="is one value; the study has several objectives"):
        study.tell(asked, 0.5)
    with pytest.raises(StrategyError, match="lacks 'ms', 'mib'; it has 'score'"):
        study.tell(asked, {"score": 0.5})
    assert study.report(asked, 1, {"score": 0.1, "ms": 2.0, "mib": 3.0})
    study.tell(asked, {"score": 0.5, "ms": 4.0})
    assert study.results().trials[4]["feasible"] is True


def test_like_needs_a_data_directory(make_study: Any) -> None:
    with pytest.raises(SpecError, match="keep no data directory"):
        make_study(strategy="portfolio", like="old").ask()
