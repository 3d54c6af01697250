"""Results of another study: what is mapped, what is left out, and that they are nobody's trials."""

from __future__ import annotations

import json
from typing import Any

import pytest

from shoal.errors import SpecError
from shoal.search import snapshot
from shoal.search.borrowing import LIMIT, borrowed_results, loan
from shoal.search.codec import decode, encode
from shoal.search.events import HistoryBorrowed, StudyCreated, TrialAssigned, TrialEnded, TrialProposed, TrialReported
from shoal.search.fold import StudyFold
from shoal.search.replay import _onlooker
from shoal.search.spec import Budget, Chosen, EntryPoint, Objective, OutcomeConstraint, StudySpec
from shoal.search.study_state import StudyState
from shoal.spaces import Categorical, Float, Int, Space, forbid

THERE = Space(lr=Float(1e-4, 1.0, log=True), width=Int(1, 100), kind=Categorical(["a", "b"]))
ACC = (Objective(metric="acc", direction="maximize"),)


def spec(space: Space, name: str = "new", **changes: Any) -> StudySpec:
    return StudySpec(
        name=name,
        space=space.to_json(),
        objectives=changes.pop("objectives", ACC),
        entry=EntryPoint(kind="objective", module="m", function="f"),
        strategy=Chosen(name="random_forest"),
        early_stopping=Chosen(name="none"),
        budget=Budget(trials=10),
        **changes,
    )


def donor(*rows: tuple[dict[str, Any], Any], space: Space = THERE, **metrics: float) -> StudyFold:
    """A study whose trials had these configurations and returned these values; None: failed."""
    own = spec(space, "old")
    state = StudyFold(own, _onlooker)
    events: list[Any] = [StudyCreated(at=0.0, spec=own.to_json())]
    for number, (config, value) in enumerate(rows):
        body = space.configuration(config).to_json()
        events += [
            TrialProposed(at=0.0, number=number, config=body, source="strategy", ask=0, seen_seq=0, reason="r"),
            TrialAssigned(
                at=0.0, number=number, generation=1, node="n", workers=1, gpus=(), gpu_share=0.0, reason="r"
            ),
        ]
        if metrics:
            events.append(
                TrialReported(at=0.0, number=number, generation=1, step=1, metrics=metrics, can_pause=False)
            )
        outcome = "failed" if value is None else "completed"
        events.append(
            TrialEnded(at=0.0, number=number, generation=1, outcome=outcome, reason="r", value=value)  # type: ignore[arg-type]
        )
    for seq, event in enumerate(events, start=1):
        state.apply(event, seq)
    return state


ROWS = (
    ({"lr": 0.01, "width": 10, "kind": "a"}, 0.7),
    ({"lr": 0.5, "width": 20, "kind": "b"}, 0.9),
    ({"lr": 0.02, "width": 99, "kind": "a"}, 0.8),
    ({"lr": 0.03, "width": 30, "kind": "a"}, None),
)


def test_the_same_space_lends_all_that_has_a_value() -> None:
    lent = loan(donor(*ROWS), spec(THERE))
    assert [result["values"] for result in lent.results] == [[0.7], [0.9], [0.8]]
    assert lent.best.width == 20
    assert lent.story == "3 results of study old"


def test_an_overlapping_space_takes_what_fits_and_says_what_does_not() -> None:
    here = Space(lr=Float(1e-4, 0.1, log=True), width=Int(1, 50), depth=Int(1, 9, default=4))
    lent = loan(donor(*ROWS), spec(here))
    assert [result["config"] for result in lent.results] == [{"lr": 0.01, "width": 10, "depth": 4}]
    assert "2 left out" in lent.story and "1: lr is outside of this space" in lent.story
    assert "1: width is outside of this space" in lent.story and "it had no depth: filled in" in lent.story


def test_rules_of_this_study_hold() -> None:
    here = Space(
        lr=Float(1e-4, 1.0, log=True),
        width=Int(1, 100),
        kind=Categorical(["a", "b"]),
        rules=[forbid(lambda s: s.width > 50)],
    )
    lent = loan(donor(*ROWS), spec(here))
    assert len(lent.results) == 2 and "1: breaks forbid" in lent.story


@pytest.mark.parametrize(
    ("rows", "new", "message"),
    [
        (ROWS, spec(THERE, objectives=(Objective(metric="loss", direction="minimize"),)), "never measured loss"),
        (ROWS, spec(Space(lr=Float(2.0, 3.0))), "nothing to borrow: lr is outside of this space"),
        ((), spec(THERE), "it has no result yet"),
        (ROWS[3:], spec(THERE), "it has no result yet"),
    ],
)
def test_nothing_to_lend_is_an_error(rows: Any, new: StudySpec, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        loan(donor(*rows), new)


def test_other_metrics_that_were_reported_will_do() -> None:
    """A donor that maximised one metric lends to a study that minimises another, and to its constraints."""
    new = spec(
        THERE,
        objectives=(Objective(metric="ms", direction="minimize"),),
        constraints=(OutcomeConstraint(metric="mib", relation="<=", bound=1.0),),
    )
    lent = loan(donor(*ROWS[:1], ms=3.0, mib=2.0), new)
    assert lent.results[0]["values"] == [3.0] and lent.results[0]["outcomes"] == [2.0]
    (told,) = borrowed_results([("old", lent.results[0])], THERE)
    assert (told.number, told.borrowed_from, told.values, told.outcomes) == (-1, "old", (3.0,), (2.0,))


def test_of_many_results_the_best_and_a_spread_are_lent() -> None:
    rows = [({"lr": 0.01, "width": 1 + n % 100, "kind": "a"}, n / 1000) for n in range(3 * LIMIT)]
    lent = loan(donor(*rows), spec(THERE))
    values = [result["values"][0] for result in lent.results]
    assert len(values) == len(set(values)) == LIMIT
    assert sorted(values)[-LIMIT // 2 :] == [n / 1000 for n in range(3 * LIMIT - LIMIT // 2, 3 * LIMIT)]
    assert min(values) < 0.01


def test_they_are_told_first_and_count_as_no_trials() -> None:
    lent = loan(donor(*ROWS), spec(THERE))
    event = HistoryBorrowed(
        at=1.0, study="old", results=lent.results, best=lent.best.to_json(), reason=lent.story
    )
    kind, body = encode(event)
    read = decode(kind, 1.0, body)
    assert isinstance(read, HistoryBorrowed)
    state = StudyState.create(spec(THERE))
    assert state.apply(read, 1)
    assert not state.apply(read, 2), "a study lends once"
    assert not state.trials and state.budget_left == 10 and state.lenders == {"old"}
    told = state.untold_results()
    assert [result.number for result in told] == [-1, -2, -3] and all(r.borrowed_from == "old" for r in told)
    state.mark_told(told)
    assert state.untold_results() == ()
    twin = StudyState.create(spec(THERE))
    snapshot.restore(twin, json.loads(json.dumps(snapshot.to_json(state))), 1)
    assert twin.untold_results() == told
