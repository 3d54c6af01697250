"""Unit tests load no large library, so that all of them take seconds: what needs one is in `tests/models`."""

import sys
from collections.abc import Generator

import pytest

Reporting = Generator[None, pytest.CollectReport, pytest.CollectReport]
LARGE = ("fastapi", "optuna", "plotly", "ray", "scipy.stats", "sklearn", "torch", "uvicorn")


def loaded() -> set[str]:
    return sys.modules.keys() & set(LARGE)


def complaint(names: set[str]) -> str:
    return f"loads {', '.join(sorted(names))}: a unit test loads no large library. Move it to tests/models."


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Reporting:
    """A module whose import loads one is an error."""
    before = loaded()
    report = yield
    if loaded() != before:
        report.outcome, report.longrepr = "failed", f"{collector.nodeid} {complaint(loaded() - before)}"
    return report


@pytest.fixture(autouse=True)
def _loads_no_large_library() -> Generator[None, None, None]:
    before = loaded()
    yield
    assert loaded() == before, complaint(loaded() - before)
