"""Speed models and fair shares."""

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.scheduler.entitlement import Wants, entitled
from shoal.scheduler.fair_shares import max_min_shares
from shoal.scheduler.serial_fraction import PRIOR_SERIAL_FRACTION, SerialFractions, amdahl
from shoal.scheduler.speed_model import SpeedModel


def model(**known: object) -> SpeedModel:
    settings_: dict[str, object] = {"k_max": 8, "epoch_s": 60.0, "speedups": (), "serial": SerialFractions()}
    return SpeedModel(**(settings_ | known))  # type: ignore[arg-type]


def test_the_prior_is_amdahl() -> None:
    expected = 1 / (PRIOR_SERIAL_FRACTION + (1 - PRIOR_SERIAL_FRACTION) / 4)
    assert model().speedup(4) == pytest.approx(expected)


def test_a_measurement_overrides_the_prior() -> None:
    trial = model()
    trial.observe(1, 100.0)
    trial.observe(4, 50.0)
    assert trial.speedup(4) == pytest.approx(2.0)
    assert trial.epoch_s(4) == 50.0
    assert trial.speedup(8) < 4.0, "beyond what was measured the prior keeps its shape at the measured level"


def test_no_doubling_more_than_doubles() -> None:
    trial = model(speedups=(1.0, 5.0, 20.0, 80.0))
    assert [trial.speedup(k) for k in (1, 2, 4, 8)] == [1.0, 2.0, 4.0, 8.0]


def test_gains_end_at_the_most_workers() -> None:
    trial = model(speedups=(1.0, 1.9, 3.0, 3.05))
    assert trial.gain(8) == 0.0
    assert trial.worth(1, 0.5) == 4
    assert trial.worth(1, 0.001) == 8


def test_the_study_learns_its_serial_fractions() -> None:
    serial = SerialFractions()
    before = serial.version
    for _ in range(20):
        serial.observe(2, 0.5)
    assert serial.at(2) > 0.4
    assert serial.at(8) > 0.4, "what is known of two workers is all that is known of eight"
    assert serial.version > before
    for _ in range(20):
        serial.observe(4, 0.1)
    assert serial.at(8) < 0.2


def test_peers_are_told_what_was_measured() -> None:
    serial = SerialFractions()
    fresh = model(serial=serial)
    before = fresh.speedup(4)
    measured = model(serial=serial)
    for k in (1, 2, 4):
        measured.observe(k, 60.0 / amdahl(k, 0.4))
    assert fresh.speedup(4) < before


def test_a_trial_that_scales_worse_than_its_peers_is_expected_to_go_on_so() -> None:
    serial = SerialFractions()
    for _ in range(50):
        for k in (2, 4, 8):
            serial.observe(k, 0.1)
    worse, better = model(serial=serial), model(serial=serial)
    for trial, fraction in ((worse, 0.3), (better, 0.02)):
        for k in (1, 2):
            trial.observe(k, 60.0 / amdahl(k, fraction))
    assert worse.speedup(8) < amdahl(8, 0.15) < amdahl(8, 0.09) < better.speedup(8)


@given(
    capacity=st.integers(0, 9),
    studies=st.lists(st.tuples(st.sampled_from([0.5, 1.0, 2.0]), st.integers(0, 6)), min_size=1, max_size=3),
)
@settings(deadline=None)
def test_shares_equal_brute_force(capacity: int, studies: list[tuple[float, int]]) -> None:
    """Invariant 7: of all ways to deal the devices, the one that serves the worst served best, then the next."""
    weights, demands = [w for w, _ in studies], [d for _, d in studies]
    shares = max_min_shares(capacity, weights, demands)
    total = min(capacity, sum(demands))
    assert sum(shares) == total

    def served(way: tuple[int, ...]) -> list[float]:
        return sorted((s + 1) / w for s, w, d in zip(way, weights, demands, strict=True) if s < d)

    ways = [w for w in product(*(range(d + 1) for d in demands)) if sum(w) == total]
    worst = max((served(w)[0] if served(w) else float("inf")) for w in ways)
    assert not served(tuple(shares)) or served(tuple(shares))[0] == pytest.approx(worst)


WANTS = st.builds(
    lambda priority, weight, demand, part: Wants(priority, weight, int(demand * part), demand),
    st.integers(0, 1),
    st.sampled_from([0.3, 1.0, 2.0, 7.0]),
    st.integers(0, 90),
    st.floats(0.0, 1.0),
)


@given(
    capacity=st.integers(0, 200),
    studies=st.lists(WANTS, min_size=1, max_size=6),
    who=st.integers(0, 5),
    protected=st.sampled_from([0.5, 0.8, 1.0]),
)
@settings(deadline=None)
def test_more_devices_or_weight_never_cost_a_study_its_share(
    capacity: int, studies: list[Wants], who: int, protected: float
) -> None:
    """Invariant 8, whatever the classes, and whoever uses devices well."""
    shares = entitled(capacity, studies, protected=protected)
    assert sum(shares) == min(capacity, sum(study.demand for study in studies))
    assert all(share <= study.demand for share, study in zip(shares, studies, strict=True))
    more = entitled(capacity + 1, studies, protected=protected)
    assert all(a <= b for a, b in zip(shares, more, strict=True))
    who %= len(studies)
    heavier = [replace(s, weight=1.5 * s.weight) if i == who else s for i, s in enumerate(studies)]
    assert entitled(capacity, heavier, protected=protected)[who] >= shares[who]


@given(capacity=st.integers(0, 60), studies=st.lists(WANTS, min_size=1, max_size=6))
@settings(deadline=None)
def test_the_first_device_of_everybody_comes_before_the_second_of_anybody(capacity: int, studies: list[Wants]) -> None:
    shares = entitled(capacity, studies, protected=0.8)
    wanting = [share for share, study in zip(shares, studies, strict=True) if study.demand]
    assert max(wanting, default=0) <= 1 or min(wanting) >= 1
