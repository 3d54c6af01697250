"""What a training function may return, with one objective and with several."""

from __future__ import annotations

from typing import Any

import pytest

from shoal.errors import TrialError
from shoal.trial_runner.entry import _ending_of_metrics, _ending_of_value


class Heard:
    """A link that remembers."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []

    def send(self, kind: str, **fields: Any) -> None:
        self.sent.append({"kind": kind, **fields})


def test_a_number_or_a_tuple_of_them() -> None:
    assert _ending_of_value(1, ["loss"]).value == 1.0
    assert _ending_of_value((1, 2.5), ["loss", "ms"]).value == [1.0, 2.5]
    assert _ending_of_value([1, 2.5], ["loss", "ms"]).value == [1.0, 2.5]


@pytest.mark.parametrize(
    ("returned", "objectives", "cause"),
    [
        ((1.0, 2.0), ["loss"], "not a number"),
        (None, ["loss"], "not a number"),
        (1.0, ["loss", "ms"], "not 2 numbers (loss, ms)"),
        ((1.0, "fast"), ["loss", "ms"], "not 2 numbers"),
        ((1.0, 2.0, 3.0), ["loss", "ms"], "not 2 numbers"),
    ],
)
def test_anything_else_is_the_trials_failure(returned: object, objectives: list[str], cause: str) -> None:
    with pytest.raises(TrialError) as caught:
        _ending_of_value(returned, objectives)
    assert cause in caught.value.cause and "Return" in caught.value.remedy


def test_a_dict_is_a_report_with_all_objectives() -> None:
    link: Any = Heard()
    ending = _ending_of_metrics({"loss": 1, "ms": 2, "mib": 3}, ["loss", "ms"], link)
    assert ending.value == [1.0, 2.0]
    (report,) = link.sent
    assert report["metrics"] == {"loss": 1.0, "ms": 2.0, "mib": 3.0} and report["step"] == 1
    with pytest.raises(TrialError, match="a dict without 'ms'; it has 'loss'"):
        _ending_of_metrics({"loss": 1.0}, ["loss", "ms"], link)
