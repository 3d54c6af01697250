"""What is read off a figure is what happened."""

from typing import Any

import numpy as np

from shoal.dashboards.figures import Options, figure_json, gantt, study_figure
from shoal.dashboards.figures.theme import COLOUR, SHAPE, decimated
from shoal.dashboards.importances import EVALUATORS, Sample, importances
from shoal.dashboards.intervals import Intervals
from shoal.dashboards.study_view import StudyView
from shoal.search import events as e
from shoal.search.early_stopping.unstopped import UnstoppedRule
from shoal.search.fold import StudyFold
from shoal.search.spec import Budget, Chosen, EntryPoint, Objective, StudySpec
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
    assert held == [("paused", 1), ("lost", 2), ("running", 0)]
    bars = {t["name"]: t for t in figure_json(gantt([story.view]))["data"]}
    assert [len(bars[name]["y"]) for name in ("paused", "lost", "running")] == [1, 2, 1]
    marks = figure_json(study_figure(story.view, "trial_curve", Options(number=0)))["layout"]["annotations"]
    assert [mark["text"] for mark in marks] == ["1 → 2 workers", "lost, then resumed"]


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
