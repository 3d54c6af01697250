"""What the screen says about studies in every state, drawn on a recorded console."""

import io
import math
from collections.abc import Sequence

import pytest
from rich.console import Console

from shoal.dashboards.terminal.live import LiveFollower, PlainFollower, follower, screen
from shoal.dashboards.terminal.plain import line
from shoal.dashboards.terminal.standing import best_so_far, leader, settled
from shoal.dashboards.terminal.study_view import study_view
from shoal.dashboards.terminal.summary import summary
from shoal.search import events as e
from shoal.search.early_stopping.port import Promotion, Verdict
from shoal.search.fold import StudyFold
from shoal.search.spec import Budget, Chosen, EntryPoint, Objective, StudySpec


class NoRule:
    """A stopping rule that lets every trial go on."""

    def observe(self, number: int, step: int, value: float | None) -> None:
        return None

    def verdict(self, number: int, *, can_pause: bool) -> Verdict:
        return Verdict(action="continue", reason="no rule")

    def promotions(self, paused: Sequence[int]) -> list[Promotion]:
        return []

    def farewell(self, number: int) -> str:
        return "over"


def spec(name: str = "digits", direction: str = "maximize", trials: int | None = 4) -> StudySpec:
    return StudySpec(
        name=name,
        space=None,
        objectives=(Objective(metric="accuracy", direction=direction),),
        entry=EntryPoint(kind="optuna", module="m", function="f"),
        strategy=Chosen(name="random"),
        early_stopping=Chosen(name="none"),
        budget=Budget(trials=trials, study_time_limit_s=60.0 if trials is None else None),
    )


def fold(events: Sequence[e.Event], of: StudySpec | None = None) -> StudyFold:
    state = StudyFold(of or spec(), lambda chosen, objective: NoRule())
    for seq, event in enumerate(events, start=1):
        state.apply(event, seq)
    return state


def proposed(number: int, at: float = 1.0, **flat: object) -> list[e.Event]:
    first = e.TrialProposed(
        at=at, number=number, config=None, source="strategy", ask=0, seen_seq=0, reason="drawn at random"
    )
    told = [e.TrialSuggested(at=at, number=number, path=p, domain={}, value=v) for p, v in flat.items()]
    return [first, *told]


def assigned(number: int, at: float = 2.0, gpus: tuple[str, ...] = ()) -> e.TrialAssigned:
    return e.TrialAssigned(
        at=at, number=number, generation=1, node="here", workers=1, gpus=gpus, gpu_share=1.0, reason="first in line"
    )


def reported(number: int, step: int, value: object, at: float = 3.0) -> e.TrialReported:
    return e.TrialReported(
        at=at, number=number, generation=1, step=step, metrics={"accuracy": value}, can_pause=True
    )


def ended(number: int, outcome: str = "completed", at: float = 5.0, **more: object) -> e.TrialEnded:
    return e.TrialEnded(
        at=at, number=number, generation=1, outcome=outcome, reason=f"it {outcome}", run_s=3.0, **more
    )


def drawn(renderable: object, width: int = 140) -> str:
    console = Console(width=width, record=True, file=io.StringIO(), force_terminal=True)
    console.print(renderable)
    return console.export_text()


CREATED = e.StudyCreated(at=0.0, spec={})


def a_study_in_the_middle() -> StudyFold:
    return fold(
        [
            CREATED,
            *proposed(0, lr=0.0123456),
            *proposed(1, lr=0.5),
            *proposed(2, lr=0.001),
            assigned(0),
            reported(0, 1, 0.7),
            reported(0, 2, 0.91),
            ended(0),
            assigned(1, gpus=("3",)),
            reported(1, 1, 0.95),
        ]
    )


def test_a_study_in_the_middle() -> None:
    text = drawn(study_view(a_study_in_the_middle(), at=12.0))
    assert "digits · running · 1 of 4 trials · 1 running · 1 queued" in text
    assert "best  accuracy 0.91  #0  (leading 0.95, #1 running)" in text
    assert "lr=0.01235" in text
    assert "GPU 3" in text and "first in line" in text and "it completed" in text


