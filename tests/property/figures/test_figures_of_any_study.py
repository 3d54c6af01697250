"""Whatever a study went through, each figure draws, is strict JSON, and takes no name for markup."""

import json
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shoal.dashboards.figures import STUDY_FIGURES, Options, dumped, figure_json, study_figure
from shoal.dashboards.intervals import Intervals
from shoal.dashboards.report import script_safe
from shoal.dashboards.study_view import StudyView
from shoal.search import events as e
from shoal.search.early_stopping.unstopped import UnstoppedRule
from shoal.search.fold import StudyFold
from shoal.search.spec import Budget, Chosen, EntryPoint, Objective, StudySpec

NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(["nan", "inf", "-inf", None, 10**400, 0, True])
)
VALUES = st.one_of(
    *(st.booleans(), st.none(), st.integers(), st.floats(allow_nan=False)),
    st.sampled_from(["<b>x</b>", "a\"'&", "", "$x$"]),
)
NAMES = st.sampled_from(["lr", "<script>alert(1)</script>", "a&b", "%{x}", "layers[0].width", "edge_0_1", "edge_0_2"])
TRIALS = st.lists(
    st.tuples(
        st.sampled_from(["queued", "running", "completed", "stopped", "failed", "paused", "lost"]),
        st.lists(NUMBERS, max_size=5),
        st.dictionaries(NAMES, VALUES, max_size=5),
    ),
    max_size=8,
)


def told(trials: list[tuple[str, list[object], dict[str, object]]]) -> Iterator[e.Event]:
    """The events of define-by-run trials, one after the other."""
    for number, (fate, values, flat) in enumerate(trials):
        at = 10.0 * number
        yield e.TrialProposed(
            at=at, number=number, config=None, source="strategy", ask=0, seen_seq=0, reason="<i>drawn</i>"
        )
        for path, value in flat.items():
            yield e.TrialSuggested(at=at, number=number, path=path, domain={"type": "unknown"}, value=value)
        if fate == "queued":
            continue
        yield e.TrialAssigned(
            at=at + 1, number=number, generation=1, node="<n>", workers=1, gpus=(str(number % 2),), gpu_share=1.0,
            reason="r",
        )
        for step, value in enumerate(values, start=1):
            metrics = {} if value is None else {"score": value}
            yield e.TrialReported(
                at=at + 1 + step, number=number, generation=1, step=step, metrics=metrics, can_pause=True
            )
        if fate == "lost":
            yield e.HeadOpened(at=at + 8, fence=2, host="here", pid=2)
        elif fate != "running":
            kind = e.FailureKind.BUG if fate == "failed" else None
            yield e.TrialEnded(
                at=at + 9, number=number, generation=1, outcome=fate, reason="<u>over</u>", failure=kind, run_s=8.0
            )


def view_of(trials: list[tuple[str, list[object], dict[str, object]]]) -> StudyView:
    spec = StudySpec(
        name="any",
        space=None,
        objectives=(Objective(metric="score", direction="minimize"),),
        entry=EntryPoint(kind="optuna", module="m", function="f"),
        strategy=Chosen(name="random"),
        early_stopping=Chosen(name="none"),
        budget=Budget(trials=100),
    )
    state, intervals = StudyFold(spec, lambda chosen, objective: UnstoppedRule()), Intervals()
    first = [e.StudyCreated(at=0.0, spec=spec.to_json()), e.HeadOpened(at=0.0, fence=1, host="here", pid=1)]
    for seq, event in enumerate([*first, *told(trials)], start=1):
        state.apply(event, seq)
        intervals.observe(event)
    return StudyView(state, intervals)


@pytest.mark.parametrize("name", [name for name in STUDY_FIGURES if name != "importance"])
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(trials=TRIALS)
def test_any_figure_of_any_study(name: str, trials: list[tuple[str, list[object], dict[str, object]]]) -> None:
    """T70, T72, T73: NaN and infinities, choices of every type, running trials without a value."""
    view = view_of(trials)
    if name == "trial_curve" and not trials:
        return
    body = dumped(figure_json(study_figure(view, name, Options(number=0 if trials else None)))).decode()
    json.loads(body, parse_constant=lambda text: pytest.fail(f"{text} is no strict JSON"))
    for mark in ("<script", "<i>drawn", "<u>", "<n>", "<b>x"):
        assert mark not in body
    assert "</" not in script_safe(json.loads(body))
