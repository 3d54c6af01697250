"""Figures of a study with several objectives show the one that is asked for."""

from typing import Any

import pytest

from shoal.dashboards.figures import OF_OBJECTIVE, Options, dumped, figure_json, study_figure
from shoal.dashboards.notebook import ResultFigures
from shoal.dashboards.report import report
from shoal.dashboards.study_view import StudyView
from shoal.errors import NotFound
from shoal.search import events as e
from shoal.search.early_stopping.unstopped import UnstoppedRule
from shoal.search.fold import StudyFold
from shoal.search.spec import Budget, Chosen, EntryPoint, Objective, StudySpec
from shoal.spaces import Float, Space

SPACE = Space(lr=Float(0.0, 1.0), wd=Float(0.0, 1.0))
HARM = "<img src=x onerror=harm()>"


def study(*told: tuple[str, Any, Any], value: Any = "last") -> StudyView:
    """Trials of two reports, told as (outcome, score, ms); a trial of outcome "running" goes on."""
    spec = StudySpec(
        name="two",
        space=SPACE.to_json(),
        objectives=(Objective(metric="score", direction="maximize"), Objective(metric="ms", direction="minimize")),
        entry=EntryPoint(kind="trial", module="m", function="f"),
        strategy=Chosen(name="random"),
        early_stopping=Chosen(name="none"),
        value_from=value,
        budget=Budget(trials=50),
    )
    state = StudyFold(spec, lambda chosen, objective: UnstoppedRule())
    events: list[e.Event] = [e.StudyCreated(at=0.0, spec=spec.to_json())]
    for number, (outcome, score, ms) in enumerate(told):
        config = {"lr": number / 50, "wd": 1 - number / 50}
        proposal = {"number": number, "config": SPACE.configuration(config).to_json(), "reason": "drawn"}
        events += [
            e.TrialProposed(at=1.0, source="strategy", ask=0, seen_seq=0, **proposal),
            e.TrialAssigned(
                at=2.0, number=number, generation=1, node="n", workers=1, gpus=(), gpu_share=0.0, reason="r"
            ),
        ]
        for step, metrics in ((1, {"score": 0.9, "ms": 1.0}), (2, {"score": score, "ms": ms})):
            events.append(
                e.TrialReported(at=3.0, number=number, generation=1, step=step, metrics=metrics, can_pause=True)
            )
        if outcome != "running":
            events.append(
                e.TrialEnded(at=4.0, number=number, generation=1, outcome=outcome, reason="over", run_s=1.0)  # type: ignore[arg-type]
            )
    for seq, event in enumerate(events, start=1):
        state.apply(event, seq)
    return StudyView(state)


def traces(view: StudyView, name: str, **options: Any) -> dict[str, dict[str, Any]]:
    return {t.get("name", ""): t for t in figure_json(study_figure(view, name, Options(**options)))["data"]}


MIXED = study(("completed", 0.5, 4.0), ("completed", 0.7, 9.0), ("stopped", 0.6, 2.0), ("completed", 0.1, 3.0))


def test_the_best_so_far_of_each() -> None:
    assert traces(MIXED, "history")["best completed"]["y"] == [0.5, 0.7, 0.7]
    other = traces(MIXED, "history", metric="ms")
    assert other["best completed"]["y"] == [4.0, 3.0, 3.0]
    assert other["completed"]["y"] == [4.0, 9.0, 3.0] and other["stopped"]["y"] == [2.0]
    hover = other["completed"]["hovertext"][0]
    assert "score 0.5, ms 4" in hover


def test_curves_are_of_the_metric_that_is_asked_for() -> None:
    drawn = traces(MIXED, "learning_curves", metric="ms")
    assert drawn["trial 1"]["y"] == [1.0, 9.0]
    assert drawn["stopped here"]["y"] == [2.0]
    assert traces(MIXED, "learning_curves")["trial 1"]["y"] == [0.9, 0.7]
    worse = study(*[("completed", 0.5, 10.0 + n) for n in range(5)], ("completed", 0.1, 0.5))
    (first,) = [name for name in traces(worse, "learning_curves", metric="ms", curves=1) if name.startswith("trial")]
    assert first == "trial 5"


def test_slices_contour_and_parallel_coordinates_are_of_it_too() -> None:
    assert traces(MIXED, "slices", metric="ms")["completed"]["y"] == [4.0, 9.0, 3.0]
    points = figure_json(study_figure(MIXED, "contour", Options(metric="ms")))["data"]
    assert points[0]["zmax"] > 8 and points[0]["colorbar"]["title"]["text"] == "ms"
    raised = figure_json(study_figure(MIXED, "contour"))["data"]
    assert [colour for _, colour in points[0]["colorscale"]] == [c for _, c in raised[0]["colorscale"]][::-1]
    layout = figure_json(study_figure(MIXED, "parallel_coordinates", Options(metric="ms")))["layout"]
    assert "ms" in layout["xaxis"]["ticktext"][-1] and "9" in {note["text"] for note in layout["annotations"]}
    best = traces(MIXED, "parallel_coordinates", metric="ms")
    assert best[next(reversed(best))]["y"][2] == 0.0  # the last one drawn is the lowest


def test_a_trial_that_goes_on_is_judged_by_the_same_report_in_both() -> None:
    """By its best epoch, where a study says so: the first, of 0.9 and 1.0."""
    view = study(("running", 0.5, 7.0), value="best")
    (trial,) = view.trials
    assert [view.value_of(trial, one) for one in view.state.spec.objectives] == [0.9, 1.0]


def test_a_value_that_is_missing_in_one_objective_is_left_out_of_that_one_alone() -> None:
    view = study(("completed", 0.5, 4.0), ("completed", 0.7, 2.0), ("running", "nan", 3.0))
    assert traces(view, "history", metric="ms")["completed"]["y"] == [4.0, 2.0]
    assert len(view.judged()) == len(view.judged(view.objective_named("ms"))) == 2


@pytest.mark.parametrize("name", OF_OBJECTIVE)
def test_every_one_of_them_takes_an_objective_and_refuses_an_unknown_one(name: str) -> None:
    many = study(*[("completed", n / 20, float((n * 7) % 20)) for n in range(20)])
    first, second = (dumped(figure_json(study_figure(many, name, Options(metric=m)))) for m in ("score", "ms"))
    assert first == dumped(figure_json(study_figure(many, name))) != second
    with pytest.raises(NotFound, match="It has score, ms"):
        study_figure(many, name, Options(metric="latency"))


def test_a_notebook_asks_by_name() -> None:
    figure = ResultFigures(MIXED.state).history(metric="ms")
    assert figure.layout.yaxis.title.text == "ms ↓"


def test_a_report_has_each_objective_and_what_people_wrote() -> None:
    view = study(("completed", 0.5, 4.0), ("completed", 0.7, 2.0))
    seq = view.state.last_seq
    view.state.apply(e.NoteWritten(at=9.0, text=f"{HARM}\nline", by="me"), seq + 1)  # type: ignore[attr-defined]
    view.state.apply(e.TagsChanged(at=9.0, added=["<b>"], removed=[], by="me", number=1), seq + 2)  # type: ignore[attr-defined]
    page, _, _ = report(view).partition('<script type="application/json"')
    assert 'id="plot-history"' in page and 'id="plot-history-1"' in page and "<h2>minimize ms</h2>" in page
    assert 'id="plot-rungs-1"' not in page
    assert HARM not in page and "&lt;img src=x onerror=harm()&gt;" in page and "&lt;b&gt;" in page
    assert "score 0.7, ms 2" in page
