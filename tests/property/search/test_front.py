"""The front that the fold keeps while results arrive is the one that a look at all of them finds."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from shoal.search.events import StudyCreated, TrialAssigned, TrialEnded, TrialProposed
from shoal.search.fold import StudyFold
from shoal.search.replay import _onlooker
from shoal.search.spec import Budget, Chosen, EntryPoint, Objective, OutcomeConstraint, StudySpec

SPEC = StudySpec(
    name="s",
    space=None,
    objectives=(
        Objective(metric="a", direction="maximize"),
        Objective(metric="b", direction="minimize"),
        Objective(metric="c", direction="minimize"),
    ),
    constraints=(OutcomeConstraint(metric="b", relation="<=", bound=3.0),),
    entry=EntryPoint(kind="objective", module="m", function="f"),
    strategy=Chosen(name="random"),
    early_stopping=Chosen(name="none"),
    budget=Budget(trials=100),
)
LEVEL = st.integers(0, 4).map(float)


def folded(rows: list[tuple[float, float, float]]) -> StudyFold:
    state = StudyFold(SPEC, _onlooker)
    events: list[Any] = [StudyCreated(at=0.0, spec=SPEC.to_json())]
    for number, row in enumerate(rows):
        events += [
            TrialProposed(at=0.0, number=number, config=None, source="strategy", ask=0, seen_seq=0, reason="r"),
            TrialAssigned(
                at=0.0, number=number, generation=1, node="n", workers=1, gpus=(), gpu_share=0.0, reason="r"
            ),
            TrialEnded(at=0.0, number=number, generation=1, outcome="completed", reason="r", value=list(row)),
        ]
    for seq, event in enumerate(events, start=1):
        state.apply(event, seq)
    return state


@given(st.lists(st.tuples(LEVEL, LEVEL, LEVEL), max_size=14))
def test_the_kept_front_is_the_front(rows: list[tuple[float, float, float]]) -> None:
    state = folded(rows)
    losses = {number: (-a, b, c) for number, (a, b, c) in enumerate(rows) if b <= 3.0}
    expected = []
    for number, own in losses.items():
        others = [(other, n) for n, other in losses.items() if n != number]
        superior = any(all(x <= y for x, y in zip(other, own, strict=True)) and other != own for other, _ in others)
        earlier_equal = any(other == own and n < number for other, n in others)
        if not superior and not earlier_equal:
            expected.append(number)
    assert sorted(state.front) == expected
    if expected:
        assert state.best_number == min(expected, key=lambda n: (losses[n][0], n))
    else:
        assert state.best_number is None