def test_no_trial_yet() -> None:
    text = drawn(study_view(fold([CREATED]), at=1.0))
    assert "0 of 4 trials" in text and "no value yet" in text


def test_a_running_trial_without_a_value() -> None:
    """T73: a trial that runs and has reported nothing is drawn."""
    text = drawn(study_view(fold([CREATED, *proposed(0), assigned(0)]), at=4.0))
    assert "running" in text and "2.0 s" in text and "(no value yet)" in text


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_values_that_are_no_numbers(value: str) -> None:
    """T70: such a trial is shown as it is, and the others are still drawn."""
    state = fold(
        [CREATED, *proposed(0), *proposed(1), assigned(0), reported(0, 1, value), assigned(1), reported(1, 1, 0.5)]
    )
    text = drawn(study_view(state, at=4.0))
    assert value in text
    assert "leading  accuracy 0.5  #1" in text


def test_stopped_trials_are_never_the_best() -> None:
    """T36: maximise; a stopped trial's better value leads the curves, the best is the completed one."""
    state = fold(
        [
            CREATED,
            *proposed(0),
            *proposed(1),
            assigned(0),
            reported(0, 1, 0.4),
            ended(0),
            assigned(1),
            reported(1, 1, 0.6),
            ended(1, "stopped"),
        ]
    )
    text = drawn(study_view(state, at=9.0))
    assert "best  accuracy 0.4  #0" in text and "leading 0.6, #1 stopped" in text


def test_no_parameters_and_long_names() -> None:
    state = fold([CREATED, *proposed(0), assigned(0), reported(0, 1, 0.5), ended(0)], spec(name="n" * 100))
    text = drawn(study_view(state, at=9.0), width=80)
    assert "(no parameters)" in text
    assert "n" * 39 + "…" in text and "n" * 41 not in text


def test_a_failed_trial_says_what_went_wrong() -> None:
    state = fold(
        [CREATED, *proposed(0), assigned(0), ended(0, "failed", failure=e.FailureKind.BUG)],
    )
    assert "BUG: it failed" in drawn(study_view(state, at=9.0))


def test_markup_in_reasons_is_text() -> None:
    """A message such as "[/red]" is shown, not obeyed."""
    failed = e.TrialEnded(
        at=5.0, number=0, generation=1, outcome="failed", reason="KeyError: [/red]", failure=e.FailureKind.BUG
    )
    assert "[/red]" in drawn(study_view(fold([CREATED, *proposed(0), assigned(0), failed]), at=9.0))


def test_a_study_without_a_trial_budget() -> None:
    assert "· 0 trials" in drawn(study_view(fold([CREATED], spec(trials=None)), at=1.0))


def test_minimising_turns_the_leader_around() -> None:
    state = fold(
        [CREATED, *proposed(0), *proposed(1), assigned(0), reported(0, 1, 0.4), assigned(1), reported(1, 1, 0.6)],
        spec(direction="minimize"),
    )
    first = leader(state)
    assert first is not None and first.number == 0
    assert list(best_so_far(state.trials.values(), state.spec.objective)) == [0.4, 0.4]
    assert settled(state) == 0


def test_a_returned_value_counts_where_nothing_was_reported() -> None:
    events = [CREATED, *proposed(0), *proposed(1), assigned(0), ended(0, value=0.25), assigned(1), ended(1, value=0.5)]
    state = fold(events)
    assert list(best_so_far(state.trials.values(), state.spec.objective)) == [0.25, 0.5]
    assert "best  accuracy 0.5  #1  ▁█" in drawn(study_view(state, at=9.0))


def test_lines() -> None:
    state = a_study_in_the_middle()
    assert str(line(state, reported(1, 1, 0.95))).endswith("digits #1 epoch 1: accuracy=0.95")
    assert str(line(state, ended(0))).endswith("digits #0 completed accuracy=0.91 after 3.0 s: it completed")
    assert "started on here, GPU 3: first in line" in str(line(state, assigned(1, gpus=("3",))))
    assert line(state, e.TrialSuggested(at=1.0, number=0, path="lr", domain={}, value=0.1)) is None


