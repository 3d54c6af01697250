"""ASHA's answers are a function of the set of reports: hypothesis interleaves the trials."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from shoal.search.early_stopping import ASHA, make_rule
from shoal.search.spec import Objective

UP = Objective(metric="score", direction="maximize")

values = st.one_of(st.none(), st.floats(-5, 5), st.sampled_from([math.nan, math.inf, -math.inf, 0.5]))
curves = st.lists(st.lists(st.tuples(st.integers(1, 4), values), min_size=1, max_size=6), min_size=1, max_size=8)


@given(curves, st.randoms(use_true_random=False), st.sampled_from([2, 3, 4]))
def test_order_between_trials_does_not_matter(
    steps: list[list[tuple[int, float | None]]], rng: object, eta: int
) -> None:
    rules = [make_rule(ASHA(max_epochs=16, reduction_factor=eta).chosen(), UP) for _ in range(2)]
    reports = []
    for number, curve in enumerate(steps):
        step = 0
        for stride, value in curve:
            step += stride
            reports.append((number, step, value))
    for number, step, value in reports:
        rules[0].observe(number, step, value)
    queues = {number: [r for r in reports if r[0] == number] for number in range(len(steps))}
    while queues:
        number = rng.choice(sorted(queues))  # type: ignore[attr-defined]
        rules[1].observe(*queues[number].pop(0))
        if not queues[number]:
            del queues[number]
    numbers = range(len(steps))
    for can_pause in (True, False):
        first, second = ([rule.verdict(n, can_pause=can_pause) for n in numbers] for rule in rules)
        assert first == second
    assert rules[0].promotions(numbers) == rules[1].promotions(numbers)
    assert rules[0].promotions(numbers, closing=True) == rules[1].promotions(numbers, closing=True)


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=30), st.sampled_from([2, 3, 4]))
def test_at_most_one_in_eta_leaves_a_rung(losses: list[float], eta: int) -> None:
    """All at once: the promotable ones are exactly the best floor(n / eta)."""
    rule = make_rule(ASHA(max_epochs=16, reduction_factor=eta).chosen(), UP)
    for number, value in enumerate(losses):
        rule.observe(number, 1, value)
    promoted = {promotion.number for promotion in rule.promotions(range(len(losses)))}
    best = sorted(range(len(losses)), key=lambda number: (-losses[number], number))
    assert promoted == set(best[: len(losses) // eta])
