"""The best so far of a study whose trials pause at rungs, and the units of its axis."""

from typing import Any

from shoal.dashboards.figures import Options, figure_json, pool_figure, study_figure
from shoal.dashboards.study_view import StudyView
from shoal.search import events as e
from shoal.tests.models.figures.test_what_figures_say import Story, told


def drawn(view: StudyView, **options: Any) -> dict[str, dict[str, Any]]:
    return {t["name"]: t for t in figure_json(study_figure(view, "history", Options(**options)))["data"]}


def title_of_x(view: StudyView, **options: Any) -> str:
    return str(figure_json(study_figure(view, "history", Options(**options)))["layout"]["xaxis"]["title"]["text"])


def paused_at_rungs() -> Story:
    """Trials 0 to 3 pause one after the other; then 1 is taken up again and completes."""
    story = Story(max_epochs=9, min_epochs=1)
    for number, value in enumerate((0.2, 0.6, 0.4, 0.3)):
        story.assign(number, at=10.0 * number)
        story.report(number, 10.0 * number + 5, value)
        story.end(number, 10.0 * number + 9, "paused", "rung 1")
    story.tell(e.TrialDecided(at=50.0, number=1, decision="promote", reason="among the best", rung=1))
    story.assign(1, at=50.0)
    story.report(1, 55.0, 0.7)
    return story


def test_paused_trials_are_there_while_the_study_runs() -> None:
    story = paused_at_rungs()
    assert drawn(story.view)["paused"]["y"] == [0.2, 0.4, 0.3]
    assert "best completed" not in drawn(story.view)
    story.end(1, 59.0)
    assert drawn(story.view)["best completed"]["y"] == [0.7, 0.7]


def test_trials_stand_where_they_last_trained_and_not_where_the_study_ended_them() -> None:
    story = paused_at_rungs()
    story.end(1, 59.0)
    for number in (3, 2, 0):  # all at once, in any order
        story.tell(e.TrialDecided(at=60.0, number=number, decision="stop", reason="never among the best", by="end"))
    assert [(t.number, story.view.rested_at(t)) for t in story.view.resting_trials] == [
        (0, 9.0), (2, 29.0), (3, 39.0), (1, 59.0),
    ]
    by_time = drawn(story.view, by="time")
    assert by_time["stopped"]["x"] == [9.0, 29.0, 39.0] and by_time["completed"]["x"] == [59.0]
    assert drawn(story.view)["stopped"]["x"] == [1.0, 2.0, 3.0] and drawn(story.view)["completed"]["x"] == [4.0]
    assert drawn(story.view, by="gpu_hours")["completed"]["x"] == [5.0]  # an hour for each of five generations


def test_without_its_past_a_study_is_drawn_in_the_order_of_ends() -> None:
    """As in a notebook, which knows the state alone."""
    alone = StudyView(told(0.2, 0.5, 0.4).state)
    assert drawn(alone)["completed"]["y"] == [0.2, 0.5, 0.4]


def test_the_unit_of_time_fits_what_is_shown() -> None:
    story = told(0.1, 0.2)
    assert title_of_x(story.view, by="time") == "seconds since the start"
    story.assign(2, at=3000.0)
    story.report(2, 3100.0, 0.3)
    story.end(2, 3600.0)
    assert title_of_x(story.view, by="time") == "minutes since the start"
    assert drawn(story.view, by="time")["completed"]["x"][-1] == 60.0
    assert title_of_x(story.view, by="gpu_hours") == "GPU-hours used"
    both = figure_json(pool_figure([story.view, told(0.3).view], "compare", Options(by="time")))
    assert both["layout"]["xaxis"]["title"]["text"] == "minutes since the start"
    assert both["data"][0]["x"][-1] == 60.0 and both["data"][1]["x"][-1] == 0.015


def test_a_curve_says_once_what_happened_twice_at_one_epoch() -> None:
    story = Story()
    for at in (0.0, 10.0, 20.0):
        story.assign(0, at=at)
        if at == 0.0:
            story.report(0, 5.0, 0.5)
        if at < 20.0:
            story.end(0, at + 9, "paused", "makes room")
            story.tell(e.TrialDecided(at=at + 9.5, number=0, decision="promote", reason="rung 1", rung=1))
    marks = figure_json(study_figure(story.view, "trial_curve", Options(number=0)))["layout"]["annotations"]
    assert [mark["text"] for mark in marks] == ["paused, then resumed (2 times)"]