def test_every_event_has_a_line_or_is_known_to_have_none() -> None:
    """A new kind of event must be decided about."""
    from shoal.dashboards.terminal.plain import LINES

    silent = {e.AskAnswered, e.Enqueued, e.TrialSuggested, e.CommandDone}
    kinds = {k for k in vars(e).values() if isinstance(k, type) and issubclass(k, e.Event) and k is not e.Event}
    assert set(LINES) | silent == kinds


def test_plain_is_used_where_there_is_no_terminal(tmp_path: object) -> None:
    quiet = Console(file=io.StringIO(), force_terminal=False)
    screen_like = Console(file=io.StringIO(), force_terminal=True)
    assert isinstance(follower(quiet, plain_lines=False), PlainFollower)
    assert isinstance(follower(screen_like, plain_lines=True), PlainFollower)
    assert isinstance(follower(screen_like, plain_lines=False), LiveFollower)


def test_live_screen_draws_the_end() -> None:
    console = Console(width=120, record=True, file=io.StringIO(), force_terminal=True)
    state = a_study_in_the_middle()
    with LiveFollower(console) as follow:
        follow(state, reported(1, 1, 0.95))
        state.apply(e.StudyEnded(at=20.0, state="completed", reason="all trials ended"), 99)
        follow(state, e.StudyEnded(at=20.0, state="completed", reason="all trials ended"))
    assert "digits · completed" in console.export_text()


def test_several_studies_on_one_screen() -> None:
    text = drawn(screen([a_study_in_the_middle(), fold([CREATED], spec(name="other"))], at=12.0))
    assert "digits · running" in text and "other · running" in text


def test_summary(tmp_path: object) -> None:
    from pathlib import Path

    state = a_study_in_the_middle()
    state.phases_s = {"user": 3.0, "start": 1.0}
    state.apply(e.StudyEnded(at=20.0, state="completed", reason="all trials ended"), 99)
    text = summary(state, Path(".shoal"))
    assert "best accuracy = 0.91 (trial 0, epoch 2)" in text
    assert "  lr  0.01235" in text
    assert "user" in text and "75%" in text
    assert "data: .shoal" in text


def test_summary_without_a_completed_trial() -> None:
    from pathlib import Path

    assert "no trial completed with a value of accuracy" in summary(fold([CREATED]), Path(".shoal"))


def test_huge_values_do_not_overflow_the_sparkline() -> None:
    from shoal.dashboards.terminal.sparkline import sparkline

    assert sparkline([-1.7e308, 1.7e308]) == "▁█"
    assert len(sparkline([float(i) for i in range(1000)], width=30)) == 30
    assert sparkline([math.nan, math.inf]) == ""


def test_paused_trials_are_listed_after_those_that_ended() -> None:
    """Under a rule that pauses at rungs they are all that there is to see for most of a study."""
    numbers = range(7)
    told = [event for n in numbers for event in (*proposed(n), assigned(n), reported(n, 1, 0.1 * n))]
    told += [ended(n, "completed" if n < 2 else "paused") for n in numbers]
    text = drawn(study_view(fold([CREATED, *told]), at=9.0))
    rows = [line.split()[0] for line in text.partition("ended last, and paused")[2].splitlines() if "it " in line]
    assert rows == ["1", "0", "6", "5", "4"]


def test_notes_and_tags_have_a_line() -> None:
    state = a_study_in_the_middle()
    note = e.NoteWritten(at=6.0, number=1, text="two\nlines", by="shoal note")
    assert str(line(state, note)).endswith("digits #1 note by shoal note: two lines")
    tags = e.TagsChanged(at=6.0, added=["good"], removed=["old"], by="the dashboard")
    assert str(line(state, tags)).endswith("digits tags +good -old by the dashboard")
