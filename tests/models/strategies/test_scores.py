"""What models are fitted to and by what they choose: directions of objectives, standardised losses, improvement."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.search.spec import Objective
from shoal.search.strategies.improvement import log_improvement
from shoal.search.strategies.port import Result
from shoal.search.strategies.told import CLIP, Told, standardised
from shoal.spaces import Float, Space

SPACE = Space(x=Float(0.0, 1.0))
BOTH = (Objective(metric="score", direction="maximize"), Objective(metric="latency_ms", direction="minimize"))


def result(number: int, values: tuple[float, ...] | None, state: str = "completed") -> Result:
    config = SPACE.configuration({"x": number / 100})
    return Result(number=number, config=config, state=state, values=values)  # type: ignore[arg-type]


def test_several_objectives_are_seen_from_changing_directions() -> None:
    told = Told(BOTH)
    told.tell([result(0, (1.0, 9.0)), result(1, (0.0, 1.0)), result(2, (0.5, 9.0)), result(3, None, "failed")])
    best = {int(np.argmin(told.losses(np.random.default_rng(seed)))) for seed in range(30)}
    assert best == {0, 1}
    assert all(
        told.losses(np.random.default_rng(seed))[2] > told.losses(np.random.default_rng(seed))[0] for seed in (1, 2)
    )


@pytest.mark.parametrize("rank_share", [0.0, 0.5, 1.0])
def test_standardised_losses_keep_their_order_and_bound_outliers(rank_share: float) -> None:
    losses = np.array([3.0, 1.0, 2.0, 1e12, 2.5, 1.5])
    scores = standardised(losses, rank_share=rank_share)
    assert abs(scores.mean()) < 1e-9 and abs(scores.std() - 1.0) < 1e-9
    assert np.all(np.diff(scores[np.argsort(losses)]) >= 0)
    assert scores.max() <= 2 * CLIP
    assert standardised(np.full(4, 7.0), rank_share=rank_share).tolist() == [0.0] * 4


def test_log_improvement_is_the_logarithm_of_expected_improvement() -> None:
    from scipy.stats import norm

    mean, deviation = np.linspace(-3, 6, 50), np.linspace(0.1, 2.0, 50)
    z = (0.0 - mean) / deviation
    expected = deviation * (norm.pdf(z) + z * norm.cdf(z))
    seen = expected > 1e-12
    assert np.allclose(log_improvement(mean, deviation, 0.0)[seen], np.log(expected[seen]), atol=1e-4)
