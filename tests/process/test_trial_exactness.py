"""A trial that is paused after every epoch ends as one that never was, to the last bit."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shoal.tests.models.trial import trainings
from shoal.tests.models.trial.trial_rig import differences, run, run_in_pieces


@pytest.mark.parametrize("shards", [1, 4])
@pytest.mark.parametrize("train", trainings.ALL, ids=lambda train: train.__name__)
def test_pauses_change_nothing(train: Callable[..., Any], shards: int, tmp_path: Path) -> None:
    """State, optimizer and metrics after pauses at every epoch boundary are those of the undisturbed run."""
    whole = run(train, tmp_path / "whole", shards=shards)
    returned, reports = run_in_pieces(train, tmp_path / "pieces", shards=shards)
    assert whole.outcome == "completed"
    assert differences(whole.returned, returned) == []
    assert [step for step, _ in reports] == [1, 2, 3]
    assert repr(whole.link.reports()) == repr(reports)


@pytest.mark.parametrize("train", [trainings.mlp_adamw, trainings.cnn_sgd], ids=lambda train: train.__name__)
@pytest.mark.parametrize("shards", [2, 8])
def test_other_shard_counts(
    train: Callable[..., Any], shards: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trainings, "BATCH", 32 * shards)
    whole = run(train, tmp_path / "whole", shards=shards)
    returned, _ = run_in_pieces(train, tmp_path / "pieces", shards=shards)
    assert differences(whole.returned, returned) == []


def test_the_comparison_sees_a_difference(tmp_path: Path) -> None:
    """Another V is another result: were it equal, the tests above would compare nothing."""
    one = run(trainings.mlp_adamw, tmp_path / "one", shards=1)
    four = run(trainings.mlp_adamw, tmp_path / "four", shards=4)
    assert differences(one.returned, four.returned) != []
