"""Successive halving keeps its candidates up to date instead of searching for them: the two agree."""

from hypothesis import given
from hypothesis import strategies as st

from shoal.search.early_stopping.asha import AshaRule
from shoal.search.early_stopping.ranking import rank
from shoal.search.spec import Objective

OBJECTIVE = Objective(metric="acc", direction="maximize")
VALUES = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0, float("nan"), float("inf")])
REPORTS = st.lists(st.tuples(st.integers(0, 12), st.integers(1, 9), VALUES), max_size=80)


def searched_for(reports: list[tuple[int, int, float]], eta: int) -> list[int]:
    """The definition: finite, and in the top 1/eta of those that reached its highest rung; highest rung first."""
    milestones = [eta**k for k in range(4) if eta**k < 9]
    steps: dict[int, int] = {}
    rungs: dict[int, dict[int, float]] = {epochs: {} for epochs in milestones}
    highest: dict[int, int] = {}
    for number, step, value in reports:
        if step <= steps.get(number, 0):
            continue
        steps[number] = step
        reached = [epochs for epochs in milestones if epochs <= step]
        if reached and reached[-1] > highest.get(number, 0):
            highest[number] = reached[-1]
            rungs[reached[-1]][number] = value
    able = []
    for epochs in reversed(milestones):
        order = sorted(rungs[epochs], key=lambda n: (rank(OBJECTIVE, rungs[epochs][n]), n))
        top = order[: len(order) // eta]
        able += [n for n in top if highest[n] == epochs and rank(OBJECTIVE, rungs[epochs][n])[0] == 0]
    return able


@given(REPORTS, st.sampled_from([2, 3]))
def test_candidates_are_what_a_search_finds(reports: list[tuple[int, int, float]], eta: int) -> None:
    rule = AshaRule(OBJECTIVE, max_epochs=9, min_epochs=1, reduction_factor=eta, form="promotion")
    for number, step, value in reports:
        rule.observe(number, step, value)
    assert [promotion.number for promotion in rule.promotions(set(range(13)))] == searched_for(reports, eta)
