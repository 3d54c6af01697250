"""What the terminal says of several objectives and of outcome constraints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shoal.dashboards.terminal.plain import line
from shoal.dashboards.terminal.standing import leader
from shoal.dashboards.terminal.study_view import best_line
from shoal.dashboards.terminal.summary import FRONT_ROWS, summary
from shoal.search.events import StudyCreated, TrialAssigned, TrialEnded, TrialProposed, TrialReported
from shoal.search.fold import StudyFold
from shoal.search.replay import _onlooker
from shoal.search.spec import Budget, Chosen, EntryPoint, Objective, OutcomeConstraint, StudySpec
from shoal.service.cli.study_json import STUDY_FIELDS, TRIAL_FIELDS, study_json, trial_json
from shoal.spaces import Int, Space

SPACE = Space(x=Int(0, 1000))
BOTH = (Objective(metric="acc", direction="maximize"), Objective(metric="ms", direction="minimize"))
BOUND = (OutcomeConstraint(metric="ms", relation="<=", bound=5.0),)


def folded(rows: list[tuple[float, float]], **goals: Any) -> tuple[StudyFold, list[str]]:
    """A study whose trials reported (acc, ms), and the lines that `--plain` printed."""
    spec = StudySpec(
        name="s",
        space=SPACE.to_json(),
        objectives=goals.get("objectives", BOTH),
        constraints=goals.get("constraints", ()),
        entry=EntryPoint(kind="trial", module="m", function="f"),
        strategy=Chosen(name="random"),
        early_stopping=Chosen(name="none"),
        budget=Budget(trials=100),
    )
    state = StudyFold(spec, _onlooker)
    events: list[Any] = [StudyCreated(at=0.0, spec=spec.to_json())]
    for number, (acc, ms) in enumerate(rows):
        of = {"at": 0.0, "number": number}
        events += [
            TrialProposed(**of, config={"x": number}, source="strategy", ask=0, seen_seq=0, reason="r"),
            TrialAssigned(**of, generation=1, node="n", workers=1, gpus=(), gpu_share=0.0, reason="r"),
            TrialReported(**of, generation=1, step=1, metrics={"acc": acc, "ms": ms}, can_pause=False),
            TrialEnded(**of, generation=1, outcome="completed", reason="r"),
        ]
    lines = []
    for seq, event in enumerate(events, start=1):
        state.apply(event, seq)
        lines.append(line(state, event) or "")
    return state, lines


def test_the_front_is_summed_up() -> None:
    state, lines = folded([(0.5, 5.0), (0.9, 9.0), (0.4, 6.0)])
    text = summary(state, Path("data"))
    assert "2 trials on the front (maximize acc, minimize ms):" in text
    assert text.index("#1  acc = 0.9  ms = 9  x=1") < text.index("#0  acc = 0.5  ms = 5  x=0")
    assert "#2 " not in text
    assert "maximize acc, minimize ms, strategy random" in lines[0]
    assert "#1 completed acc=0.9 ms=9 after" in "".join(lines)
    shown = best_line(state).plain
    assert "front  2 trials" in shown and "acc 0.9  #1" in shown and "ms 5  #0" in shown


def test_a_long_front_is_cut() -> None:
    state, _ = folded([(n / 100, float(n)) for n in range(FRONT_ROWS + 5)])
    assert f"and 5 more: shoal show {state.name}" in summary(state, Path("data"))


def test_what_comes_nearest_is_named_while_nothing_keeps_the_bounds() -> None:
    state, lines = folded([(0.5, 50.0), (0.4, 6.0)], objectives=BOTH[:1], constraints=BOUND)
    assert "no completed trial keeps ms <= 5; the nearest is trial 1: ms = 6" in summary(state, Path("data"))
    assert "subject to ms <= 5" in lines[0] and "acc=0.4 (not ms <= 5) after" in "".join(lines)
    assert leader(state) is None, "what has ended outside of the bounds does not lead"
    assert study_json(state)["closest"] == {"number": 1, "outcomes": {"ms": 6.0}}


@pytest.mark.parametrize("constraints", [(), BOUND])
def test_json_has_the_documented_keys(constraints: tuple[OutcomeConstraint, ...]) -> None:
    state, _ = folded([(0.5, 50.0), (0.4, 3.0)], constraints=constraints)
    body = study_json(state)
    assert set(body) | {"head_is_running"} == set(STUDY_FIELDS)
    assert [one["number"] for one in body["front"]] == ([1] if constraints else [0, 1])
    rows = [trial_json(state, trial) for trial in state.trials.values()]
    assert all(set(row) == set(TRIAL_FIELDS) for row in rows)
    assert [row["feasible"] for row in rows] == ([False, True] if constraints else [None, None])
    assert rows[0]["values"] == {"acc": 0.5, "ms": 50.0}
