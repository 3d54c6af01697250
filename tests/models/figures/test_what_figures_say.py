"""What is read off a figure is what happened."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from shoal.dashboards.figures import Options, figure_json, gantt, pool_figure, study_figure
from shoal.dashboards.figures.theme import COLOUR, SHAPE, decimated
from shoal.dashboards.importances import EVALUATORS, Sample, importances, sample
from shoal.dashboards.intervals import Intervals
from shoal.dashboards.ledger import ledger
from shoal.dashboards.study_view import StudyView
from shoal.errors import NotFound, SpecError
from shoal.search import events as e
from shoal.search.early_stopping.unstopped import UnstoppedRule
from shoal.search.fold import StudyFold
from shoal.search.spec import Budget, Chosen, EntryPoint, Objective, OutcomeConstraint, StudySpec
from shoal.search.transitions import TrialStatus
from shoal.spaces import Categorical, Choice, Float, Space

SPACE = Space(lr=Float(0.0, 1.0))


class Story:
    """A study told event by event."""

    def __init__(self, **early_stopping: Any) -> None:
        self.spec = StudySpec(
            name="told",
            space=SPACE.to_json(),
            objectives=(Objective(metric="score", direction="maximize"),),
            entry=EntryPoint(kind="trial", module="m", function="f"),
            strategy=Chosen(name="random"),
            early_stopping=Chosen(name="asha", options=early_stopping),
            budget=Budget(trials=20),
        )
        self.state = StudyFold(self.spec, lambda chosen, objective: UnstoppedRule())
        self.intervals = Intervals()
        self.view = StudyView(self.state, self.intervals)
        self._seq = 0
        self.tell(e.StudyCreated(at=0.0, spec=self.spec.to_json()))

    def tell(self, *events: e.Event) -> None:
        for event in events:
            self._seq += 1
            self.state.apply(event, self._seq)
            self.intervals.observe(event)

    def assign(self, number: int, at: float, gpus: tuple[str, ...] = (), workers: int = 1) -> None:
        known = self.state.trials.get(number)
        generation = 1 if known is None else known.generation + 1
        if known is None:
            config = SPACE.configuration({"lr": number / 20}).to_json()
            self.tell(
                e.TrialProposed(
                    at=at, number=number, config=config, source="strategy", ask=0, seen_seq=0, reason="drawn"
                )
            )
        self.tell(
            e.TrialAssigned(
                at=at, number=number, generation=generation, node="n", workers=workers, gpus=gpus, gpu_share=1.0,
                reason="first in line",
            )
        )

    def report(self, number: int, at: float, *values: float) -> None:
        trial = self.state.trials[number]
        for value in values:
            self.tell(
                e.TrialReported(
                    at=at, number=number, generation=trial.generation, step=trial.last_step + 1,
                    metrics={"score": value}, can_pause=True,
                )
            )

    def end(self, number: int, at: float, outcome: Any = "completed", reason: str = "over") -> None:
        generation = self.state.trials[number].generation
        self.tell(
            e.TrialEnded(
                at=at, number=number, generation=generation, outcome=outcome, reason=reason, run_s=1.0, gpu_s=3600.0
            )
        )


def told(*values: float, stopped: tuple[int, ...] = ()) -> Story:
    story = Story(max_epochs=9, min_epochs=1)
    for number, value in enumerate(values):
        story.assign(number, at=float(number), gpus=(str(number % 2),))
        story.report(number, number + 0.5, value)
        story.end(number, number + 0.9, "stopped" if number in stopped else "completed", "rank 9 of 14")
    return story


def traces(view: StudyView, name: str, **options: Any) -> dict[str, dict[str, Any]]:
    return {t.get("name", ""): t for t in figure_json(study_figure(view, name, Options(**options)))["data"]}


def test_the_best_line_counts_completed_trials_alone() -> None:
    """T36: a trial that was stopped is shown apart and is never the best."""
    drawn = traces(told(0.2, 0.9, 0.1, 0.5, stopped=(1,)).view, "history")
    assert drawn["best completed"]["y"] == [0.2, 0.5, 0.5]
    assert drawn["stopped"]["y"] == [0.9] and drawn["completed"]["y"] == [0.2, 0.1, 0.5]


def test_a_history_by_gpu_hours_adds_them_up() -> None:
    assert traces(told(0.1, 0.2, 0.3).view, "history", by="gpu_hours")["completed"]["x"] == [1.0, 2.0, 3.0]


def test_every_status_has_a_colour_and_a_shape_of_its_own() -> None:
    assert set(map(str, TrialStatus)) <= set(COLOUR) and set(COLOUR) == set(SHAPE)
    assert len(set(SHAPE.values())) == len(SHAPE)


def test_a_stop_mark_says_why() -> None:
    mark = traces(told(0.2, 0.9, stopped=(1,)).view, "learning_curves")["stopped here"]
    assert mark["x"] == [1] and mark["marker"]["symbol"] == "x" and "rank 9 of 14" in mark["hovertext"][0]


def test_rungs_count_who_went_on() -> None:
    story = Story(max_epochs=9, min_epochs=1, reduction_factor=3)
    for number, epochs in enumerate((1, 2, 3, 9)):
        story.assign(number, at=0.0)
        story.report(number, 1.0, *[0.1] * epochs)
        story.end(number, 2.0, "completed" if epochs == 9 else "stopped")
    drawn = traces(story.view, "rungs")
    assert drawn["went on"]["x"] == ["epoch 1", "epoch 3", "epoch 9"]
    assert drawn["went on"]["y"] == [2, 1, 0]
    assert drawn["stopped"]["y"] == [2, 1, 0] and drawn["completed"]["y"] == [0, 0, 1]


def test_a_resized_and_lost_trial_has_a_bar_for_each_generation() -> None:
    story = Story()
    story.assign(0, at=0.0, gpus=("0",))
    story.report(0, 1.0, 0.1)
    story.end(0, 5.0, "paused", "makes room")
    story.tell(e.TrialDecided(at=5.0, number=0, decision="promote", reason="rung 1", rung=1))
    story.assign(0, at=6.0, gpus=("0", "1"), workers=2)
    story.report(0, 7.0, 0.2)
    story.tell(e.HeadOpened(at=9.0, fence=2, host="here", pid=7))
    story.assign(0, at=10.0, gpus=("1",))
    held = [(one.outcome, one.last_step) for one in story.intervals.of(0)]
    assert held == [("paused", 1), ("lost", 2), ("running", 2)]
    bars = {t["name"]: t for t in figure_json(gantt([story.view]))["data"]}
    assert [len(bars[name]["y"]) for name in ("paused", "lost", "running")] == [1, 2, 1]
    marks = figure_json(study_figure(story.view, "trial_curve", Options(number=0)))["layout"]["annotations"]
    assert [mark["text"] for mark in marks] == ["paused: 1 → 2 workers", "lost: 2 → 1 workers"]


def test_giving_way_is_no_failure() -> None:
    story = Story()
    story.assign(0, at=0.0)
    story.report(0, 1.0, 0.1)
    story.tell(
        e.TrialEnded(
            at=2.0, number=0, generation=1, outcome="failed", failure=e.FailureKind.PREEMPTED, reason="gives way"
        )
    )
    story.assign(0, at=3.0)
    assert [(one.outcome, one.last_step) for one in story.intervals.of(0)] == [("preempted", 1), ("running", 1)]
    body = figure_json(study_figure(story.view, "trial_curve", Options(number=0)))
    assert [mark["text"] for mark in body["layout"]["annotations"]] == ["preempted, then resumed"]


def test_a_resize_is_a_bar_of_its_own_and_a_mark_on_the_curve() -> None:
    story = Story()
    story.assign(0, at=0.0, gpus=("0",))
    story.report(0, 1.0, 0.1, 0.2)
    resized = {"number": 0, "generation": 1, "stall_s": 0.1, "reason": "a second GPU is free"}
    for at, ok, gpus in ((2.0, False, ("0", "1")), (3.0, True, ("0", "1"))):
        story.intervals.observe(e.TrialResized(at=at, resize=1, ok=ok, workers=len(gpus), gpus=gpus, **resized))
    first, second = story.intervals.of(0)
    assert (first.outcome, first.ended_at, first.gpus) == ("resized", 3.0, ("0",))
    assert (second.outcome, second.started_at, second.workers, second.last_step) == ("running", 3.0, 2, 2)
    body = figure_json(study_figure(story.view, "trial_curve", Options(number=0)))
    assert [mark["text"] for mark in body["layout"]["annotations"]] == ["resized: 1 → 2 workers"]
    assert COLOUR["resized"] not in {COLOUR[status] for status in TrialStatus}


def test_devices_of_one_trial_and_colours_of_studies() -> None:
    one, other = told(0.1, 0.2, 0.3), told(0.4)
    alone = figure_json(study_figure(one.view, "gantt", Options(number=1, utc_offset_s=3600.0)))
    assert [text for trace in alone["data"] for text in trace["text"]] == ["1"]
    assert alone["layout"]["xaxis"]["title"]["text"] == "UTC+01:00"
    assert alone["data"][0]["base"] == ["1970-01-01 01:00:01.000"]
    other.state.spec = replace(other.state.spec, name="another")
    body = figure_json(pool_figure([one.view, other.view], "gantt", Options(colour="study")))
    assert {trace["name"]: len(trace["y"]) for trace in body["data"]} == {"told": 3, "another": 1}
    with pytest.raises(SpecError, match="Use one of outcome, study"):
        Options(colour="taste")  # type: ignore[arg-type]


def test_the_ledger_deals_out_what_was_held_while_studies_were_open() -> None:
    one, other = told(0.1, 0.2, 0.3), told(0.4)
    other.state.spec = replace(other.state.spec, name="another")
    shares = ledger([one.view, other.view])
    assert {name: round(share.used_s, 6) for name, share in shares.items()} == {"told": 2.7, "another": 0.9}
    assert sum(share.owed_s for share in shares.values()) == pytest.approx(3.6)
    assert shares["another"].owed_s == pytest.approx(0.9)


def test_a_phone_gets_fewer_things_beside_each_other() -> None:
    story = told(*[number / 20 for number in range(12)])
    many = Space(**{f"p{n}": Float(0.0, 1.0) for n in range(9)})
    story.state.spec = StudySpec.from_json({**story.spec.to_json(), "space": many.to_json()})
    for trial in story.state.trials.values():
        trial.config = many.configuration({f"p{n}": trial.number / 20 for n in range(9)}).to_json()

    def layout(name: str, *, narrow: bool) -> dict[str, Any]:
        drawn: dict[str, Any] = figure_json(study_figure(story.view, name, Options(narrow=narrow)))["layout"]
        return drawn

    for narrow, columns, axes in ((False, 3, 9), (True, 2, 5)):
        charts = [axis for key, axis in layout("slices", narrow=narrow).items() if key.startswith("xaxis")]
        assert len({axis["domain"][0] for axis in charts}) == columns
        assert len(layout("parallel_coordinates", narrow=narrow)["xaxis"]["ticktext"]) == axes + 1


def test_without_gpus_trials_share_as_few_rows_as_ran_at_once() -> None:
    story = Story()
    for number, (begin, end) in enumerate([(0.0, 4.0), (1.0, 2.0), (2.5, 3.0), (5.0, 6.0)]):
        story.assign(number, at=begin)
        story.end(number, end)
    layout = figure_json(gantt([story.view]))["layout"]
    assert layout["yaxis"]["ticktext"] == ["n place 1", "n place 2"]


def test_importance_finds_what_matters_and_says_how_sure_it_is() -> None:
    """Of a conditional parameter too, from the trials in which it is active."""
    space = Space(
        lr=Float(0.0, 1.0), noise=Float(0.0, 1.0), flag=Categorical([True, False]),
        kind=Choice(plain=None, deep=Space(depth=Float(0.0, 1.0))),
    )
    rng = np.random.default_rng(0)
    flats = [space.sample(rng).flat() for _ in range(300)]
    rows = tuple((flat, 3 * flat["lr"] + flat.get("kind.depth", 0.0)) for flat in flats)
    domains = {decision.path: decision.domain for decision in space.all_decisions()}
    data = Sample(objective=Objective(metric="score", direction="maximize"), rows=rows, domains=domains)
    for evaluator in EVALUATORS:
        first, *others = importances(data, evaluator=evaluator)
        assert first.path == "lr" and first.share > 0.5, evaluator
        assert all(0.0 <= one.low <= one.share <= one.high <= 1.0 for one in (first, *others))
    of_depth = next(one for one in importances(data) if one.path == "kind.depth")
    assert of_depth.trials == sum("kind.depth" in flat for flat in flats) < 300
    assert importances(data) == importances(data)


def test_importance_takes_stopped_trials_while_few_completed_and_says_so() -> None:
    values = [number / 20 for number in range(20)]
    few, enough = told(*values, stopped=tuple(range(4, 20))), told(*values, stopped=(0, 1))

    def says(story: Story, **options: Any) -> tuple[int, str]:
        body = figure_json(study_figure(story.view, "importance", Options(**options)))
        notes = [note["text"] for note in body["layout"].get("annotations", ())]
        return len(body["data"]), " ".join([body["layout"]["title"]["subtitle"].get("text", ""), *notes])

    assert says(few)[0] == 1 and "4 completed and 16 stopped or paused trials" in says(few)[1]
    assert says(enough)[0] == 1 and "over 18 completed trials;" in says(enough)[1]
    assert "18 completed and 2 stopped or paused" in says(enough, with_stopped=True)[1]
    drawn, why = says(few, with_stopped=False)
    assert drawn == 0 and "at least 10 ended trials with a value; so far there are 4 completed trials" in why
    drawn, why = says(told(*[0.5] * 12))
    assert drawn == 0 and "No parameter tells the 12 completed trials apart" in why


def several(*values: tuple[float, float]) -> Story:
    """Score to raise and latency to lower, which has to stay under 5."""
    story = Story()
    story.spec = replace(
        story.spec,
        objectives=(Objective(metric="score", direction="maximize"), Objective(metric="ms", direction="minimize")),
        constraints=(OutcomeConstraint.parse("ms", "<= 5"),),
    )
    story.state = StudyFold(story.spec, lambda chosen, objective: UnstoppedRule())
    story.view = StudyView(story.state, story.intervals)
    for number, (score, ms) in enumerate(values):
        story.assign(number, at=float(number))
        metrics = {"score": score, "ms": ms}
        report = {"generation": 1, "step": 1, "can_pause": False}
        story.tell(e.TrialReported(at=number + 0.5, number=number, metrics=metrics, **report))
        story.end(number, number + 0.9)
    return story


def test_a_front_of_two_objectives_leaves_out_what_breaks_a_bound() -> None:
    story = several((0.5, 4.0), (0.7, 4.5), (0.6, 4.8), (0.9, 9.0))
    drawn = traces(story.view, "pareto")
    assert drawn["front (2)"]["x"] == [4.0, 4.5] and drawn["front (2)"]["y"] == [0.5, 0.7]
    assert drawn["outside of the constraints"]["y"] == [0.9] and drawn["completed"]["y"] == [0.5, 0.7, 0.6]
    assert sorted(story.state.front) == [0, 1]
    assert drawn["front (2)"] == traces(story.view, "pareto", against="ms")["front (2)"]
    best = traces(story.view, "history")["best completed"]
    assert best["y"] == [0.5, 0.7, 0.7]


def test_importance_is_of_the_objective_that_is_asked_for() -> None:
    rng = np.random.default_rng(1)
    story = several(*[(number / 20, float(rng.random())) for number in range(20)])
    assert [value for _, value in sample(story.view).rows] == [number / 20 for number in range(20)]
    assert sample(story.view, metric="ms").objective.direction == "minimize"
    assert max(value for _, value in sample(story.view, metric="ms").rows) < 1.0
    with pytest.raises(NotFound, match="It has score, ms"):
        sample(story.view, metric="latency")


def test_thinning_keeps_the_best_and_the_last_and_is_stable() -> None:
    items = list(range(5000))
    kept = decimated(items, 1000, keep=[items[777]])
    assert 777 in kept and kept[-1] == 4999 and len(kept) <= 1002
    assert set(decimated(items[:4999], 1000)) - {4998} <= set(kept)


def test_paths_of_a_thousand_parameters_are_bounded() -> None:
    many = Space(**{f"p{n}": Float(0.0, 1.0) for n in range(1000)})
    story = Story()
    story.state.spec = StudySpec.from_json({**story.spec.to_json(), "space": many.to_json()})
    assert len(story.view.paths) == 200
