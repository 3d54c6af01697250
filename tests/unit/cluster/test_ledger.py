"""What an agent remembers for a head that is away."""

from typing import Any

from shoal.trial_runner.cluster.ledger import MAX_WARNINGS, Ledger
from shoal.trial_runner.messages import (
    AnswerReport,
    AnswerSuggestion,
    Ended,
    LaunchTrial,
    Prepared,
    Reported,
    Resized,
    Slot,
    SuggestionAsked,
    Warned,
)


def launch(number: int = 0, generation: int = 1, **changes: Any) -> LaunchTrial:
    facts: dict[str, Any] = {
        "config": {}, "seed": 1, "metric": "score", "direction": "maximize", "slots": (Slot(),), "max_workers": 1,
        "max_shards": 1, **changes,
    }
    return LaunchTrial(study="s", number=number, generation=generation, **facts)


def report(step: int, number: int = 0) -> Reported:
    return Reported(study="s", number=number, generation=1, step=step, metrics={"score": 0.5}, can_pause=True)


def answer(step: int, number: int = 0) -> AnswerReport:
    return AnswerReport(study="s", number=number, generation=1, step=step, verdict="continue", reason="x")


def ended(number: int = 0, generation: int = 1) -> Ended:
    return Ended(study="s", number=number, generation=generation, outcome="completed", reason="x")


def events(ledger: Ledger, since: int = 0) -> list[Any]:
    return [event for _, event in ledger.after(since)]


def test_events_stay_until_they_are_in_the_journal() -> None:
    ledger = Ledger()
    ledger.told(launch(), "code")
    for event in (report(1), ended()):
        ledger.record(event)
    assert events(ledger) == [report(1), ended()]
    assert events(ledger, since=1) == [ended()]
    ledger.forget(1)
    assert events(ledger) == [ended()]
    assert [trial.number for trial in ledger.trials] == [0], "its end has not been taken in"
    ledger.forget(2)
    assert events(ledger) == [] and ledger.trials == ()


def test_an_end_of_a_past_generation_forgets_nothing() -> None:
    ledger = Ledger()
    ledger.told(launch(generation=1), "code")
    ledger.record(ended(generation=1))
    ledger.told(launch(generation=2), "code")
    ledger.forget(1)
    assert [trial.generation for trial in ledger.trials] == [2]


def test_the_next_head_is_asked_again_what_nobody_has_answered() -> None:
    ledger = Ledger()
    ledger.told(launch(), "code")
    asked = SuggestionAsked(study="s", number=1, generation=1, path="x", domain={})
    for event in (Prepared(study="s", ok=True, note=""), report(1), asked):
        ledger.record(event)
    ledger.forget(3)
    ledger.hand_over()
    assert events(ledger) == [report(1), asked]
    ledger.told(answer(1))
    ledger.told(AnswerSuggestion(study="s", number=1, generation=1, path="x", value=1))
    ledger.forget(ledger.last)
    ledger.hand_over()
    assert events(ledger) == []


def test_what_waits_to_be_told_is_told_once() -> None:
    ledger = Ledger()
    ledger.record(report(1))
    ledger.hand_over()
    assert events(ledger) == [report(1)]


def test_only_reports_that_nobody_judges_have_an_obvious_answer() -> None:
    ledger = Ledger()
    ledger.told(launch(0, unjudged=True))
    ledger.told(launch(1))
    ledger.record(report(3, number=0))
    ledger.record(report(3, number=1))
    (obvious,) = ledger.obvious_answers()
    assert (obvious.number, obvious.step, obvious.verdict) == (0, 3, "continue")
    ledger.told(obvious)
    assert ledger.obvious_answers() == []
    assert events(ledger) == [report(3, number=0), report(3, number=1)], "the head hears of both"


def test_a_resize_moves_what_the_trial_holds() -> None:
    ledger = Ledger()
    ledger.told(launch())
    slots = (Slot(gpus=("a",)), Slot(gpus=("b",)))
    ledger.record(
        Resized(study="s", number=0, generation=1, resize=1, ok=True, slots=slots, stall_s=0.1, reason="1 to 2 workers")
    )
    assert ledger.trials[0].slots == slots


def test_warnings_without_end_are_not_kept_without_end() -> None:
    ledger = Ledger()
    for _ in range(MAX_WARNINGS + 5):
        ledger.record(Warned(study="s", number=0, generation=1, text="again"))
    assert len(events(ledger)) == MAX_WARNINGS
    ledger.forget(MAX_WARNINGS)
    ledger.record(Warned(study="s", number=0, generation=1, text="again"))
    assert len(events(ledger)) == 1


def test_a_forgotten_study_leaves_nothing() -> None:
    ledger = Ledger()
    ledger.told(launch(unjudged=True))
    ledger.record(report(1))
    ledger.drop("s")
    ledger.hand_over()
    assert events(ledger) == [] and ledger.trials == () and ledger.obvious_answers() == []
