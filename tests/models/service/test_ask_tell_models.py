"""`Study.ask` and `Study.tell` with what loads a library: a model, and figures in a notebook."""

from typing import Any

import pytest

from shoal.errors import SpecError


def test_a_model_knows_every_told_result(make_study: Any) -> None:
    study = make_study(trials=30, strategy="tpe")
    for _ in range(30):
        asked = study.ask()
        study.tell(asked, 1.0 - abs(asked.config.x - 0.3))
    late = [row["config"].x for row in study.results().trials[15:]]
    assert sum(abs(x - 0.3) < 0.2 for x in late) > len(late) / 2


def test_a_notebook_shows_what_was_found(make_study: Any) -> None:
    """Before anything was found, the line of `repr` stands in for it."""
    study = make_study(trials=3)
    assert study._repr_html_() is None
    with pytest.raises(SpecError, match="not run in this program"):
        _ = study.figures
    for _ in range(3):
        asked = study.ask()
        study.tell(asked, value=asked.config.x)
    assert "3 completed" in study._repr_html_()
    drawn = study.figures.history(by="time")
    assert sum(len(trace.x) for trace in drawn.data if trace.mode == "markers") == 3
    with pytest.raises(AttributeError, match="history"):
        _ = study.figures.histroy
